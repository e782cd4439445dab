"""Names of tables and columns in a statement: which table an alias means, which names `column:` can
look up, and which column of a schema a place belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.digest.workload.profile import Statement
from dbdyno.digest.workload.schema.catalog import Catalog, Column, Table
from dbdyno.digest.workload.values.places import Place
from dbdyno.experiment.values.generators import COLUMN

# Names that servers take in quotes only; lookups write them without.
RESERVED = frozenset(
    """all alter and as asc between by case change check column condition create cross database
    default delete desc describe distinct drop else end exists explain false for force foreign from
    function grant group groups having if ignore in index inner insert int interval into is join key
    keys kill left like limit lines load lock match not null of on option or order outer partition
    primary procedure range rank read references rename repeat replace return right row rows schema
    select set show system table then to trigger true union unique update usage use user using value
    values when where window with write""".split()  # noqa: SIM905
)
_NAME = r"(?:[`\"][A-Za-z_]\w*[`\"]|[A-Za-z_]\w*)"
_TABLE = re.compile(
    rf"(?:\b(?:from|update|into|join)\b|,)\s*(?:{_NAME}\s*\.\s*)?(?P<table>{_NAME})"
    rf"(?:\s+(?:as\s+)?(?!(?:{'|'.join(RESERVED)})\b)(?P<alias>{_NAME}))?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"column_(\d+)")


@dataclass(frozen=True)
class Found:
    """The column of a place."""

    table: Table
    column: Column


def tables(statement: Statement, known: Sequence[str]) -> dict[str, str]:
    """The tables of a statement that are in its database, by the names that it calls them; as
    written, since servers may distinguish case."""
    here = set()
    for each in known:
        schema, _, table = each.lower().rpartition(".")
        if schema in ("", statement.database.lower()):
            here.add(table)
    found: dict[str, str] = {}
    for match in _TABLE.finditer(statement.template):
        named = match["table"].strip('`"')
        if named.lower() not in here:
            continue
        alias = (match["alias"] or named).strip('`"')
        found.setdefault(alias.lower(), named)
    return found


def names(sql: str) -> set[str]:
    """Names in a statement that may be those of tables, in small letters."""
    return {match["table"].strip('`"').lower() for match in _TABLE.finditer(sql)}


def looked_up(table: str, column: str) -> str | None:
    """`table.column` as `column:` takes it; None for names that servers take in quotes only."""
    if {table.lower(), column.lower()} & RESERVED:
        return None
    found = f"{table}.{column}"
    return found if COLUMN.fullmatch(found) else None


def resolve(
    catalog: Catalog | None, statement: Statement, known: Sequence[str], place: Place
) -> Found | None:
    """The column of a place, where the schema leaves no doubt. `known`: the statement's tables."""
    if catalog is None or place.column is None:
        return None
    named = tables(statement, known)
    if place.qualifier is not None:
        named = {place.qualifier: named.get(place.qualifier.lower(), "")}
    found = {
        table.name: Found(table, column)
        for table in map(catalog.table, named.values())
        if table is not None and (column := _column(table, place.column)) is not None
    }
    return next(iter(found.values())) if len(found) == 1 else None


def _column(table: Table, name: str) -> Column | None:
    """By its name, or its number in an INSERT without names."""
    known = table.columns.get(name.lower())
    numbered = _NUMBERED.fullmatch(name)
    if known is not None or numbered is None:
        return known
    return next(iter([*table.columns.values()][int(numbered[1]) - 1 : int(numbered[1])]), None)
