"""What a claim part compares, reduced to one number a block, and the interval for it.

Three kinds, one shape: `p` (two-sided, of "the truth is the threshold"), `interval(confidence)`,
and `centre`. Holm's procedure and verdicts (`holm`, `verdict`) need to know nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from dbdyno.analysis import estimate

Interval = tuple[float | None, float | None]  # None: no bound


class Contrast(Protocol):
    """One number a block, held against a threshold."""

    @property
    def n(self) -> int:
        """Blocks."""

    @property
    def threshold(self) -> float:
        """What the interval is held against, on the scale of the estimate."""

    @property
    def centre(self) -> float:
        """Point estimate."""

    @property
    def p(self) -> float:
        """Two-sided p of "the truth is the threshold"."""

    def interval(self, confidence: float) -> Interval:
        """Confidence interval on the scale of the estimate."""


@dataclass(frozen=True)
class LogRatio:
    """Paired t on log ratios: d_b = ln(left_b / right_b), one a block; shape (n,), n >= 2.

    Estimate exp(mean d); interval exp(t interval of d); p of mean d = ln(threshold). A threshold of
    zero or below cannot be reached by a ratio: p is 0.
    """

    logs: tuple[float, ...]
    threshold: float

    @property
    def n(self) -> int:
        return len(self.logs)

    @property
    def centre(self) -> float:
        return math.exp(math.fsum(self.logs) / self.n)

    @property
    def p(self) -> float:
        if self.threshold <= 0:
            return 0.0
        return estimate.t_test(self.logs, math.log(self.threshold))

    def interval(self, confidence: float) -> Interval:
        _, low, high = estimate.t_interval(self.logs, confidence)
        return _exp(low), _exp(high)


@dataclass(frozen=True)
class Mean:
    """One-sample t on a metric as it is, for a claim about a single number; shape (n,), n >= 2.

    Arithmetic, so that it agrees with the tables of cells and may be zero (errors a second).
    """

    values: tuple[float, ...]
    threshold: float

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> float:
        return math.fsum(self.values) / self.n

    @property
    def p(self) -> float:
        return estimate.t_test(self.values, self.threshold)

    def interval(self, confidence: float) -> Interval:
        _, low, high = estimate.t_interval(self.values, confidence)
        return low, high


@dataclass(frozen=True)
class Median:
    """Sign test and the interval of the median that belongs to it; shape (n,), n >= 2.

    For values that come in steps (the level at which a metric peaks, and ratios of such levels),
    where a t interval would shrink to a point as soon as all blocks agree. The interval runs from
    the k-th smallest to the k-th largest value, with the largest k such that
    2 P(B <= k - 1) <= 1 - confidence, B binomial(n, 1/2); unbounded if there is none. Six blocks
    that agree reach 97 %. Source: Conover, Practical Nonparametric Statistics, section 3.2.
    """

    values: tuple[float, ...]
    threshold: float

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> float:
        return float(np.median(self.values))

    @property
    def p(self) -> float:
        # Ties count against both directions: what stands on the threshold shows neither.
        not_above = sum(value <= self.threshold for value in self.values)
        not_below = sum(value >= self.threshold for value in self.values)
        return min(1.0, 2 * float(special.bdtr(min(not_above, not_below), self.n, 0.5)))

    def interval(self, confidence: float) -> Interval:
        k = 0
        while 2 * float(special.bdtr(k, self.n, 0.5)) <= 1 - confidence + 1e-12:
            k += 1
        if k == 0:
            return None, None
        ordered = sorted(self.values)
        return ordered[k - 1], ordered[self.n - k]


def _exp(value: float) -> float | None:
    """exp, with None (no bound) where a float cannot hold it."""
    try:
        return math.exp(value)
    except OverflowError:
        return None
