"""How much information a series of neighbouring values has: values like the one before count less.

Effective sample size by the initial monotone sequence estimator of C. Geyer, *Practical Markov
Chain Monte Carlo*, Statistical Science 7(4), 1992, section 3.3: sums of neighbouring pairs of
autocovariances are positive and fall, so summing ends where the estimate breaks that. No length has
to be chosen, unlike with batch means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

VALUES_MIN = 4  # fewer show no autocorrelation: they count as they are
# A machine's state lasts from day to day. What is assumed of runs that are too few to show it, and
# the number of runs that this counts as.
ASSUMED, ASSUMED_RUNS = 0.6, 30
CORRELATION_MAX = 0.95

Floats = NDArray[np.float64]


def effective(values: Sequence[float] | Floats) -> float:
    """So many independent values would know the mean as well: between 1 and their number n.

    0 for none. Constant values, and fewer than `VALUES_MIN`, count n. Negative autocorrelation, by
    which n values would be worth more than n, is not taken for granted: n.
    """
    n = len(values)
    if n < VALUES_MIN:
        return float(n)
    covariances = _autocovariances(np.asarray(values, dtype=np.float64))
    if covariances[0] <= 0.0:
        return float(n)
    pairs = covariances[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    positive = pairs[: ends[0]] if len(ends) else pairs
    falling = np.minimum.accumulate(positive) if len(positive) else positive
    time = (2.0 * float(falling.sum()) - covariances[0]) / covariances[0]
    return float(min(max(n / time, 1.0), n)) if time > 0.0 else float(n)


def correlation(residuals: Sequence[float] | Floats) -> float:
    """Correlation of neighbours in a series of few values, from 0 to `CORRELATION_MAX`: what the
    residuals show, corrected for a mean that was fitted (M. Kendall, *Biometrika* 41, 1954: too
    small by (1 + 4 r) / n), together with `ASSUMED`, each by its weight."""
    series, _ = scaled(np.asarray(residuals, dtype=np.float64))
    n, squares = len(series), float(series @ series)
    if squares == 0.0:
        return 0.0
    shown = float(series[1:] @ series[:-1]) / squares
    shown += (1.0 + 4.0 * shown) / n
    r = (n * shown + ASSUMED_RUNS * ASSUMED) / (n + ASSUMED_RUNS)
    return min(max(r, 0.0), CORRELATION_MAX)


def mean_variance(n: int, r: float) -> float:
    """Variance of the mean of n values of variance 1, whose correlation is r to the power of their
    distance; n at least 1."""
    lags = np.arange(1, n)
    return float(n + 2.0 * np.sum((n - lags) * r**lags)) / (n * n)


def standard_error(values: Sequence[float] | Floats) -> float | None:
    """Standard error of the mean under autocorrelation. None where nothing is known about it: fewer
    than 2 values, or all of them together worth fewer than 2 independent ones."""
    n, worth = len(values), effective(values)
    if n < 2 or worth < 2.0:
        return None
    series, scale = scaled(np.asarray(values, dtype=np.float64))
    # A variance about a mean that is itself off by variance / worth comes out that much too small.
    variance = float(np.var(series)) * worth / (worth - 1.0)
    return scale * math.sqrt(variance / worth)


def interval(
    values: Sequence[float] | Floats, level: float = 0.95
) -> tuple[float, float, float] | None:
    """Mean, and its Student-t interval at `level` with `effective` - 1 degrees of freedom; None as
    in `standard_error`."""
    error = standard_error(values)
    if error is None:
        return None
    from scipy.special import stdtrit

    series, scale = scaled(np.asarray(values, dtype=np.float64))
    mean = float(series.mean()) * scale
    reach = float(stdtrit(effective(values) - 1.0, 0.5 + level / 2.0)) * error
    return mean, mean - reach, mean + reach


def scaled(values: Floats) -> tuple[Floats, float]:
    """Values between -1 and 1, and what they were divided by: squares of huge ones overflow."""
    scale = float(np.max(np.abs(values), initial=0.0))
    return (values / scale, scale) if scale > 0.0 else (values, 1.0)


def _autocovariances(values: Floats) -> Floats:
    """At lags 0 to n - 1, each divided by n, which keeps their sum positive; by FFT. Shape (n,)."""
    series, _ = scaled(values)
    if np.ptp(series) == 0.0:
        return np.zeros(len(series))
    centred, _ = scaled(series - series.mean())
    n = len(centred)
    size = 1 << (2 * n - 1).bit_length()  # room for all lags: nothing wraps round
    spectrum = np.fft.rfft(centred, size)
    found = np.fft.irfft(spectrum * np.conj(spectrum), size)[:n] / n
    return np.asarray(found, dtype=np.float64)
