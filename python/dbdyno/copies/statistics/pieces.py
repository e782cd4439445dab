"""Pieces of a histogram from groups of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from dbdyno.copies.statistics.values import Piece

ALIKE = 1.25  # how far two neighbours that become one piece may be apart


@dataclass(frozen=True)
class Group:
    """Values of one part of the order that are about equally frequent. `low`, `high`: of this group
    alone; None for values without an order."""

    bucket: int
    frequency: int
    rows: float
    distinct: int
    low: int | None = None
    high: int | None = None


def scaled(groups: Sequence[Group], rows: int, distinct: int | None) -> list[Group]:
    """Groups of a sample with the different values of `rows` rows: values that came once in it
    stand for others that did not come. `distinct`: how many there are in all, if it is known; else
    by the estimator of Haas and Stokes (1998) that PostgreSQL has, too: n d / (n - f + f n / N)."""
    n = sum(group.rows for group in groups)
    d = sum(group.distinct for group in groups)
    once = sum(group.distinct for group in groups if group.frequency == 0)
    if once == 0 or n >= rows:
        return [*groups]
    total = distinct if distinct is not None else n * d / (n - once + once * n / rows)
    factor = max(1.0, (total - (d - once)) / once)
    return [
        replace(group, distinct=round(group.distinct * factor)) if group.frequency == 0 else group
        for group in groups
    ]


def coded(groups: Iterable[Group]) -> list[Piece]:
    """Pieces of numbers from 1 on, the most frequent values first."""
    found: list[Piece] = []
    first = 1
    for group in sorted(groups, key=lambda group: -group.rows / group.distinct):
        found.append(Piece(first, first + group.distinct - 1, group.rows, group.distinct))
        first += group.distinct
    return merged(found)


def ranged(groups: Iterable[Group]) -> list[Piece]:
    """Pieces of a range. Values of a part that are differently frequent lie side by side in it:
    where exactly is not known, and makes no difference to ranges wider than the part."""
    found: list[Piece] = []
    for bucket, members in groupby(groups, key=lambda group: group.bucket):
        there = sorted(members, key=lambda group: group.frequency, reverse=bool(bucket % 2))
        low = min(group.low for group in there if group.low is not None)
        high = max(group.high for group in there if group.high is not None)
        if found and low <= found[-1].high:  # only seconds or decimal places apart
            low = found[-1].high + 1
        if low > high:
            found[-1] = replace(found[-1], rows=found[-1].rows + sum(g.rows for g in there))
            continue
        found += _side_by_side(there, low, high)
    return merged(found)


def _side_by_side(groups: Sequence[Group], low: int, high: int) -> list[Piece]:
    found: list[Piece] = []
    width, all_, before = high - low + 1, sum(group.distinct for group in groups), 0
    at = low
    for number, group in enumerate(groups, start=1):
        before += group.distinct
        end = low + width * before // all_ - 1
        left = len(groups) - number  # each of the others needs a place
        end = min(max(end, at), high - left)
        if end < at:
            found[-1] = replace(found[-1], rows=found[-1].rows + group.rows)
            continue
        found.append(Piece(at, end, group.rows, max(1, min(group.distinct, end - at + 1))))
        at = end + 1
    return found


def merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours with about the same frequency and density become one."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and _alike(last, piece):
            found[-1] = Piece(
                last.low, piece.high, last.rows + piece.rows, last.distinct + piece.distinct
            )
        else:
            found.append(piece)
    return found


def _alike(a: Piece, b: Piece) -> bool:
    frequencies = (a.rows / a.distinct) / (b.rows / b.distinct)
    densities = (a.distinct / (a.high - a.low + 1)) / (b.distinct / (b.high - b.low + 1))
    gap = (b.low - a.high) * a.distinct / (a.high - a.low + 1)  # in values
    near = gap <= max(2.0, 0.05 * a.distinct)
    return near and all(1 / ALIKE <= ratio <= ALIKE for ratio in (frequencies, densities))
