"""Whether a series drifts: the slope of a straight line through it.

Least squares, with the slope's standard error widened for neighbours that resemble each other by
the effective number of the residuals (`autocorrelation`), as usual for trends in records of
temperature (B. Santer et al., *J. Geophysical Research* 105(D6), 2000, equations 1 to 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.within_trial.autocorrelation import effective, scaled

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trend:
    """A straight line's rise from the first value to the last, over the mean (0 for a mean of 0),
    the two-sided p of there being none, and how far its 95 % interval reaches to either side."""

    share: float
    p: float
    reach: float = math.inf


def trend(values: Sequence[float] | Floats) -> Trend:
    """The trend of finite values. With fewer than 4, or a mean of 0, none: p is 1."""
    series, _ = scaled(np.asarray(values, dtype=np.float64))
    n = len(series)
    none = Trend(0.0, 1.0)
    if n >= 4 and np.ptp(series) == 0.0:
        return Trend(0.0, 1.0, 0.0)
    if n < 4:
        return none
    mean = float(series.mean())
    x = np.arange(n) - (n - 1) / 2.0
    squares = float(np.dot(x, x))
    slope = float(np.dot(x, series)) / squares
    residuals = series - mean - slope * x
    worth = effective(residuals)
    if worth <= 2.0 or mean == 0.0:
        return none
    share = slope * (n - 1) / mean
    if not math.isfinite(share):
        return none
    error = math.sqrt(float(np.dot(residuals, residuals)) / (worth - 2.0) / squares)
    if error <= 1e-12 * abs(slope):
        return Trend(share, 0.0 if slope else 1.0, 0.0)
    from scipy.special import stdtr, stdtrit

    reach = float(stdtrit(worth - 2.0, 0.975)) * error * (n - 1) / abs(mean)
    return Trend(share, 2.0 * float(stdtr(worth - 2.0, -abs(slope) / error)), reach)
