"""Rates of rare events (stalls, errors) of which every block saw as many.

Equal counts have no spread, so that a t interval would shrink to a point: none in any block would
be certain to mean that there are none, one in each that there is never a second. But events that
come independently of each other, k of them in a time T, leave the rate open from

    gammaincinv(k, (1 - confidence) / 2) / T  to  gammainccinv(k + 1, (1 - confidence) / 2) / T

(Garwood 1936, "Fiducial limits for the Poisson distribution": the exact interval; for none in three
times the mean distance, the "rule of three"). Of two such rates the first's share of all events is
binomial, given how many there were, so its exact interval (Clopper and Pearson 1934, "The use of
confidence or fiducial limits illustrated in the case of the binomial") gives that of their ratio
(Przyborowski and Wilenski 1940, "Homogeneity of results in testing samples from Poisson series").
Once counts differ, Student's t takes over.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy import special

from dbdyno.analysis.contrast import Interval

# Metrics that count events: seconds of the time that they are told for.
_EVENTS = {
    "stalls_per_min": 60.0,
    "errors_per_s": 1.0,
    "retries_per_s": 1.0,
    "failed_per_s": 1.0,
}
_LENGTHS_ALIKE = 0.01  # blocks' lengths differ by no more, as a part of the longest
_COUNTS_ALIKE = 0.01  # events: whole numbers, but for rounding
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
    """What counts alone say, of n blocks; held against a threshold. A `contrast.Contrast`."""

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
class Rate(Counted):
    """One rate."""

    n: int
    seen: Seen
    threshold: float

    @property
    def centre(self) -> float:
        return self.seen.rate

    @property
    def p(self) -> float:
        expected = self.threshold * self.seen.exposure
        if expected < 0 or (expected == 0 and self.seen.count):  # which the rate cannot be
            return 0.0
        few = float(special.gammaincc(self.seen.count + 1, expected))
        many = float(special.gammainc(self.seen.count, expected)) if self.seen.count else 1.0
        return min(1.0, 2 * min(few, many))

    def interval(self, confidence: float) -> Interval:
        tail, count = (1 - confidence) / 2, self.seen.count
        low = float(special.gammaincinv(count, tail)) if count else 0.0
        high = float(special.gammainccinv(count + 1, tail))
        return low / self.seen.exposure, high / self.seen.exposure

    def times(self, factor: float) -> Rate:
        return replace(self, seen=self.seen.times(factor))


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


def alike(
    metric: str, values: Sequence[float], lengths_s: Sequence[float], threshold: float
) -> Rate | None:
    """The contrast of a metric that counts events, if `values`, one a block, shape (n,), come of
    the same number of them; `lengths_s`: how long each block's trial measured. None for all else.
    """
    found = _seen(metric, values, lengths_s)
    return Rate(len(values), found, threshold) if found else None


def ratio_alike(
    metrics: tuple[str, str],
    values: tuple[Sequence[float], Sequence[float]],
    lengths_s: tuple[Sequence[float], Sequence[float]],
    threshold: float,
) -> RateRatio | None:
    """The same of the ratio of two; all values > 0."""
    left, right = (_seen(*side) for side in zip(metrics, values, lengths_s, strict=True))
    return RateRatio(len(values[0]), left, right, threshold) if left and right else None


def _seen(metric: str, values: Sequence[float], lengths_s: Sequence[float]) -> Seen | None:
    """Events and their time; None of a metric that counts none, without time, or if blocks saw
    different numbers."""
    unit_s = _EVENTS.get(metric.rpartition(".")[2])
    exposed_s = math.fsum(lengths_s)
    if unit_s is None or not values or not exposed_s > 0:
        return None
    if min(lengths_s) < (1 - _LENGTHS_ALIKE) * max(lengths_s):
        return None
    # A trial is a little longer or shorter than planned, and its rate as much lower or higher.
    counts = [v * length / unit_s for v, length in zip(values, lengths_s, strict=True)]
    if max(counts) - min(counts) > _COUNTS_ALIKE:
        return None
    return Seen(math.fsum(counts), exposed_s / unit_s)
