"""Results of statements, compared: equal rows, in any order, numbers as numbers."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

EXACT = 1 << 53  # beyond, a float does not tell whole numbers apart


@dataclass(frozen=True)
class Result:
    """Of one statement: how many rows, and a hash of all of them in an order of their own."""

    rows: int
    hash: str


def result(rows: Sequence[Sequence[Any]]) -> Result:
    """What rows amount to."""
    texts = sorted("\x1f".join(map(_plain, row)) for row in rows)
    return Result(len(texts), hashlib.sha256("\x1e".join(texts).encode()).hexdigest())


def _plain(value: Any) -> str:
    """A value in text: numbers of different types are equal if they agree to 12 digits, which is
    what a sum of floats in another order keeps."""
    if value is None:
        return "\x00"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int) and abs(value) > EXACT:
        return str(value)
    if isinstance(value, int | float | Decimal):
        return f"{float(value) + 0.0:.12g}"
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return str(value)
