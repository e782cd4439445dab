"""Keys that statements select, and which of them only the server's tables have.

A log's workload copies no literals. A number from the log's range finds a row where rows are dense;
a made-up text finds none, nor does a number where the log asked for a few of many: such keys are
drawn from the table's own (`column:`). Where the column is unknown, an answer that is not as the
log's is an error (`expect:`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.workload.carried import Chosen
from dbdyno.digest.workload.profile import Statement, Summary
from dbdyno.digest.workload.schema import values
from dbdyno.digest.workload.schema.naming import looked_up, tables
from dbdyno.digest.workload.values import generators
from dbdyno.digest.workload.values.places import Place
from dbdyno.experiment.targets import sqltext

SEEN_MIN = 50  # values from which on a range and the number of different ones are kept together
CONTRADICTED = 0.5  # of the different values that draws of the range would have given
DAY_S = 86_400


def is_looked_for(place: Place, summary: Summary) -> bool:
    """Whether rows are selected by a value that cannot be made up."""
    if not place.is_key or summary.kind in ("null", "unknown"):
        return False
    if summary.kind in ("text", "moment", "decimal"):
        return True
    return contradicts(summary)


def contradicts(summary: Summary) -> bool:
    """Whether a range of numbers or days holds many more than were asked for."""
    count = summary.count * (1 - summary.nulls)
    if count < SEEN_MIN or summary.kind not in ("whole", "date"):
        return False
    width = (summary.greatest or 0.0) - (summary.least or 0.0)
    n = round(width / (DAY_S if summary.kind == "date" else 1)) + 1
    if n <= 2 * summary.distinct:
        return False
    theta = generators.exponent(summary.hot[0], n) if summary.hot else 0.0
    return summary.distinct < CONTRADICTED * _different(count, n, theta)


def _different(draws: float, n: int, theta: float) -> float:
    """How many different values so many draws give, of n whose k-th comes in proportion to
    k^-theta: the sum of 1 - exp(-draws p), over ranks that double."""
    total = generators.harmonic(n, theta)
    found, first = 0.0, 1
    while first <= n:
        last = min(n, 2 * first - 1)
        middle = math.sqrt(first * last)
        found += (last - first + 1) * -math.expm1(-draws * middle**-theta / total)
        first = last + 1
    return found


def column(chosen: Chosen, statement: Statement, place: Place) -> str | None:
    """The column that holds a place's keys, as `column:` takes it; None where it is unknown."""
    one = chosen.classes.get(statement.id)
    if one is None or place.column is None:
        return None
    if (found := chosen.found(statement, place)) is not None:
        catalog = chosen.catalogs[statement.database]
        return looked_up(*catalog.root(found.table.name, found.column.name))
    named = tables(statement, one.tables)
    qualifier = place.qualifier.lower() if place.qualifier is not None else None
    if qualifier is None and len(one.tables) == 1:
        qualifier = next(iter(named), None)
    table = named.get(qualifier) if qualifier is not None else None
    return looked_up(table, place.column) if table is not None else None


def drawn(chosen: Chosen, statement: Statement, place: Place, summary: Summary) -> dict[str, Any]:
    """The generator of a place whose values only the table has; empty for all others."""
    source = column(chosen, statement, place) if is_looked_for(place, summary) else None
    if source is None:
        return {}
    made: dict[str, Any] = {"column": source}
    if summary.hot and summary.distinct > 1:
        made["theta"] = generators.exponent(summary.hot[0], summary.distinct)
    nulls = round(summary.nulls, 4)
    return made | ({"nulls": nulls} if nulls else {})


def expected(chosen: Chosen, number: int) -> dict[str, Any]:
    """`expect:` of a statement that selects by made-up values: what all its calls in the log
    did."""
    if number not in {*_made_up(chosen, (number,))}:
        return {}
    statement = chosen.statements[number]
    one = chosen.classes.get(statement.id)
    measures = one.measures if one is not None else {}
    for name, key in (("rows_affected", "affected"), ("rows_sent", "rows")):
        is_write = sqltext.keyword(statement.template) in ("update", "delete")
        if is_write != (key == "affected"):
            continue
        seen = measures.get(name)
        if (seen is None and is_write) or (seen is not None and seen.min == seen.max == 1):
            return {"expect": {key: 1}}
    return {}


@dataclass(frozen=True)
class Found:
    """How many calls select keys: those of the tables (`columns`), and made-up ones."""

    drawn: int
    made_up: int
    columns: tuple[str, ...]


def together(parts: Sequence[Found]) -> Found:
    """Those of several choices."""
    columns = (column for part in parts for column in part.columns)
    drawn_, made_up = sum(part.drawn for part in parts), sum(part.made_up for part in parts)
    return Found(drawn_, made_up, tuple(dict.fromkeys(columns)))


def found(chosen: Chosen) -> Found:
    """How the statements that are carried over find their rows."""
    calls: dict[int, int] = {}
    for units in chosen.units.values():
        for unit in units:
            for number, times in unit.calls():
                calls[number] = calls.get(number, 0) + times
    made_up = {*_made_up(chosen, calls)}
    columns: dict[int, list[str]] = {}
    for number in calls:
        sources = _looked_for(chosen, number)
        columns[number] = [source for source in sources if source is not None]
    return Found(
        drawn=sum(calls[number] for number in calls if columns[number] and number not in made_up),
        made_up=sum(calls[number] for number in made_up),
        columns=tuple(dict.fromkeys(source for each in columns.values() for source in each)),
    )


def _made_up(chosen: Chosen, numbers: Mapping[int, int] | tuple[int, ...]) -> Iterator[int]:
    """Those of these statements that select by values whose column is unknown."""
    for number in numbers:
        if any(source is None for source in _looked_for(chosen, number)):
            yield number


def _looked_for(chosen: Chosen, number: int) -> Iterator[str | None]:
    """The columns of which a statement's keys are drawn; None for keys that are made up."""
    statement = chosen.statements[number]
    catalog = chosen.catalogs.get(statement.database)
    for place in chosen.places[number].places:
        if not place.is_key or place.number > len(statement.parameters):
            continue
        summary = statement.parameters[place.number - 1]
        if summary.given is not None:
            yield from [str(summary.given["column"])] if "column" in summary.given else []
            continue
        found = chosen.found(statement, place)
        made = None
        if catalog is not None and found is not None:
            made = values.generator(catalog, found, place, summary)
        if made is not None:
            yield from [made["column"]] if "column" in made else []
        elif is_looked_for(place, summary):
            yield column(chosen, statement, place)
