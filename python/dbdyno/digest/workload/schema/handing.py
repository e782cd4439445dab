"""Keys that the server made, handed on to the statements behind: the log has their values, and
those of the run are others.

MySQL and MariaDB: LAST_INSERT_ID(), kept in a variable where another row's key comes between;
PostgreSQL: currval() of the column's sequence. Both are of the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno import kinds
from dbdyno.digest.workload.branching.slots import Branched
from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.profile import Statement, Summary, Unit
from dbdyno.digest.workload.schema.catalog import Catalog, Table
from dbdyno.digest.workload.schema.naming import tables
from dbdyno.digest.workload.values.places import Expression
from dbdyno.experiment.targets import sqltext

Spot = tuple[int, int]  # a statement's position, and a place of it


@dataclass(frozen=True)
class Handed:
    """`spots`: the text there instead of a value; `kept`: SQL that follows a statement, so that the
    key that it made is still known later."""

    spots: Mapping[Spot, Expression] = field(default_factory=dict)
    kept: Mapping[int, str] = field(default_factory=dict)


NOTHING = Handed()


@dataclass
class _Made:
    """A row whose key the server makes: the step, the statement, and where the key is used."""

    at: int
    number: int
    table: Table
    used: list[tuple[int, Spot]] = field(default_factory=list)


def of_unit(chosen: Chosen, unit: Unit, tied: Mapping[Spot, Spot]) -> Handed:
    """What a unit's statements hand on. `tied`: places -> the first one with the same value."""
    catalog = _catalog(chosen, unit)
    if catalog is None:
        return NOTHING
    made: dict[str, _Made] = {}
    autos: list[int] = []  # steps that make some key
    spots: dict[Spot, _Made] = {}
    for at, step in enumerate(unit.steps):
        number = step.statement
        for place in _used(chosen, number, tied, catalog, made, spots):
            spots[place[0]] = place[1]
            place[1].used.append((at, place[0]))
        table = _inserted(chosen, number, catalog)
        if table is None:
            continue
        autos += [at] * (2 if step.repeat > 1 or isinstance(unit, Branched) else 1)
        if step.repeat == 1 and not _is_many(chosen.statements[number]):
            made.setdefault(table.name, _Made(at, number, table))
    return _handed(catalog, [one for one in made.values() if one.used], autos)


def _handed(catalog: Catalog, made: Sequence[_Made], autos: Sequence[int]) -> Handed:
    spots: dict[Spot, Expression] = {}
    kept: dict[int, str] = {}
    for one in made:
        last = max(at for at, _ in one.used)
        sql = "LAST_INSERT_ID()"
        auto = one.table.auto
        if kinds.of(catalog.kind).language == kinds.POSTGRES:
            assert auto is not None and auto.sequence is not None
            sql = f"currval('{auto.sequence}')"
        elif any(one.at < at <= last for at in autos):
            variable = "@new_" + re.sub(r"\W", "_", one.table.name, flags=re.ASCII)
            kept[one.number] = f"SET {variable} = LAST_INSERT_ID()"
            sql = variable
        spots |= {spot: Expression(sql) for _, spot in one.used}
    return Handed(spots, kept)


def _catalog(chosen: Chosen, unit: Unit) -> Catalog | None:
    return chosen.catalogs.get(chosen.statements[unit.steps[0].statement].database)


def _used(
    chosen: Chosen,
    number: int,
    tied: Mapping[Spot, Spot],
    catalog: Catalog,
    made: Mapping[str, _Made],
    spots: Mapping[Spot, _Made],
) -> Iterator[tuple[Spot, _Made]]:
    """Places of a statement that hold a key that was made before."""
    statement = chosen.statements[number]
    for place in chosen.places[number].places:
        spot = (number, place.number)
        root = tied.get(spot)
        if spot in spots or (root is not None and root in spots):
            yield spot, spots.get(spot) or spots[root]  # type: ignore[index]
            continue
        found = chosen.found(statement, place)
        if found is None or place.number > len(statement.parameters):
            continue
        table, column = catalog.root(found.table.name, found.column.name)
        one, of = made.get(table), catalog.column(table, column)
        if one is None or of is None or not of.is_auto or not (place.is_key or place.is_set):
            continue
        if _is_new(statement.parameters[place.number - 1]):
            yield spot, one


def _is_new(summary: Summary) -> bool:
    """Whether the values are those of new rows: they count upwards."""
    return summary.kind == "whole" and summary.is_sequence


def _inserted(chosen: Chosen, number: int, catalog: Catalog) -> Table | None:
    """The table of which a statement inserts rows whose keys the server makes."""
    statement, one = chosen.statements[number], chosen.classes.get(chosen.statements[number].id)
    if one is None or sqltext.keyword(statement.template) != "insert":
        return None
    name = next(iter(tables(statement, one.tables).values()), "")
    table = catalog.table(name)
    if table is None or table.auto is None:
        return None
    for place in chosen.places[number].places:
        found = chosen.found(statement, place) if place.is_set else None
        is_given = statement.parameters[place.number - 1].kind != "null"
        if found is not None and found.column.is_auto and is_given:
            return None
    return table


def _is_many(statement: Statement) -> bool:
    """Whether it may insert several rows."""
    return any(max(one.lengths.values, default=1) > 1 for one in statement.lists)
