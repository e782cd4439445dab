"""A metric of one cell over blocks: its mean and Student's t interval.

Source: Student (1908), "The probable error of a mean"; any textbook. Quantiles and distribution
come from scipy.special, whose functions are the plain ones without the overhead of scipy.stats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dbdyno.experiment.claims.metrics import is_ratio_scaled

BLOCKS_MIN = 3  # fewer are never judged and get no interval
CONFIDENCE = 0.95
COVARIATE_MIN = 4  # values: fewer leave a fit with a covariate one degree of freedom or none
_DUST = 1e-20  # share of the squares that rounding leaves of a perfect fit
MAD = 1.4826  # a normal distribution's standard deviation over its median absolute deviation


@dataclass(frozen=True)
class Fit:
    """A mean with its standard error and degrees of freedom. With a covariate x: the mean where x
    is zero, and the slope on x.
    """

    mean: float
    error: float  # 0: all values agree
    freedom: int
    slope: float = 0.0


def fit(values: ArrayLike, covariate: ArrayLike = ()) -> Fit:
    """The mean of `values`, shape (n,), n >= 2; the least squares line at x = 0 if there is a
    `covariate` x, shape (n,) or empty.

    Standard error s sqrt(1/n + m^2 / S), m the mean of x, S its sum of squares about m, s^2 the sum
    of squared residuals over n - 2 (Draper and Smith, Applied Regression Analysis, chapter 1); s /
    sqrt(n) without a covariate. A covariate that is the same for all values, that fewer than
    `COVARIATE_MIN` values have, or that leaves no residual of values that differ, is not used.
    """
    sample, x = _sample(values), np.asarray(covariate, dtype=np.float64)
    n, mean = len(sample), float(sample.mean())
    plain = Fit(mean, _standard_error(sample), n - 1)
    if len(x) == 0 or n < COVARIATE_MIN or plain.error == 0.0 or np.ptp(x) == 0.0:
        return plain
    if x.shape != sample.shape:
        raise ValueError(f"a covariate of shape {x.shape} for values of shape {sample.shape}")
    centre = float(x.mean())
    away, spread = x - centre, float(((x - centre) ** 2).sum())
    slope = float(away @ sample) / spread
    left = float(((sample - mean - slope * away) ** 2).sum())
    if left <= _DUST * float(((sample - mean) ** 2).sum()):
        return plain
    error = math.sqrt(left / (n - 2) * (1 / n + centre * centre / spread))
    return Fit(mean - slope * centre, error, n - 2, slope)


def t_interval(
    values: ArrayLike, confidence: float, grain: float = 0.0, covariate: ArrayLike = ()
) -> tuple[float, float, float]:
    """Mean and t interval of `values`, shape (n,), n >= 2; of their `fit` with a covariate.

    m +- t(1 - (1 - confidence) / 2; n - 1) * s / sqrt(n), s with divisor n - 1. Identical values
    hide whatever is finer than the meter's `grain` (>= 0, how far off a value may be read): the
    interval reaches that far. With a grain of 0, as of counts, it is a point.
    """
    found = fit(values, covariate)
    half = float(special.stdtrit(found.freedom, 0.5 + confidence / 2)) * found.error
    half = half if found.error else grain
    return found.mean, found.mean - half, found.mean + half


def t_test(values: ArrayLike, null: float, grain: float = 0.0, covariate: ArrayLike = ()) -> float:
    """Two-sided p of "the mean of `values`, shape (n,), is `null`", n >= 2; of their `fit` with a
    covariate.

    2 * P(T >= |m - null| / (s / sqrt(n))), T with n - 1 degrees of freedom. For identical values 1
    if `null` is within a `grain` of them, else 0.
    """
    found = fit(values, covariate)
    away = abs(found.mean - null)
    if found.error == 0.0:
        return 1.0 if away <= grain else 0.0
    return float(2 * special.stdtr(found.freedom, -away / found.error))


def above_zero(values: Sequence[float], low: float) -> float:
    """The lower end of an interval, cut at zero where no value was negative.

    Rates, sizes and times cannot be negative, so that the part below zero holds no possible truth:
    cutting it off leaves the coverage as it is.
    """
    return max(0.0, low) if min(values) >= 0 else low


def _sample(values: ArrayLike) -> NDArray[np.float64]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < 2:
        raise ValueError(f"an interval needs at least 2 values, not shape {sample.shape}")
    if not np.isfinite(sample).all():
        raise ValueError("values must be finite")
    return sample


def _standard_error(sample: NDArray[np.float64]) -> float:
    if np.ptp(sample) == 0.0:  # rounding of the mean must not make variance out of none
        return 0.0
    return float(sample.std(ddof=1)) / math.sqrt(len(sample))


def mean(metric: str, values: Collection[float]) -> float:
    """A metric's mean over blocks, `values` of shape (n,), n >= 1: the geometric one of times,
    rates of work and costs, so that the ratio of two cells' means is the mean of their ratios; else
    the arithmetic one, and where a value is zero."""
    if is_geometric(metric, values):
        return math.exp(math.fsum(map(math.log, values)) / len(values))
    return math.fsum(values) / len(values)


def bounded_exp(value: float) -> float | None:
    """exp, with None (no bound) where a float cannot hold it."""
    try:
        return math.exp(value)
    except OverflowError:
        return None


def is_geometric(metric: str, values: Collection[float]) -> bool:
    """Whether `mean` of such values is the geometric one."""
    return is_ratio_scaled(metric) and min(values) > 0
