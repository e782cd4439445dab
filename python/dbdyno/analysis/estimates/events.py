"""Ratios of rates of rare events (stalls, errors) of which every block saw as many.

Equal counts have no spread, so that a t interval would shrink to a point: twice as many in each
block would be certain to mean that there are always twice as many. But of events that come
independently of each other the first side's share is binomial, given how many there were, so that
its exact interval (Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated
in the case of the binomial") gives that of the ratio (Przyborowski and Wilenski 1940, "Homogeneity
of results in testing samples from Poisson series"). Once ratios differ, Student's t takes over. One
rate alone: `single_values`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy import special

from dbdyno.analysis.claims.contrast import Interval

# Metrics that count events: seconds of the time that they cover.
_EVENTS = {
    "stalls_per_min": 60.0,
    "errors_per_s": 1.0,
    "retries_per_s": 1.0,
    "failed_per_s": 1.0,
}
_LENGTHS_ALIKE = 0.01  # blocks' lengths differ by no more, as a part of the longest
_COUNTS_ALIKE = 0.01  # events: whole numbers, except for rounding
_TIMES_MAX = 1e6  # times as many blocks, beyond which more of them is no advice


@dataclass(frozen=True)
class Seen:
    """So many events, in so much time > 0 of the metric's unit."""

    count: float
    exposure: float

    @property
    def rate(self) -> float:
        return self.count / self.exposure

    def times(self, factor: float) -> Seen:
        """The same rate, seen for so many times as long."""
        return Seen(self.count * factor, self.exposure * factor)


class Counted(ABC):
    """What counts alone say, of n blocks; compared with a threshold. A `contrast.Contrast`."""

    n: int
    threshold: float

    @property
    @abstractmethod
    def centre(self) -> float: ...

    @property
    @abstractmethod
    def p(self) -> float: ...

    @abstractmethod
    def interval(self, confidence: float) -> Interval: ...

    @abstractmethod
    def times(self, factor: float) -> Counted:
        """The same, had it been seen for so many times as long."""

    def blocks_needed(self, alpha: float) -> int | None:
        """How many more such blocks would decide at level `alpha`; None if no number would."""
        most = _TIMES_MAX
        if self.centre == self.threshold or self.times(most).p > alpha:
            return None
        low, high = self.n, math.ceil(self.n * most)  # p falls with the number of blocks
        while low + 1 < high:
            middle = (low + high) // 2
            decided = self.times(middle / self.n).p <= alpha
            low, high = (low, middle) if decided else (middle, high)
        return high - self.n


@dataclass(frozen=True)
class RateRatio(Counted):
    """One rate to another; both saw events."""

    n: int
    left: Seen
    right: Seen
    threshold: float

    @property
    def centre(self) -> float:
        return self.left.rate / self.right.rate

    @property
    def p(self) -> float:
        if self.threshold <= 0:  # which no ratio can be
            return 0.0
        k, m = self.left.count, self.right.count
        share = self.threshold * self.left.exposure
        share /= share + self.right.exposure
        few = float(special.betaincc(k + 1, m, share))
        many = float(special.betainc(k, m + 1, share))
        return min(1.0, 2 * min(few, many))

    def interval(self, confidence: float) -> Interval:
        tail = (1 - confidence) / 2
        k, m = self.left.count, self.right.count
        shares = special.betaincinv(k, m + 1, tail), special.betainccinv(k + 1, m, tail)
        low, high = (float(share) for share in shares)
        per = self.right.exposure / self.left.exposure
        return low / (1 - low) * per, None if high >= 1.0 else high / (1 - high) * per

    def times(self, factor: float) -> RateRatio:
        return replace(self, left=self.left.times(factor), right=self.right.times(factor))


def ratio_alike(
    metrics: tuple[str, str],
    values: tuple[Sequence[float], Sequence[float]],
    lengths_s: tuple[Sequence[float], Sequence[float]],
    threshold: float,
) -> RateRatio | None:
    """The same of the ratio of two; all values > 0."""
    left, right = (_seen(*side) for side in zip(metrics, values, lengths_s, strict=True))
    return RateRatio(len(values[0]), left, right, threshold) if left and right else None


def counts(metric: str, values: Sequence[float], lengths_s: Sequence[float]) -> list[float] | None:
    """Events of each block, of rates >= 0; None of a metric that counts none, or without time."""
    unit_s = _EVENTS.get(metric.rpartition(".")[2])
    if unit_s is None or not values or not min(lengths_s) > 0:
        return None
    return [value * length / unit_s for value, length in zip(values, lengths_s, strict=True)]


def _seen(metric: str, values: Sequence[float], lengths_s: Sequence[float]) -> Seen | None:
    """Events and their time; None of a metric that counts none, without time, or if blocks saw
    different numbers."""
    found = counts(metric, values, lengths_s)
    if found is None or min(lengths_s) < (1 - _LENGTHS_ALIKE) * max(lengths_s):
        return None
    # A trial is a little longer or shorter than planned, and its rate as much lower or higher.
    if max(found) - min(found) > _COUNTS_ALIKE:
        return None
    return Seen(math.fsum(found), math.fsum(lengths_s) / _EVENTS[metric.rpartition(".")[2]])
