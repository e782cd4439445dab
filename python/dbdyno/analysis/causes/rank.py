"""Suspects: what moved clearly with the throughput, strongest first.

What fell as throughput did is its consequence, not its cause, so that in stalls only what rose is
suspected. Of metrics with the same information (a counter and the same counter in bytes) the
strongest represents all.
"""

from __future__ import annotations

import numpy as np

from dbdyno.analysis.causes import names
from dbdyno.analysis.causes.evidence import STALL, Evidence, Moved
from dbdyno.analysis.types import Suspect
from dbdyno.store.metrics.timeseries import Floats, Trace

SCORE_MIN = 4.0  # spreads: less comes by chance among hundreds
FACTOR_MIN = 1.5
SUSPECTS_MAX = 5
SAME = 0.97  # correlation from which two curves say the same

# How close to a cause what a family measures is: tips ties among what is infinitely far.
_CLOSE = {"sessions": 1.3, "disk": 1.2, "pressure": 1.2, "memory": 1.1, "server": 1.1, "cpu": 1.1}


def suspects(evidence: Evidence, trace: Trace | None = None) -> tuple[Suspect, ...]:
    """At most SUSPECTS_MAX; none if nothing moved clearly. `trace`: whose curves show which of them
    carry the same information."""
    moved = [one for one in evidence.moved.values() if _clear(one, evidence.question)]
    moved.sort(key=lambda one: (-one.score * _CLOSE.get(names.family(one.metric), 1.0), one.metric))
    kept: list[Moved] = []
    for one in moved:
        if len(kept) == SUSPECTS_MAX:
            break
        if not any(_same(one, other, trace) for other in kept):
            kept.append(one)
    return tuple(Suspect(one.metric, one.most, one.otherwise, one.lag_s, one.score) for one in kept)


def _clear(one: Moved, question: str) -> bool:
    if names.is_dull(one.metric) or one.score < SCORE_MIN:
        return False
    falls = one.most <= one.otherwise
    if falls and (question == STALL or names.is_rate(one.metric)):
        return False
    if abs(one.most - one.otherwise) < names.least(one.metric):
        return False
    return falls or one.most >= FACTOR_MIN * one.otherwise


def _same(one: Moved, other: Moved, trace: Trace | None) -> bool:
    if trace is None:
        return False
    a, b = trace.samples.get(one.metric), trace.samples.get(other.metric)
    if a is None or b is None or len(a.values) < 3 or not np.array_equal(a.t_s, b.t_s):
        return False
    x, y = (_centred(one.values) for one in (a, b))
    size = float(np.sqrt((x * x).sum()) * np.sqrt((y * y).sum()))
    return size > 0.0 and abs(float((x * y).sum())) >= SAME * size


def _centred(values: Floats) -> Floats:
    """Distances from the mean, in units of the largest: no square overflows."""
    away = values - values.mean()
    largest = float(np.abs(away).max())
    return away / largest if largest > 0.0 else away
