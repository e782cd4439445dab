"""Keys: values that come once, pairs that come once, and references to them.

The keys of a table are evenly spaced over the range that they have at the original, so that a
reference is a number from 1 to how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column, Schema, Table
from dbdyno.copies.statistics.values import ColumnStatistics, Piece, TableStatistics
from dbdyno.copies.synthesis.column import Values, end, text

SPREAD_PARTS = 64  # of a key that does not follow the rows' order


@dataclass(frozen=True, kw_only=True)
class Key:
    """The values of a column in which no two rows have the same. `low`, `high`: in units; of coded
    columns None; `is_part`: they are some of another key's, so nothing refers to them by number."""

    count: int
    written: Mapping[str, Any]
    low: int | None = None
    high: int | None = None
    is_part: bool = False


def of_column(column: Column, found: ColumnStatistics, rows: int) -> Key | None:
    """The keys that a column's histogram would make; None if no histogram can."""
    if column.family in of.CODED:
        return Key(count=rows, written=text(column, found.lengths, rows))
    if column.family not in (of.WHOLE, of.DAY, of.TIME) or not found.pieces:
        return None
    low = found.pieces[0].low
    high = max(found.pieces[-1].high, low + rows - 1)
    ends = [end(low, column.family, 0), end(high, column.family, 0)]
    is_plain = column.family == of.WHOLE and (low, high) == (1, rows)  # keys are their numbers
    written = {} if is_plain else {"keys": [*ends, rows]}
    return Key(count=rows, written=written, low=low, high=high)


def once(key: Key, referred: Key | None, order: float | None) -> dict[str, Any]:
    """Each value once, by the rows' order or, where the original does not follow it, in parts
    elsewhere. `referred`: the keys that it must be of."""
    of_keys = referred or key
    written = dict(of_keys.written)
    if referred is not None and referred.count > key.count:
        return {"histogram": [[1, referred.count, 1, key.count]], **written, "spread": 0}
    parts = SPREAD_PARTS if order is not None and abs(order) < 0.5 else 1
    if parts == 1 or key.count < 2 * parts:
        way = {"descending": True} if order is not None and order < -0.5 else {"spread": 0}
        return {"histogram": [[1, key.count, 1]], **written, **way}
    cuts = [key.count * at // parts for at in range(parts + 1)]
    pieces = [[a + 1, b, b - a] for a, b in pairwise(cuts)]
    return {"histogram": pieces, "shuffle": True, **written, "spread": 0}


def referring(made: Values, key: Key) -> Values:
    """A column's values as numbers of the keys that it refers to, as frequent as they were."""
    found: list[Piece] = []
    all_ = made.distinct
    before = 0
    for piece in made.pieces:
        if key.low is None or key.high is None:
            low = 1 + before * key.count // max(all_, key.count)
            high = low + max(0, (piece.distinct * key.count) // max(all_, key.count) - 1)
        else:
            low, high = (_number(value, key.low, key.high, key.count) for value in
                         (piece.low, piece.high))  # fmt: skip
        before += piece.distinct
        if found and low <= found[-1].high:
            low = found[-1].high + 1
        high = min(max(low, high), key.count)
        if low > key.count:
            last = found[-1]
            found[-1] = replace(last, rows=last.rows + piece.rows)
            continue
        found.append(Piece(low, high, piece.rows, max(1, min(piece.distinct, high - low + 1))))
    return replace(made, pieces=found, written=key.written)


def _number(value: int, low: int, high: int, count: int) -> int:
    """Which key is nearest."""
    if high == low:
        return 1
    return 1 + min(count - 1, max(0, round((value - low) * (count - 1) / (high - low))))


def references(schema: Schema, table: Table) -> dict[str, tuple[str, str]]:
    """Columns that refer to one other column each."""
    return {
        key.columns[0]: (key.table, key.references[0])
        for key in table.foreign
        if len(key.columns) == 1
        and key.table in schema.tables
        and schema.tables[key.table].is_key(key.references[0])
    }


def all_keys(
    schema: Schema, statistics: Mapping[str, TableStatistics]
) -> dict[tuple[str, str], Key]:
    """By table and column. A key that refers to another one has that one's values."""
    found: dict[tuple[str, str], Key] = {}
    for table in schema.tables.values():
        if table.name not in statistics:
            continue
        of_table = statistics[table.name]
        for column in table.filled:
            if table.is_key(column.name):
                key = of_column(column, of_table.columns[column.name], of_table.rows)
                if key is not None and key.count > 0:
                    found[table.name, column.name] = key
    for name, table in schema.tables.items():
        for here, to in references(schema, table).items():
            key, referred = found.get((name, here)), found.get(to)
            if key is not None and referred is not None and referred.count > key.count:
                found[name, here] = replace(key, is_part=True)
            elif key is not None and referred is not None:
                found[name, here] = replace(referred, count=key.count)
    return found


def numbered(
    columns: Sequence[str], values: Mapping[str, Values], rows: int
) -> tuple[str, str] | None:
    """Of a key of several columns, the one that follows the rows' order and the one that numbers
    the rows that are alike in it: one with enough values. None if there is none."""
    present = [name for name in columns if name in values]
    if len(present) < 2:
        return None
    first = present[0]
    total = sum(piece.rows for piece in values[first].pieces)
    largest = math.ceil(values[first].largest * rows / total) + 2
    for name in sorted(present[1:], key=lambda name: -values[name].distinct):
        if values[name].distinct >= largest or _can_grow(values[name]):
            return first, name
    return None


def _can_grow(made: Values) -> bool:
    return "keys" not in made.written and "labels" not in made.written and made.family == of.WHOLE


def grown(made: Values, count: int) -> Values:
    """With at least as many different values."""
    missing = count - made.distinct
    if missing <= 0 or not _can_grow(made):
        return made
    last = made.pieces[-1].high
    return replace(made, pieces=[*made.pieces, Piece(last + 1, last + missing, 1.0, missing)])
