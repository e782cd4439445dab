"""How often the values of a column are drawn: all alike, some more often, or by the rows that have
them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool

COUNTED = ("by_rows", "meets")  # keys of a `column:` that need to know how many rows have a value
KEYS = ("column", "theta", *COUNTED)  # of a `column:`, which the engine does not know
EXPONENT_MAX = 4.0
_STEPS = 40  # of the search for an exponent: to 1e-11


@dataclass(frozen=True)
class Held:
    """Values that a column holds, each once. `rows`: that have each, where these were counted, and
    `of`: rows of the table. A value with fewer than `step` rows was taken with the probability
    rows / step, to stand for others like it."""

    values: Sequence[Value]
    rows: Sequence[int] = ()
    of: int = 0
    step: int = 1


def weights(param: Mapping[str, Any], held: Held) -> list[float] | None:
    """Of the values, for a parameter with `column:`; None: all alike. Which values are hot by
    `theta` is drawn by the column's name, so that they are the same in all statements."""
    if is_counted(param):
        exponent = 1.0 if param.get("by_rows") else exponent_of(held, param["meets"])
        return [rows**exponent * stands for rows, stands in _counts(held)]
    if not param.get("theta"):
        return None
    ranks = list(range(1, len(held.values) + 1))
    random.Random(param["column"]).shuffle(ranks)
    return [float(rank) ** -param["theta"] for rank in ranks]


def is_counted(param: Mapping[str, Any]) -> bool:
    """Whether the rows of each value are needed."""
    return any(param.get(key) for key in COUNTED)


def exponent_of(held: Held, share: float) -> float:
    """The a for which values that are drawn as often as rows^a meet this share of the table's rows
    on average: sum w n / sum w = share x rows, w = n^a. What they meet grows with a; at most
    EXPONENT_MAX, either way, where no a is enough."""
    counts, wanted = Counter(_counts(held)), share * held.of
    low, high = -EXPONENT_MAX, EXPONENT_MAX
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _met(counts, middle) < wanted else (low, middle)
    return (low + high) / 2


def _met(counts: Mapping[tuple[int, float], int], exponent: float) -> float:
    """Rows that a draw meets, on average."""
    drawn = [(rows, rows**exponent * stands * many) for (rows, stands), many in counts.items()]
    return sum(rows * weight for rows, weight in drawn) / sum(weight for _, weight in drawn)


def _counts(held: Held) -> list[tuple[int, float]]:
    """Rows of each value, and how many values it stands for."""
    return [(rows, max(1.0, held.step / rows)) for rows in held.rows]
