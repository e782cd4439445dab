"""What PostgreSQL's own statistics say of a column: nothing is scanned.

Source: the manual on pg_stats. Most common values are used for their place in the order only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column, Table
from dbdyno.copies.source import Source
from dbdyno.copies.statistics import pieces
from dbdyno.copies.statistics.values import ColumnStatistics, Piece, scale_of, units


def columns(source: Source, table: Table, rows: int) -> dict[str, ColumnStatistics]:
    """Statistics by column; those that were never analysed, or are hidden from the user, are
    missing. Refused if the view is not readable."""
    found: dict[str, ColumnStatistics] = {}
    for name, nulls, distinct, shares, order, *values in source.rows(
        "SELECT attname, null_frac, n_distinct, most_common_freqs::text::float8[], correlation,"
        " most_common_vals::text::text[], histogram_bounds::text::text[] FROM pg_stats WHERE"
        f" schemaname = {source.literal(source.schema)} AND tablename ="
        f" {source.literal(table.name)} AND NOT inherited"
    ):
        column = table.columns.get(str(name))
        if column is None or column.family not in (*of.RANGED, *of.CODED):
            continue
        all_ = round(float(distinct) if distinct > 0 else -float(distinct) * rows)
        texts = [str(each) for of_column in values for each in of_column or ()]
        scale = scale_of(column, texts) if column.family in of.RANGED else 0
        made = _pieces(column, float(nulls), max(1, all_), list(shares or ()), values, rows, scale)
        found[column.name] = ColumnStatistics(
            nulls=float(nulls),
            pieces=made,
            scale=scale,
            order=float(order) if order is not None and column.family in of.RANGED else None,
        )
    return found


def _pieces(
    column: Column,
    nulls: float,
    distinct: int,
    shares: Sequence[float],
    values: Sequence[Sequence[Any] | None],
    rows: int,
    scale: int,
) -> list[Piece]:
    rest = max(0.0, 1 - nulls - sum(shares)) * rows
    others = max(0, distinct - len(shares))
    if column.family in of.CODED:
        return _coded([share * rows for share in shares], rest, others)
    common, bounds = ([str(each) for each in of_column or ()] for of_column in values)
    hot = [
        (place, share * rows)
        for text, share in zip(common, shares, strict=True)
        if (place := units(column, text, scale)) is not None
    ]
    places = [units(column, text, scale) for text in bounds]
    return _ranged(dict(sorted(hot)), [each for each in places if each is not None], rest, others)


def _coded(hot: Sequence[float], rest: float, others: int) -> list[Piece]:
    found = [Piece(at, at, rows, 1) for at, rows in enumerate(hot, start=1)]
    if others and rest > 0:
        first = len(hot) + 1
        found.append(Piece(first, first + others - 1, rest, others))
    return pieces.merged(found)


def _ranged(hot: dict[int, float], bounds: Sequence[int], rest: float, others: int) -> list[Piece]:
    """The common values among the parts of the histogram, which hold the same number of rows
    each."""
    found = [Piece(at, at, rows, 1) for at, rows in hot.items()]
    common = sorted(hot)
    parts = [*pairwise(bounds)]
    spaces: list[tuple[int, int, float]] = []
    for number, (low, high) in enumerate(parts):
        last = number == len(parts) - 1
        spaces += _between(low, high if last else max(low, high - 1), common, rest / len(parts))
    room = sum(high - low + 1 for low, high, _ in spaces)
    for low, high, rows in spaces:
        width = high - low + 1
        even = others * rows / rest if rest else 0
        count = max(1, min(width, round(even if even <= width else others * width / room)))
        found.append(Piece(low, high, rows, count))
    return pieces.merged(_ascending(found))


def _between(
    low: int, high: int, common: Sequence[int], rows: float
) -> list[tuple[int, int, float]]:
    """A part without the common values in it."""
    cuts = common[bisect_left(common, low) : bisect_left(common, high + 1)]
    found, at = [], low
    for cut in [*cuts, high + 1]:
        if cut > at:
            found.append((at, cut - 1))
        at = cut + 1
    width = sum(b - a + 1 for a, b in found)
    return [(a, b, rows * (b - a + 1) / width) for a, b in found]


def _ascending(found: list[Piece]) -> list[Piece]:
    """Parts of one value with many rows come several times."""
    made: list[Piece] = []
    for piece in sorted(found, key=lambda piece: (piece.low, piece.high)):
        last = made[-1] if made else None
        if last is not None and piece.low <= last.high:
            made[-1] = Piece(
                last.low, max(last.high, piece.high), last.rows + piece.rows,
                min(max(last.high, piece.high) - last.low + 1, max(last.distinct, piece.distinct)),
            )  # fmt: skip
        else:
            made.append(piece)
    return made
