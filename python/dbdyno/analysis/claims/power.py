"""How many blocks an open question would take, and how small an effect a run could have seen.

Power of the two-sided t test at level alpha with n blocks, true distance delta and standard
deviation s (both on the scale of the test: log ratios): with non-centrality delta sqrt(n) / s,
power = P(T' > t(1 - alpha/2; n-1)), the far tail being negligible. Source: Cohen, Statistical Power
Analysis for the Behavioral Sciences, chapter 2. `blocks_needed` allows for the uncertainty of delta
and s; `reach` takes the noise that was seen for the true one.

Equality within a margin needs both ends shown: the chance is at least the sum of the two tests'
powers less one (Bonferroni), which is exact enough where it is near 80 %.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize, special

from dbdyno.analysis.claims.contrast import (
    Best,
    Contrast,
    GeometricMean,
    LogRatio,
    Mean,
    Median,
    Welch,
)
from dbdyno.analysis.claims.counts import AnyCount, TrialShare
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.estimates import estimate
from dbdyno.analysis.estimates.estimate import CONFIDENCE, Fit
from dbdyno.analysis.estimates.events import Counted
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.types import MoreBlocks

POWER = 0.8
BLOCKS_MAX = 1000  # beyond, "more blocks" is no advice
_MEANS = 41  # that are tried between two ends
_CENTRE_MAX = 1e3  # largest non-centrality tried
_QUANTILES = 2000
_LOG_MAX = math.log(1e6)  # beyond, an effect is not reported as a number


def power(delta: float, deviation: float, n: int, alpha: float, fitted: int = 1) -> float:
    """Power as above; 1 for deviation 0 (unless delta is 0, then 0). `fitted`: 1 for the mean
    alone, 2 with a covariate.
    """
    if deviation == 0.0:
        return 1.0 if delta else 0.0
    critical = float(special.stdtrit(n - fitted, 1 - alpha / 2))
    centre = min(abs(delta) / deviation * math.sqrt(n), _CENTRE_MAX)
    missed = float(special.nctdtr(n - fitted, centre, critical))
    return 1 - missed if math.isfinite(missed) else 1.0


def blocks_needed(contrast: Contrast, alpha: float) -> MoreBlocks | None:
    """How many more blocks would decide `contrast` at level `alpha` with 80 % power, over all
    effects that its blocks leave open. None if it is unknown (bounds; samples that nothing pairs).

    The number follows from the effect in standard deviations. That has an exact interval: with t
    the statistic of n blocks, the non-centralities at which t is a quantile of 97.5 and 2.5 %, over
    sqrt(n) (Steiger and Fouladi 1997, "Noncentrality interval estimation and the evaluation of
    statistical models"). Taking what was seen for what is true instead would promise a decision if
    there is no effect at all.
    """
    if isinstance(contrast, Median):
        soonest = _sign_blocks(contrast, alpha)
        return MoreBlocks(soonest, None) if soonest else MoreBlocks(None, None)
    if isinstance(contrast, AnyCount) and contrast.exists:
        return None
    if isinstance(contrast, Counted | AnyCount | TrialShare):
        return MoreBlocks(contrast.blocks_needed(alpha), None)
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    found, null = _scale(inner)
    if found is None:
        return None
    n, fitted = inner.n, inner.n - found.freedom
    if isinstance(contrast, Equivalence):
        low, high = contrast.ends
        if not isinstance(inner, Mean):
            low, high = math.log(low), math.log(high)
        if isinstance(inner, SkewedMean):
            low, high = (end - math.log(inner.threshold) + null for end in (low, high))
        return _until_equal(found, n, low, high, alpha)
    ends = effects(found, n, null)
    least = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    level = _shared(inner, alpha)

    def until(effect: float) -> int | None:
        return _first(n, lambda blocks: power(effect, 1.0, blocks, level, fitted))

    return MoreBlocks(until(max(map(abs, ends))), until(least))


def effects(found: Fit, n: int, null: float) -> tuple[float, float]:
    """The 95 % interval of (mean - `null`) in standard deviations of one of n blocks."""
    away, root = found.mean - null, math.sqrt(n)
    if found.error == 0.0 or abs(away) / found.error > _CENTRE_MAX:
        sign = math.copysign(1.0, away) if away else 0.0
        return sign * _CENTRE_MAX / root, sign * _CENTRE_MAX / root
    t = away / found.error
    shares = 0.5 + CONFIDENCE / 2, 0.5 - CONFIDENCE / 2
    low, high = (_centrality(found.freedom, abs(t), share) / root for share in shares)
    return (low, high) if t >= 0 else (-high, -low)


def _centrality(freedom: int, t: float, share: float) -> float:
    """The non-centrality at which `t` >= 0 is the quantile `share`."""

    def short(centre: float) -> float:
        return _chance_below(freedom, centre, t) - share

    width = 1.0
    while short(t - width) < 0 and width < 2 * _CENTRE_MAX:
        width *= 2
    low = t - width
    width = 1.0
    while short(t + width) > 0 and width < 2 * _CENTRE_MAX:
        width *= 2
    return float(optimize.brentq(short, low, t + width, xtol=1e-6))


def _chance_below(freedom: int, centre: float, t: float) -> float:
    """P(T <= t) of a t with a non-centrality."""
    # With a negative centre by symmetry: P(T <= t; -c) = 1 - P(T <= -t; c).
    below = float(
        special.nctdtr(freedom, centre, t)
        if centre >= 0
        else 1 - special.nctdtr(freedom, -centre, -t)
    )
    if math.isfinite(below):
        return below
    # SciPy's series gives up far out: the mean of P(Z <= t S - c) over the quantiles of S instead.
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    scale = np.sqrt(special.chdtri(freedom, shares) / freedom)
    return float(np.mean(special.ndtr(t * scale - centre)))


def _until_equal(found: Fit, n: int, low: float, high: float, alpha: float) -> MoreBlocks:
    """The same of equality between two ends: over means and deviations that fit (each 95 %)."""
    half = float(special.stdtrit(found.freedom, 0.5 + CONFIDENCE / 2)) * found.error
    deviation, fitted = found.error * math.sqrt(n), n - found.freedom
    each = []
    for share in (0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2):
        widened = math.sqrt(found.freedom / float(special.chdtri(found.freedom, share)))
        chance_of = functools.partial(
            power, deviation=deviation * widened, alpha=alpha, fitted=fitted
        )
        each += [
            _first(n, functools.partial(_equal_power, chance_of, at, low, high))
            for at in np.linspace(found.mean - half, found.mean + half, _MEANS)
        ]
    known = [one for one in each if one is not None]
    return MoreBlocks(min(known, default=None), None if len(known) < len(each) else max(known))


def _equal_power(
    chance_of: Callable[..., float], mean: float, low: float, high: float, n: int
) -> float:
    """Chance that n blocks show on which side of each end a mean lies."""
    if low < mean < high:
        return chance_of(mean - low, n=n) + chance_of(high - mean, n=n) - 1
    return chance_of(low - mean if mean <= low else mean - high, n=n)


def _first(n: int, chance: Callable[[int], float]) -> int | None:
    """How many more than `n` blocks have a `chance` of 80 %; None if `BLOCKS_MAX` have not."""
    if chance(BLOCKS_MAX) < POWER:
        return None
    low, high = n, BLOCKS_MAX  # the chance rises with n
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high - n


def detectable(values: Sequence[float], alpha: float, chance: float = POWER) -> float:
    """Smallest distance from the threshold that n blocks with this spread find with power `chance`.

    `values`, shape (n,), n >= 2, on the scale of the test: for log ratios, exp(result) - 1 is the
    smallest detectable effect. Infinite where so few blocks find nothing at so small an `alpha`.
    """
    found = estimate.fit(values)
    return _distance(found.error, found.freedom, alpha, chance)


def reach(contrast: Contrast, alpha: float) -> float | None:
    """What blocks like these show at level `alpha` with 80 % power. Of ratios: the smallest effect,
    as a ratio minus one. Of a value: its smallest distance from the threshold, in its unit. Of an
    equality: the smallest margin, if the truth is in its middle.

    None where that is beyond all bounds or unknown (peaks' levels, bounds).
    """
    equal = isinstance(contrast, Equivalence)
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    # Both ends must be shown: each misses in half of the cases that may be missed.
    chance = (1 + POWER) / 2 if equal else POWER
    if isinstance(inner, Welch):
        away = _distance(*inner.error, alpha, chance)
    else:
        found, _ = _scale(inner)
        if found is None:
            return None
        away = _distance(found.error, found.freedom, _shared(inner, alpha), chance)
    if isinstance(inner, Mean):
        if equal:  # the nearer end is the lower one, T / (1 + margin)
            return away / (inner.threshold - away) if away < inner.threshold else None
        return away if math.isfinite(away) else None
    if away >= _LOG_MAX:
        return None
    unit = inner.threshold if isinstance(inner, GeometricMean | SkewedMean) and not equal else 1.0
    return unit * math.expm1(away)


def _distance(error: float, freedom: float, alpha: float, chance: float) -> float:
    """The distance that a t test with this standard error and these degrees of freedom finds with
    probability `chance`."""
    if error == 0.0:
        return 0.0
    critical = float(special.stdtrit(freedom, 1 - alpha / 2))

    def short(centre: float) -> float:
        missed = float(special.nctdtr(freedom, centre, critical))
        return (1 - missed if math.isfinite(missed) else 1.0) - chance

    if short(_CENTRE_MAX) < 0:
        return math.inf
    high = 1.0
    while short(high) < 0:
        high = min(2 * high, _CENTRE_MAX)
    return float(optimize.brentq(short, 0.0, high, xtol=1e-6 * high)) * error


def _shared(contrast: Contrast, alpha: float) -> float:
    """The level of one test where several share it."""
    if not isinstance(contrast, Best):
        return alpha
    ahead = contrast.inside if contrast.centre > 1 else contrast.outside
    return alpha / len(ahead)


def _scale(contrast: Contrast) -> tuple[Fit | None, float]:
    """Mean, error and threshold on the scale where the t test works."""
    if isinstance(contrast, LogRatio) and contrast.threshold > 0:
        return contrast.fit, math.log(contrast.threshold)
    if isinstance(contrast, Best):  # the pair of levels that the answer hangs on
        return estimate.fit(contrast.logs), math.log(contrast.threshold)
    if isinstance(contrast, Mean):
        return estimate.fit(contrast.values), contrast.threshold
    if isinstance(contrast, SkewedMean) and min(contrast.values) > 0 < contrast.threshold:
        found = estimate.fit(
            [math.log(one) for one in contrast.values]
        )  # ln mean = mu + sigma^2 / 2
        return found, math.log(contrast.threshold) - contrast.n * found.error**2 / 2
    return None, 0.0


def _sign_blocks(contrast: Median, alpha: float) -> int | None:
    """Blocks until unanimous signs would decide; None unless they are unanimous so far."""
    if 0 < sum(value > contrast.threshold for value in contrast.values) < contrast.n:
        return None
    if contrast.threshold in contrast.values:
        return None
    needed = math.ceil(math.log2(2 / alpha))
    return max(1, needed - contrast.n)
