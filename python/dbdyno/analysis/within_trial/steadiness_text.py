"""Words for trials that were not warm, or not steady. Only where most trials of a cell say the
same: single ones happen on any machine, and a false alarm costs the reader's trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dbdyno.analysis.types import Inside
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers

TRIALS_MIN = 2  # of one cell
MOST = 0.5  # of its trials, and more
COLD_MIN = 0.1  # of the measured time


def warnings(plan: Plan, inside: Sequence[Inside]) -> list[str]:
    """One sentence for the cells that were still warming up, one for those that never settled."""
    cold, drifting = [], []
    for cell in plan.cells:
        own = [one for one in inside if one.cell == cell.index and one.usual_per_s > 0.0]
        if len(own) < TRIALS_MIN:
            continue
        where = level_text.levels(plan, cell.levels)
        never = [one for one in own if one.warm_s >= one.measured_s]
        late = [one for one in own if COLD_MIN * one.measured_s <= one.warm_s < one.measured_s]
        if len(never) > MOST * len(own):
            drifting.append(where)
        elif len(late) > MOST * len(own):
            cold.append((where, float(np.median([one.warm_s for one in late])), late[0].measured_s))
    return [*_cold(cold), *_drifting(drifting)]


def _cold(cells: Sequence[tuple[str, float, float]]) -> Iterable[str]:
    if cells:
        where, warm_s, measured_s = max(cells, key=lambda one: one[1])
        yield (
            f"still warming up for about {warm_s:.0f} of {measured_s:g} s in most trials"
            f"{_at(where, len(cells))}: a longer warmup is advised"
        )


def _drifting(cells: Sequence[str]) -> Iterable[str]:
    if cells:
        yield (
            f"throughput never settled in most trials{_at(cells[0], len(cells))}: what is measured"
            " depends on when; a longer warmup or duration is advised"
        )


def _at(where: str, cells: int) -> str:
    more = f" and {numbers.counted(cells - 1, 'more cell')}" if cells > 1 else ""
    return f" at {where}{more}" if where else ""
