"""A metric of one cell over blocks: its mean and Student's t interval.

Source: Student (1908), "The probable error of a mean"; any textbook. Quantiles and distribution
come from scipy.special, whose functions are the plain ones without the overhead of scipy.stats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dbdyno.spec.metrics import is_ratio_scaled

BLOCKS_MIN = 3  # fewer are never judged and get no interval
CONFIDENCE = 0.95
MAD = 1.4826  # a normal distribution's standard deviation over its median absolute deviation


def t_interval(
    values: ArrayLike, confidence: float, grain: float = 0.0
) -> tuple[float, float, float]:
    """Mean and t interval of `values`, shape (n,), n >= 2.

    m +- t(1 - (1 - confidence) / 2; n - 1) * s / sqrt(n), s with divisor n - 1. Identical values
    hide whatever is finer than the meter's `grain` (>= 0, how far off a value may be read): the
    interval reaches that far. With a grain of 0, as of counts, it is a point.
    """
    sample = _sample(values)
    mean, error = float(sample.mean()), _standard_error(sample)
    half = float(special.stdtrit(len(sample) - 1, 0.5 + confidence / 2)) * error
    half = half if error else grain
    return mean, mean - half, mean + half


def t_test(values: ArrayLike, null: float, grain: float = 0.0) -> float:
    """Two-sided p of "the mean of `values`, shape (n,), is `null`", n >= 2.

    2 * P(T >= |m - null| / (s / sqrt(n))), T with n - 1 degrees of freedom. For identical values 1
    if `null` is within a `grain` of them, else 0.
    """
    sample = _sample(values)
    away, error = abs(float(sample.mean()) - null), _standard_error(sample)
    if error == 0.0:
        return 1.0 if away <= grain else 0.0
    return float(2 * special.stdtr(len(sample) - 1, -away / error))


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
    if np.ptp(sample) == 0.0:  # rounding in the mean must not make variance out of none
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
