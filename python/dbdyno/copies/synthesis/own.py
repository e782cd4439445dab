"""Foreign keys of several columns to the own table: a row refers to one that is made before it.

Columns that such a key has on both sides (of tables of several tenants, the tenant) are the row's
own; the others are taken from a row that has the same in those. So the rows are trees: no walk from
row to row goes in a circle. The first row of a tree refers to none or, if it must refer to one, to
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from dbdyno.copies.schema.tables import ForeignKey, Table
from dbdyno.copies.statistics.values import Piece, TableStatistics


def is_own(table: Table, key: ForeignKey) -> bool:
    """Whether a foreign key of several columns refers to its own table."""
    return key.table == table.name and len(key.columns) > 1


def shared(key: ForeignKey) -> dict[str, str]:
    """Columns that a row and the one that it refers to have alike."""
    return {one: other for one, other in _pairs(key) if one == other}


def taken(key: ForeignKey) -> dict[str, str]:
    """Columns whose values are those of the other row, and of which columns of it."""
    return {one: other for one, other in _pairs(key) if one != other}


def _pairs(key: ForeignKey) -> Sequence[tuple[str, str]]:
    return [*zip(key.columns, key.references, strict=True)]


def unfit(table: Table, key: ForeignKey, given: Collection[str]) -> str:
    """Why the rows cannot refer to each other by a key; empty: they can. `given`: columns that have
    their values from elsewhere."""
    others = {name for one in table.foreign if one.name != key.name for name in one.columns}
    for column in taken(key):
        if any(column in columns for columns in table.keys):
            return f"`{column}` belongs to a unique key"
        if column in given or column in others:
            return "its columns have the values that another foreign key needs"
    return "" if taken(key) else "each row refers to itself"


def must_refer(table: Table, key: ForeignKey) -> bool:
    """Whether each row refers to one: none of the columns takes NULL."""
    return not any(table.columns[column].is_nullable for column in taken(key))


def frequencies(found: TableStatistics, key: ForeignKey) -> list[Piece]:
    """How frequent the rows are that a row may refer to: as those of the whole table, of which each
    part with the same shared columns has its share."""
    parts = max([1, *(found.columns[name].distinct for name in shared(key))])
    return [
        replace(piece, distinct=max(1, round(piece.distinct / parts)))
        for piece in found.tuples.get(key.name, ())
    ]
