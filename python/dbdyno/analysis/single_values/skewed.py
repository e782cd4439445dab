"""The mean of what is skewed: times, costs, shares, counts of events.

Student's interval of an arithmetic mean is too short above: of lognormal values it misses the mean
on that side in 7 to 17 % of samples at a nominal 2.5 %, of values that are mostly zero in up to
73 %. Here the mean is taken apart,

    ln mean = ln(share of blocks that are not zero) + mu + sigma^2 / 2,

mu and sigma^2 those of the logarithms of the values that are not zero: exact for lognormal ones.
Each term has its own limits (Clopper and Pearson 1934 for the share; Student's t for mu;
chi-squared for sigma^2), combined by their distances from the estimates,

    upper = estimate + sqrt(sum (upper_i - estimate_i)^2), the lower one likewise

(MOVER: Zou, Huo and Taleban 2009, "Simple confidence intervals for lognormal means and their
differences with environmental applications"; Zou, Taleban and Huo 2009, for zeros among them). At
each end the interval reaches at least as far as Student's, and so holds the sample's mean.

*Zeros.* Where fewer than two blocks saw anything, nothing is known about how much a block sees that
does: zeros in n blocks bound the share of blocks with any, to 1 - (alpha/2)^(1/n), but not the
mean. Only a value that cannot exceed a `ceiling` has a bound then, that share of it.
`intermittent` values may be zero in a block that was not measured, also if none was: then the
share is uncertain downwards.

*Events.* Those that come independently of each other vary from block to block as Poisson's; bursts
vary more, and the spread between blocks says how much more. Few counts that happen to be the same
say it badly, so the interval is never shorter than the exact one of as many independent `events`
(Garwood 1936, "Fiducial limits for the Poisson distribution").

*Geometric means.* Times and costs have the geometric mean (docs/decisions/
one-number-one-definition.md), whose interval is Student's on the logarithms. Who asks for
`p99 <= 20` may mean the arithmetic one, which is larger. So the upper end is the one above, and the
interval holds both.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dbdyno.analysis.claims.contrast import GeometricMean, Interval
from dbdyno.analysis.estimates import estimate

_P_MIN = 1e-12  # p is searched down to this
_STEPS = 36  # halvings of its logarithm: to nine digits
_LOG_MAX = 700.0  # beyond, exp overflows


@dataclass(frozen=True)
class SkewedMean:
    """A `contrast.Contrast`; values >= 0, one a block, shape (n,), n >= 2."""

    values: tuple[float, ...]
    threshold: float
    grain: float = 0.0  # how far a value may be off by rounding
    intermittent: bool = False
    ceiling: float | None = None  # no value can exceed it
    events: float | None = None  # counted in all blocks together; None: no count

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def centre(self) -> float:
        return math.fsum(self.values) / self.n

    @property
    def seen(self) -> int:
        """Blocks that are not zero."""
        return sum(value > 0 for value in self.values)

    def share_most(self, confidence: float) -> float:
        """The upper limit of the share of blocks that are not zero."""
        return _share(self.seen, self.n, 1 - confidence)[1]

    @functools.cached_property
    def p(self) -> float:
        if self.threshold < 0 or (self.ceiling is not None and self.threshold > self.ceiling):
            return 0.0  # which the mean cannot be
        if self.threshold < self.centre:
            return _smallest(lambda alpha: self._low(alpha) > self.threshold)
        return _smallest(lambda alpha: self._high(alpha) < self.threshold)

    def interval(self, confidence: float) -> Interval:
        alpha = 1 - confidence
        high = self._high(alpha)
        return self._low(alpha), high if math.isfinite(high) else None

    def _low(self, alpha: float) -> float:
        """Lower end at confidence 1 - `alpha`."""
        if self.seen < 2:
            return 0.0
        ends = [self._lognormal(alpha)[0]]
        ends.append(estimate.t_interval(self.values, 1 - alpha, self.grain)[1])
        if self.events:
            few = float(special.gammaincinv(self.events, alpha / 2))
            ends.append(self.centre * few / self.events)
        return max(0.0, min(ends))

    def _high(self, alpha: float) -> float:
        """Upper end; infinite if there is none."""
        top = math.inf if self.ceiling is None else self.ceiling
        if self.seen < 2:
            return top * _share(self.seen, self.n, alpha)[1]
        ends = [self._lognormal(alpha)[1]]
        ends.append(estimate.t_interval(self.values, 1 - alpha, self.grain)[2])
        if self.events:
            many = float(special.gammainccinv(self.events + 1, alpha / 2))
            ends.append(self.centre * many / self.events)
        return min(top, max(ends))

    def _lognormal(self, alpha: float) -> tuple[float, float]:
        """The limits of the formula above; at least two values are not zero."""
        few, many = 1.0, 1.0
        if self.seen < self.n or self.intermittent:
            few, many = (one * self.n / self.seen for one in _share(self.seen, self.n, alpha))
        low, high = lognormal_mean(self._logs, alpha, (math.log(few), math.log(many)))
        share = self.seen / self.n
        return share * low, share * high

    @functools.cached_property
    def _logs(self) -> tuple[float, ...]:
        return tuple(math.log(value) for value in self.values if value > 0)


@dataclass(frozen=True)
class EitherMean(GeometricMean):
    """The geometric mean of what is skewed, with an interval that holds the arithmetic one, too."""

    @functools.cached_property
    def p(self) -> float:
        if self.threshold < self.centre:
            return super().p
        return _smallest(lambda alpha: self._high(alpha) < self.threshold)

    def interval(self, confidence: float) -> Interval:
        low, _ = super().interval(confidence)
        high = self._high(1 - confidence)
        return low, high if math.isfinite(high) else None

    def _high(self, alpha: float) -> float:
        _, high = super().interval(1 - alpha)
        return max(math.inf if high is None else high, lognormal_mean(self.logs, alpha)[1])


def lognormal_mean(
    logs: tuple[float, ...], alpha: float, further: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float]:
    """Limits at confidence 1 - `alpha` of the arithmetic mean of values with these logarithms,
    shape (n,), n >= 2. `further`: limits of a term with the estimate 0 that is added to its
    logarithm."""
    n, freedom = len(logs), len(logs) - 1
    # Rounding must not make variance out of none.
    variance = 0.0 if min(logs) == max(logs) else float(np.var(logs, ddof=1))
    mean = -float(special.stdtrit(freedom, alpha / 2)) * math.sqrt(variance / n)
    # Chi-squared of f degrees is twice a gamma variable of shape f / 2.
    half, shape = variance / 2, freedom / 2
    below = max(0.0, half - shape * half / float(special.gammainccinv(shape, alpha / 2)))
    above = shape * half / float(special.gammaincinv(shape, alpha / 2)) - half
    centre = math.fsum(logs) / n + half
    low = centre - math.hypot(mean, below, further[0])
    high = centre + math.hypot(mean, above, further[1])
    return math.exp(min(low, _LOG_MAX)), math.exp(high) if high < _LOG_MAX else math.inf


def _share(seen: int, n: int, alpha: float) -> tuple[float, float]:
    """Clopper and Pearson's limits of a share."""
    low = float(special.betaincinv(seen, n - seen + 1, alpha / 2)) if seen else 0.0
    high = float(special.betainccinv(seen + 1, n - seen, alpha / 2)) if seen < n else 1.0
    return low, high


def _smallest(excludes: Callable[[float], bool]) -> float:
    """The smallest level at which an interval, which shrinks as the level rises, excludes the
    threshold; 1 if none does."""
    if not excludes(1.0):
        return 1.0
    if excludes(_P_MIN):
        return 0.0
    low, high = math.log(_P_MIN), 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if excludes(math.exp(middle)) else (middle, high)
    return math.exp(high)
