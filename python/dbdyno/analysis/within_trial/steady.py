"""Whether a trial has been steady for long enough, and is known well enough, to end.

From the end of the warm-up on (`warmup`: MSER-5) throughput must have no change point
(`changepoints`: E-divisive) of the size that matters, for so long as is asked. What its trend
(`trend`) would add to its mean in as long again, and the mean itself, must be known to within what
matters: their 95 % intervals may reach no further. Both are taken from the means of `SPANS` equal
spans, which contain whole cycles of whatever comes back often enough; the autocorrelation left
between them counts (`autocorrelation`). docs/decisions/steady-state.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.within_trial import autocorrelation, changepoints, warmup
from dbdyno.analysis.within_trial.trend import trend

P = 0.01  # of a change that is none: trials are tested many times
PIECE_S = 1.0  # changes are searched for in means of so long at least: commits come in lumps
PIECES_MAX = 150  # and of so many at most: a test costs CPU next to the load
SPANS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Steady:
    """A steady part: from `from_s` on to the end; its mean is known to within `reach`, a share."""

    from_s: float
    reach: float


def steady(
    commits: Sequence[float], step_s: float, matters: float, least_s: float
) -> Steady | None:
    """The steady part of a trial of which `commits` were counted in each `step_s` seconds of its
    measured phase; None if there is none yet that lasts `least_s` seconds. `matters` is a ratio
    minus one, above zero."""
    series = np.asarray(commits, dtype=np.float64)
    if not matters > 0 or not len(series) or not np.isfinite(series).all():
        return None
    start = warmup.end(series, step_s)
    if start is None or (len(series) - start) * step_s < least_s - step_s / 2:
        return None
    rest = series[start:]
    spans = _means(rest, max(1, len(rest) // SPANS))
    known = autocorrelation.interval(spans)
    if known is None or not known[0] > 0:
        return None
    reach = (known[2] - known[0]) / known[0]
    if not math.isfinite(reach) or reach > matters or _drifts(spans, matters):
        return None
    return None if _changes(rest, step_s, matters) else Steady(start * step_s, reach)


def _drifts(spans: Floats, matters: float) -> bool:
    """Whether as long again may move the mean by what matters: by half of what the trend rises."""
    drift = trend(spans)
    return not (abs(drift.share) + drift.reach) / 2 <= matters


def _changes(rest: Floats, step_s: float, matters: float) -> bool:
    """Whether a series changes by what matters."""
    pieces = _means(rest, max(1, round(PIECE_S / step_s), math.ceil(len(rest) / PIECES_MAX)))
    level = float(pieces.mean())
    return any(
        abs(change.after - change.before) > matters * level
        for change in changepoints.changes(pieces, changepoints.SECONDS, P)
    )


def _means(series: Floats, size: int) -> Floats:
    """Of neighbours, `size` each; what is left over is cut off at the front."""
    whole = len(series) // size
    means = series[len(series) - whole * size :].reshape(whole, size).mean(axis=1)
    return np.asarray(means, dtype=np.float64)
