"""`column:` parameters: the values that a column holds, queried once a data set.

At most `VALUES_MAX` distinct values, all of them or every n-th in their order, where the seed says
which is the first: the same data and seed give the same values. Where the rows of each are needed,
those that have every n-th row in that order: frequent ones are never missing.
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.engine import frequencies
from dbdyno.execute.engine.frequencies import Held, Value
from dbdyno.experiment.values.generators import VALUES_MAX
from dbdyno.experiment.workloads import mix
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import Server


@dataclass(frozen=True)
class Wanted:
    """`column`: as `table.column`; `is_counted`: whether with the rows that have each value."""

    column: str
    is_counted: bool


def of_group(group: GroupPlan) -> Mapping[str, Wanted]:
    """Parameters of a group whose values are queried, by name."""
    if group.workload != mix.WORKLOAD.name:
        return {}
    return {
        name: Wanted(each["column"], frequencies.is_counted(each))
        for name, each in mix.columns(group.options).items()
    }


def look_up(server: Server, database: str, wanted: Wanted, seed: int) -> Held:
    """The distinct values of a column, NULL omitted, in their order. DynoError if there are none,
    or if they are of a type that no parameter has."""
    table, name = wanted.column.split(".")
    filled = f"FROM {table} WHERE {name} IS NOT NULL"
    distinct = f"SELECT DISTINCT {name} AS v {filled}"
    count = int(server.run(database, [f"SELECT COUNT(*) FROM ({distinct}) AS d"])[0][0])
    if not count:
        raise DynoError(
            f"column {wanted.column} holds no values to choose from",
            cause="its table is empty, or holds nothing but NULL",
            fix="fill it under `setup:`, or give the parameter another generator",
        )
    if wanted.is_counted:
        rows = int(server.run(database, [f"SELECT COUNT(*) FROM {table}"])[0][0])
        step = 1 if count <= VALUES_MAX else math.ceil(rows / (VALUES_MAX - 1))
        counted = f"SELECT {name} AS v, COUNT(*) AS n {filled} GROUP BY {name}"
        found = server.run(database, [_stepped(counted, step, seed)])
        values = plain([row[:1] for row in found], wanted.column)
        return Held(values, [int(row[1]) for row in found], rows, step)
    step = math.ceil(count / VALUES_MAX)
    if step == 1:
        sql = f"{distinct} ORDER BY v"
    else:
        numbered = f"SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS n FROM ({distinct}) AS d"
        sql = f"SELECT v FROM ({numbered}) AS r WHERE n % {step} = {seed % step} ORDER BY v"
    return Held(plain(server.run(database, [sql]), wanted.column))


def _stepped(counted: str, step: int, seed: int) -> str:
    """Of values with their rows, those with a row whose number is a multiple of the step."""
    if step == 1:
        return f"SELECT v, n FROM ({counted}) AS d ORDER BY v"
    summed = f"SUM(n) OVER (ORDER BY v ROWS UNBOUNDED PRECEDING) + {seed % step} AS upto"
    return (
        f"SELECT v, n FROM (SELECT v, n, {summed} FROM ({counted}) AS d) AS r"
        f" WHERE upto % {step} < n ORDER BY v"
    )


def plain(rows: Sequence[Sequence[Any]], column: str) -> list[Value]:
    """Values as JSON has them; days, times, decimals and UUIDs as text."""
    values: list[Value] = []
    for (value,) in rows:
        if isinstance(value, datetime.datetime):
            value = value.isoformat(" ")
        elif isinstance(value, datetime.date | datetime.time):
            value = value.isoformat()
        elif isinstance(value, decimal.Decimal | uuid.UUID | datetime.timedelta):
            value = str(value)
        if not isinstance(value, str | int | float | bool):
            raise DynoError(
                f"column {column} holds values that cannot be parameters",
                cause="they are bytes, arrays or the like",
                fix="choose a column of numbers, text, days or times",
            )
        values.append(value)
    return values
