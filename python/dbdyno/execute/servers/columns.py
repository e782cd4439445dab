"""`column:` parameters: the values that a column holds, queried once a data set.

At most `VALUES_MAX` distinct values, all of them or every n-th in their order, where the seed says
which is the first: the same data and seed give the same values.
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.engine.request import Value
from dbdyno.experiment.values.generators import VALUES_MAX
from dbdyno.experiment.workloads import mix
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import Server


def of_group(group: GroupPlan) -> Mapping[str, str]:
    """Parameters of a group whose values are queried: name -> `table.column`."""
    return mix.columns(group.options) if group.workload == mix.WORKLOAD.name else {}


def look_up(server: Server, database: str, column: str, seed: int) -> list[Value]:
    """The distinct values of `table.column`, NULL omitted, in their order. DynoError if there are
    none, or if they are of a type that no parameter has."""
    table, name = column.split(".")
    distinct = f"SELECT DISTINCT {name} AS v FROM {table} WHERE {name} IS NOT NULL"
    count = int(server.run(database, [f"SELECT COUNT(*) FROM ({distinct}) AS d"])[0][0])
    if not count:
        raise DynoError(
            f"column {column} holds no values to choose from",
            cause="its table is empty, or holds nothing but NULL",
            fix="fill it under `setup:`, or give the parameter another generator",
        )
    step = math.ceil(count / VALUES_MAX)
    if step == 1:
        sql = f"{distinct} ORDER BY v"
    else:
        numbered = f"SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS n FROM ({distinct}) AS d"
        sql = f"SELECT v FROM ({numbered}) AS r WHERE n % {step} = {seed % step} ORDER BY v"
    return plain(server.run(database, [sql]), column)


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
