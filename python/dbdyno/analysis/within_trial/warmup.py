"""Where a series has warmed up.

Where: MSER, the marginal standard error rule of K. P. White, *An effective truncation heuristic for
bias reduction in simulation output*, Simulation 69(6), 1997, on means of five neighbours (MSER-5:
White, Cobb and Spratt, 2000): cut off so many values that the rest knows its own mean best. It
needs no model of the warm-up and does well in comparisons. But it always cuts something off, from
noise too; and few remaining values always seem exact, so that only the first half is offered to it.

Whether: what it would cut off must differ from the rest, beyond what neighbours that resemble each
other do by chance (`autocorrelation`), and by enough to matter. Otherwise the series was warm from
the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.within_trial.autocorrelation import effective, scaled, standard_error
from dbdyno.analysis.within_trial.trend import trend

BATCH = 5  # values, if there are enough of them
BATCHES_MIN = 20  # else batches get shorter; fewer values than that say nothing
BATCH_S = 0.5  # of finer ones: commits of 100 ms come in lumps
BATCHES_MAX = 2000
P = 0.01
MATTERS = 0.02  # of the warm mean: less is not worth cutting off
DRIFTS = 0.05  # of the mean, over what is left: more is no steady state

Floats = NDArray[np.float64]


def end(values: Sequence[float] | Floats, step_s: float = 1.0) -> int | None:
    """Index of the first warm value; 0 if it was warm from the start, as also if there are too few
    values to say otherwise. None if it never was: what is left, at least half, still drifts.

    `values`: finite, one each `step_s` seconds, such as commits.
    """
    series, _ = scaled(np.asarray(values, dtype=np.float64))
    n = len(series)
    size = _batch(n, step_s)
    if n < BATCHES_MIN or np.ptp(series) == 0.0:
        return 0
    whole = n // size
    batches = series[n - whole * size :].reshape(whole, size).mean(axis=1)
    cut = int(np.argmin(_squared_errors(batches)[: whole // 2 + 1]))
    if not _differ(batches, cut, whole // 2):
        return None if _drifts(batches) else 0
    # Where noise is strong it pays to keep the tail of a warm-up: not to call it warm.
    while cut <= whole // 2 and _drifts(batches[cut:]):
        cut += max(1, whole // BATCHES_MIN)
    return n - (whole - cut) * size if cut <= whole // 2 else None


def _drifts(batches: Floats) -> bool:
    found = trend(batches)
    return found.p <= P and abs(found.share) > DRIFTS


def _batch(n: int, step_s: float) -> int:
    size = max(BATCH, math.ceil(BATCH_S / step_s)) if step_s > 0 else BATCH
    return max(1, min(size, n // BATCHES_MIN), math.ceil(n / BATCHES_MAX))


def _squared_errors(batches: Floats) -> Floats:
    """For each number of batches cut off, the squared standard error of the rest's mean, as if they
    were independent."""
    n = len(batches)
    left = np.arange(n, 0, -1.0)
    sums = np.cumsum(batches[::-1])[::-1]
    squares = np.cumsum(batches[::-1] ** 2)[::-1]
    errors = np.maximum(squares - sums**2 / left, 0.0) / left**2
    return np.asarray(errors, dtype=np.float64)


def _differ(batches: Floats, cut: int, looks: int) -> bool:
    """Whether the first `cut` batches differ from the rest by enough, in truth and in size; `looks`
    so many other cuts were tried."""
    from scipy.special import stdtr

    if cut == 0:
        return False
    cold, warm = batches[:cut], batches[cut:]
    off = abs(float(cold.mean() - warm.mean()))
    if off <= MATTERS * abs(float(warm.mean())):
        return False
    error = standard_error(warm)
    worth = effective(warm)
    if error is None or worth <= 2.0:
        return False
    # As spread as the warm ones, the cold ones would have this error.
    both = error * math.sqrt(1.0 + len(warm) / cut)
    if both == 0.0:
        return off > 0.0
    return 2.0 * float(stdtr(worth - 1.0, -off / both)) * looks <= P
