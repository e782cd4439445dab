"""Trials that were not warm, or not steady. Only where most trials of a cell say the
same: single ones happen on any machine, and a false alarm costs the reader's trust."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.message import Message
from dbdyno.analysis.types import Inside
from dbdyno.plan.types import Plan

TRIALS_MIN = 2  # of one cell
MOST = 0.5  # of its trials, and more
COLD_MIN = 0.1  # of the measured time


def warnings(plan: Plan, inside: Sequence[Inside]) -> list[str]:
    """One warning for the cells that were still warming up, one for those that never settled."""
    cold, drifting = [], []
    for cell in plan.cells:
        own = [one for one in inside if one.cell == cell.index and one.usual_per_s > 0.0]
        if len(own) < TRIALS_MIN:
            continue
        where = cell.levels
        never = [one for one in own if one.warm_s >= one.measured_s]
        late = [one for one in own if COLD_MIN * one.measured_s <= one.warm_s < one.measured_s]
        if len(never) > MOST * len(own):
            drifting.append(where)
        elif len(late) > MOST * len(own):
            cold.append((where, float(np.median([one.warm_s for one in late])), late[0].measured_s))
    warnings: list[str] = []
    if cold:
        levels, warm_s, measured_s = max(cold, key=lambda one: one[1])
        times = {"warm_s": warm_s, "measured_s": measured_s}
        warnings.append(Message("still_warming", **times, levels=levels, cells=len(cold)))
    if drifting:
        warnings.append(Message("never_settled", levels=drifting[0], cells=len(drifting)))
    return warnings
