"""Whether a trial has been steady for long enough, and is known well enough, to end.

From the end of the warm-up on (`warmup`: MSER-5) throughput must have neither a change point
(`changepoints`: E-divisive) nor a trend (`trend`) of the size that matters, for at least `STEADY_S`
seconds, and the 95 % interval of its mean under autocorrelation (`autocorrelation`: effective
sample size) must reach no further than what matters. docs/decisions/steady-state.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.analysis import autocorrelation, changepoints, warmup
from dbdyno.analysis.trend import trend
from dbdyno.spec.measuring import STEADY_S

P = 0.01  # of a change or trend that is none: trials are looked at many times
PIECE_S = 1.0  # changes and trends are looked for in means of so long: commits come in lumps


@dataclass(frozen=True)
class Steady:
    """A steady part: from `from_s` on to the end; its mean is known to within `reach`, a share."""

    from_s: float
    reach: float


def steady(commits: Sequence[float], step_s: float, matters: float) -> Steady | None:
    """The steady part of a trial of which `commits` were counted in each `step_s` seconds of its
    measured phase; None if there is none yet. `matters` is a ratio minus one, above zero."""
    series = np.asarray(commits, dtype=np.float64)
    if not matters > 0 or not len(series) or not np.isfinite(series).all():
        return None
    start = warmup.end(series, step_s)
    if start is None or (len(series) - start) * step_s < STEADY_S - step_s / 2:
        return None
    rest = series[start:]
    known = autocorrelation.interval(rest)
    if known is None or not known[0] > 0:
        return None
    reach = (known[2] - known[0]) / known[0]
    if not math.isfinite(reach) or reach > matters or _moves(rest, step_s, matters):
        return None
    return Steady(start * step_s, reach)


def _moves(rest: np.ndarray, step_s: float, matters: float) -> bool:  # type: ignore[type-arg]
    """Whether a series drifts or changes by what matters."""
    size = max(1, round(PIECE_S / step_s))
    whole = len(rest) // size
    pieces = rest[len(rest) - whole * size :].reshape(whole, size).mean(axis=1)
    drift = trend(pieces)
    if drift.p <= P and abs(drift.share) > matters:
        return True
    level = float(pieces.mean())
    return any(
        abs(change.after - change.before) > matters * level
        for change in changepoints.changes(pieces, changepoints.SECONDS, P)
    )
