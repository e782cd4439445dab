"""A column as a declared table has it: its histogram, and what its numbers stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column
from dbdyno.copies.statistics.values import ColumnStatistics, Lengths, Piece

LETTERS = 36  # of a pattern's `*`
LENGTH_MAX = 100_000  # characters of a made-up text
UUID_PATTERN = "########-####-4###-8###-############"
_STAND_INS = {  # types of which only one value is made
    "time": "12:00:00", "time without time zone": "12:00:00", "time with time zone": "12:00:00+00",
    "interval": "1 day", "inet": "10.0.0.1", "cidr": "10.0.0.0/8", "macaddr": "08:00:2b:01:02:03",
    "tsvector": "", "xml": "<made_up/>", "point": "(0,0)", "hstore": "", "ltree": "made_up",
    "inet4": "10.0.0.1", "inet6": "::1",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Values:
    """`pieces`: in units, or numbers from 1 on of what `written` says (keys, labels, a pattern)."""

    pieces: Sequence[Piece]
    written: Mapping[str, Any]
    nulls: float = 0.0
    scale: int = 0
    family: str = of.WHOLE

    @property
    def distinct(self) -> int:
        return sum(piece.distinct for piece in self.pieces)

    @property
    def largest(self) -> int:
        """Rows of its most frequent value, of the rows that its pieces add up to."""
        return math.ceil(max(piece.rows / piece.distinct for piece in self.pieces))

    def generator(self) -> dict[str, Any]:
        """As in the file."""
        family = of.WHOLE if self.written else self.family
        listed = [_piece(piece, family, self.scale) for piece in self.pieces]
        made: dict[str, Any] = {"histogram": listed, **self.written}
        if self.scale and family in (of.DECIMAL, of.FLOAT):
            made["decimals"] = self.scale
        return made | ({"nulls": round(self.nulls, 6)} if self.nulls > 0 else {})


def _piece(piece: Piece, family: str, scale: int) -> list[Any]:
    rows = float(f"{piece.rows:.6g}")
    listed = [
        end(piece.low, family, scale),
        end(piece.high, family, scale),
        int(rows) if rows == int(rows) else rows,
    ]
    return listed if piece.distinct == piece.high - piece.low + 1 else [*listed, piece.distinct]


def end(units: int, family: str, scale: int) -> Any:
    """A value from its units."""
    if family == of.DAY:
        return (date(1970, 1, 1) + timedelta(days=units)).isoformat()
    if family == of.TIME:
        return str(datetime(1970, 1, 1) + timedelta(seconds=units))
    return units / 10**scale if scale else units


def values(column: Column, found: ColumnStatistics) -> Values | None:
    """What a column's values are made by; None if no histogram can make them."""
    if column.family == of.ENUM and sum(found.labels) > 0:
        pieces = [Piece(at, at, rows, 1) for at, rows in enumerate(found.labels, 1) if rows]
        return Values(pieces=pieces, written={"labels": [*column.labels]}, nulls=found.nulls)
    if not found.pieces or column.family not in (*of.RANGED, of.BOOLEAN, *of.CODED):
        return None
    made = Values(
        pieces=found.pieces, written={}, nulls=found.nulls, scale=found.scale, family=column.family
    )
    if column.family in of.CODED:
        return replace(made, written=text(column, found.lengths, made.pieces[-1].high))
    return made


def text(column: Column, lengths: Lengths | None, count: int) -> dict[str, Any]:
    """Made-up texts with a column's lengths, `count` different ones."""
    if column.family == of.UUID:
        return {"pattern": UUID_PATTERN, "count": count}
    found = lengths or Lengths(least=8, mean=8, most=8)
    room = column.length if column.length else LENGTH_MAX
    size = 10 if found.are_digits else LETTERS
    needed = math.ceil(math.log(count + 1) / math.log(size) - 1e-9)
    # Even lengths with the same mean, as far as the ends allow.
    most = min(found.most, round(2 * found.mean) - found.least, room, LENGTH_MAX)
    least = max(found.least, round(2 * found.mean) - most, needed)
    least = min(least, room)
    return {
        "pattern": "#" if found.are_digits else "*",
        "lengths": [least, max(least, most)],
        "count": count,
    }


def stand_in(column: Column) -> Any:
    """One value for a column whose values cannot be made; None: there is none."""
    if column.family == of.JSON:
        return of.DOCUMENT
    if column.type.endswith("[]"):
        return "{}"
    name = column.type.lower()
    if name.startswith("set("):
        return ""
    return next((value for word, value in _STAND_INS.items() if name.split("(")[0].strip() == word
                 or name == word), None)  # fmt: skip
