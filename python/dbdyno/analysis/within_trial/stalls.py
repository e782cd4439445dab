"""The stalls of trials: one by one, and whether they come regularly.

How they are found in the ticks: `dbdyno.store.metrics.stalls`, which reduces trials to metrics,
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dbdyno.analysis.types import Stall
from dbdyno.store.metrics.stalls import of_trace
from dbdyno.store.metrics.timeseries import Trace

DISTANCES_MIN = 3  # from start to start: fewer are alike by chance
NEAR = 0.2  # of the median distance: so alike are the distances of what comes regularly
MOST = 0.8  # of them; the others may have a stall between them that was not seen


class Period(NamedTuple):
    """How regularly stalls come: seconds from start to start, from so many distances."""

    period_s: float
    distances: int


def stalls(trace: Trace) -> tuple[Stall, ...]:
    """The stalls of a trial's measured phase, in order, without causes."""
    return tuple(Stall(dip.start_s, dip.length_s, dip.depth) for dip in of_trace(trace))


def period(starts_s: Sequence[Sequence[float]]) -> Period | None:
    """The median distance between neighbouring stalls, `starts_s` for each trial in order.

    None with fewer than `DISTANCES_MIN` distances, or where fewer than `MOST` of them lie within
    `NEAR` of it. Of stalls that come at random four pass for regular once in fifty times.
    """
    distances = np.concatenate(
        [np.zeros(0), *(np.diff(np.asarray(one, dtype=np.float64)) for one in starts_s)]
    )
    if len(distances) < DISTANCES_MIN:
        return None
    middle = float(np.median(distances))
    near = np.abs(distances - middle) <= NEAR * middle
    if middle <= 0.0 or near.sum() < MOST * len(distances):
        return None
    return Period(middle, len(distances))
