"""A metric of one cell over blocks: arithmetic mean and Student's t interval.

Source: Student (1908), "The probable error of a mean"; any textbook. Quantiles and distribution
come from scipy.special, whose functions are the plain ones without the overhead of scipy.stats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dbdyno.analysis.types import Estimate

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


def estimate(values: Sequence[float], blocks: Sequence[int], *, bound: str = "") -> Estimate:
    """The estimate of `values`, one a block, in block order. At least one value, all finite.

    `bound`: some of them are bounds to that side, so that the mean is one and has no interval.

    Arithmetic also for what cannot be negative: a mean of rates is the rate of the whole time, and
    on a logarithmic scale one quiet block would drag the mean down and blow the upper end up. See
    `above_zero` for the lower end.
    """
    if not values or len(values) != len(blocks):
        raise ValueError("as many values as blocks, and at least one")
    if not all(map(math.isfinite, values)):
        raise ValueError("values must be finite")
    low: float | None
    high: float | None
    if bound or len(values) < BLOCKS_MIN:
        mean, low, high = math.fsum(values) / len(values), None, None
    else:
        mean, low, high = t_interval(values, CONFIDENCE)
        low = above_zero(values, low)
    return Estimate(mean, low, high, tuple(values), tuple(blocks), bound)
