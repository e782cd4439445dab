"""Whether one side of a comparison has more attempts without a measurement than the other.

Such an attempt is run again, or omitted. If that happens to one side more often, its remaining
trials are a selection: what made its trials fail may belong to it. Fisher's exact test (Fisher
1935, "The logic of inductive inference"), two-sided: of all tables with these sums, the chance of
those that are no more likely than the one seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message

LEVEL = 0.05


@dataclass(frozen=True)
class FailureRates:
    """Attempts at two cells that gave no measurement, out of all."""

    left: tuple[int, int]
    right: tuple[int, int]

    @property
    def p(self) -> float:
        """Of "both have the same rate"."""
        return fisher(self.left, self.right)

    @property
    def differ(self) -> bool:
        """Whether the sides cannot be compared."""
        return self.p <= LEVEL

    def message(self) -> Message:
        """The counts, for people."""
        return Message("void_rates", left=self.left, right=self.right, p=self.p)


def of(measured: Measured, left: int, right: int) -> FailureRates | None:
    """Of two cells; None if they are one, or if none of their attempts failed so."""
    sides = [measured.attempts(cell) for cell in (left, right)]
    found = FailureRates(*((one.void - one.void_measured, one.all) for one in sides))
    return None if left == right or found.left[0] + found.right[0] == 0 else found


def fisher(left: tuple[int, int], right: tuple[int, int]) -> float:
    """Two-sided p of "both have the same rate", hits and counts of either side."""
    hits, count = left[0] + right[0], left[1] + right[1]

    def ways(mine: int) -> int:
        return math.comb(left[1], mine) * math.comb(right[1], hits - mine)

    seen = ways(left[0])
    tables = range(max(0, hits - right[1]), min(hits, left[1]) + 1)
    return sum(ways(one) for one in tables if ways(one) <= seen) / math.comb(count, hits)
