"""Statistics of columns: no value of theirs but ends of ranges of numbers and dates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column
from dbdyno.experiment.values.generators import END_MAX

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Piece:
    """A range of values, ends included, in units of the last place (`units`), days or seconds; of
    coded columns numbers from 1 on. `rows`: how much of the column, relative to the other pieces;
    `distinct`: different values."""

    low: int
    high: int
    rows: float
    distinct: int


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Of texts, characters."""

    least: int
    mean: float
    most: int
    are_digits: bool = False


@dataclass(frozen=True, kw_only=True)
class ColumnStatistics:
    """`nulls`: share; `pieces`: none if all values are NULL; `labels`: rows of each label of an
    enumeration, from the first on; `scale`: decimal places of the pieces' ends; `order`: rank
    correlation with the rows' order in the table."""

    nulls: float = 0.0
    pieces: Sequence[Piece] = ()
    labels: Sequence[float] = ()
    lengths: Lengths | None = None
    scale: int = 0
    order: float | None = None

    @property
    def distinct(self) -> int:
        return sum(piece.distinct for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbouring columns of an index: `distinct` different pairs among `rows` rows; `ranks`:
    their rank correlation, where both have an order."""

    distinct: int
    rows: int
    ranks: float | None = None


@dataclass(frozen=True, kw_only=True)
class TableStatistics:
    """`tuples`: by a foreign key of several columns, how frequent what it refers to is, numbered
    from 1 on; `said`: how they were found."""

    rows: int
    columns: Mapping[str, ColumnStatistics]
    pairs: Mapping[tuple[str, str], Pair] = field(default_factory=dict)
    tuples: Mapping[str, Sequence[Piece]] = field(default_factory=dict)
    said: str = ""


def scale_of(column: Column, ends: Sequence[str]) -> int:
    """Decimal places in which a column's values are counted."""
    if column.family == of.DECIMAL:
        return column.scale
    if column.family != of.FLOAT:
        return 0
    greatest = max((abs(float(end)) for end in ends), default=0.0)
    return max(0, min(6, 14 - math.ceil(math.log10(greatest + 1))))


def units(column: Column, text: str, scale: int) -> int | None:
    """A value in units of its last place, days or seconds since 1970; None for one that has none
    (infinity, 0000-00-00), or that no generator makes."""
    if text.endswith("BC"):
        return None
    try:
        if column.family == of.DAY:
            return (date.fromisoformat(text[:10]) - _EPOCH.date()).days
        if column.family == of.TIME:
            moment = datetime.fromisoformat(text[:19].replace(" ", "T"))
            return int((moment - _EPOCH).total_seconds())
        number = int((Decimal(text) * 10**scale).to_integral_value("ROUND_FLOOR"))
    except (ValueError, InvalidOperation, OverflowError):
        return None
    return number if abs(number) <= END_MAX else None
