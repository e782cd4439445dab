"""Cross-checks of a verdict, next to the t interval that decides: do they lead to the same one?

*Permutation.* If the truth is the threshold, each block's log ratio is as likely to lie on either
side of it: all 2^n choices of signs are equally likely, whatever the distribution's shape, as long
as it is symmetric. Where the position in the block is a covariate, the signs are those of residuals
(`exchangeable`). p is the share of choices whose sum is at least as far from zero as the one seen
(Fisher, The Design of Experiments, 1935, section 21). Exact up to n = 20, beyond by random signs,
where p = (hits + 1) / (draws + 1) (Phipson and Smyth 2010, "Permutation p-values should never be
zero"). No p is below 2 / 2^n: where that exceeds the level asked for, the test could never agree
with a decision, and is not made.

*BCa.* The bias-corrected and accelerated bootstrap interval (Efron 1987, "Better bootstrap
confidence intervals"): quantiles of the means of resamples at

    Phi(z0 + (z0 + z) / (1 - a (z0 + z))),  z the normal quantile of either end,

z0 the normal quantile of the share of resamples below the estimate, and a, which for a mean is
sum (x - m)^3 / (6 (sum (x - m)^2)^1.5). It takes skewness in. From n = 12 only: with fewer values a
bootstrap's intervals are too short.

Neither decides. docs/decisions/cross-checks.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dbdyno.analysis.claims.contrast import Contrast, Interval, LogRatio, Mean
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.message import Message
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.types import UNDECIDED, Check

PERMUTATION = "permutation"
BCA = "BCa"
EXACT_MAX = 20  # blocks: 2^19 sums, a few milliseconds
DRAWS = 50_000
BCA_MIN = 12
RESAMPLES, RESAMPLES_MAX = 10_000, 200_000
_TAIL = 50  # resamples that should lie beyond an end
_CHUNK = 1 << 20  # numbers drawn at once

Floats = NDArray[np.float64]


def checks(
    contrast: Contrast,
    level: float,
    verdict: str,
    read: Callable[[Interval], str],
    seed: int,
) -> tuple[Check, ...]:
    """What other methods say of a contrast whose interval at confidence `level` gave `verdict`.

    `read` gives the verdict of an interval. Only for ratios within blocks and, of the bootstrap,
    for means: a median, the best of several and bounds have none.
    """
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    if not isinstance(inner, LogRatio | Mean | SkewedMean):
        return ()
    if isinstance(inner, LogRatio) and inner.threshold <= 0:  # which no ratio can reach
        return ()
    made = [
        _permutation(contrast, inner, level, read, verdict, seed)
        if isinstance(inner, LogRatio)
        else None,
        _bca(inner, level, read, verdict, seed),
    ]
    return tuple(check for check in made if check is not None)


def sign_flip_p(values: tuple[float, ...], null: float, seed: int) -> float:
    """Two-sided p of "`values`, shape (n,), n >= 1, finite, lie symmetrically around `null`".

    Exact for n <= `EXACT_MAX`; else from `DRAWS` random choices of signs.
    """
    away = np.asarray(values, dtype=np.float64) - null
    scale = float(np.abs(away).max())
    if scale == 0.0:
        return 1.0
    away = away / scale
    seen = abs(float(away.sum())) - 1e-9  # sums that are equal except for rounding count
    if len(away) <= EXACT_MAX:
        sums = away[:1]  # a choice and its mirror image are equally far from zero: fix one sign
        for value in away[1:]:
            sums = np.concatenate([sums + value, sums - value])
        return float((np.abs(sums) >= seen).mean())
    rng, hits, left = np.random.default_rng(seed), 0, DRAWS
    while left:
        draws = min(left, max(1, _CHUNK // len(away)))
        count = draws * len(away)
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count)
        sums = 2.0 * (bits.reshape(draws, len(away)).astype(np.float64) @ away) - away.sum()
        hits += int((np.abs(sums) >= seen).sum())
        left -= draws
    return (hits + 1) / (DRAWS + 1)


def exchangeable(contrast: LogRatio, null: float) -> tuple[float, ...]:
    """What has either sign with the same chance if the mean log ratio is `null`, shape (n,).

    Without a covariate the distances from `null`. With one, x: the residuals r of the fit through
    zero of these distances on x, which is the model that the null leaves (Freedman and Lane 1983),
    times z, the residuals of 1 on x: sum(z r) is the estimate up to a factor.
    """
    away = np.asarray(contrast.logs) - null
    if contrast.fit.freedom == contrast.n - 1:
        return tuple(away.tolist())
    x = np.asarray(contrast.positions, dtype=np.float64)
    squares = float(x @ x)
    rest, one = away - (x @ away) / squares * x, 1 - x.sum() / squares * x
    return tuple((one * rest).tolist())


def smallest_p(n: int) -> float:
    """The smallest p that `sign_flip_p` of n values gives and that is not down to chance."""
    return 2.0 / 2**n if n <= EXACT_MAX else 20.0 / (DRAWS + 1)


def bca_interval(
    values: tuple[float, ...], confidence: float, seed: int
) -> tuple[float, float] | str:
    """The BCa interval of the mean of `values`, shape (n,), n >= 2; or why there is none."""
    sample = np.asarray(values, dtype=np.float64)
    if np.ptp(sample) == 0.0:
        return Message("bca_constant")
    tail = (1 - confidence) / 2
    resamples = max(RESAMPLES, math.ceil(_TAIL / tail)) if tail > 0 else RESAMPLES_MAX + 1
    if resamples > RESAMPLES_MAX:
        return Message("bca_resamples", most=RESAMPLES_MAX)
    centre, spread = float(sample.mean()), float(np.ptp(sample))
    means = np.sort(_resampled((sample - centre) / spread, resamples, seed))
    share = float(((means < 0).sum() + (means <= 0).sum()) / (2 * resamples))
    if not 0 < share < 1:
        return Message("bca_one_side")
    z0, skew = float(special.ndtri(share)), (sample - centre) / spread
    acceleration = float((skew**3).sum() / (6 * (skew**2).sum() ** 1.5))
    ends = []
    for z in (float(special.ndtri(tail)), -float(special.ndtri(tail))):
        below = 1 - acceleration * (z0 + z)
        at = float(special.ndtr(z0 + (z0 + z) / below)) if below > 0 else math.nan
        if not 1 / resamples <= at <= 1 - 1 / resamples:
            return Message("bca_skewed")
        ends.append(centre + spread * float(np.quantile(means, at)))
    return min(ends), max(ends)


def _resampled(sample: Floats, resamples: int, seed: int) -> Floats:
    """Means of `resamples` draws with replacement."""
    rng, n = np.random.default_rng(seed), len(sample)
    step = max(1, _CHUNK // n)
    return np.concatenate(
        [
            sample[rng.integers(0, n, size=(min(step, resamples - start), n))].mean(axis=1)
            for start in range(0, resamples, step)
        ]
    )


def _permutation(
    contrast: Contrast,
    inner: LogRatio,
    level: float,
    read: Callable[[Interval], str],
    verdict: str,
    seed: int,
) -> Check | None:
    alpha = 1 - level
    if smallest_p(inner.n) > alpha:
        return None
    ends = contrast.ends if isinstance(contrast, Equivalence) else (inner.threshold,)
    by_end = [sign_flip_p(exchangeable(inner, math.log(end)), 0.0, seed) for end in ends]
    p = max(by_end)
    if not min(ends) <= inner.centre <= max(ends):  # outside: the nearer end answers
        p = by_end[0] if inner.centre < ends[0] else by_end[-1]
    said = read((inner.centre, inner.centre)) if p <= alpha else UNDECIDED
    return Check(PERMUTATION, p=p, level=level, agrees=said == verdict)


def _bca(
    inner: LogRatio | Mean | SkewedMean,
    level: float,
    read: Callable[[Interval], str],
    verdict: str,
    seed: int,
) -> Check | None:
    if inner.n < BCA_MIN:
        return None
    values = inner.adjusted if isinstance(inner, LogRatio) else inner.values
    found = bca_interval(values, level, seed)
    if isinstance(found, str):
        return Check(BCA, level=level, note=found)
    low, high = map(math.exp, found) if isinstance(inner, LogRatio) else found
    return Check(BCA, ci_low=low, ci_high=high, level=level, agrees=read((low, high)) == verdict)
