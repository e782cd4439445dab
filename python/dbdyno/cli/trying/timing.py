"""How long the trials of a try may be, so that the answer comes in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan

BLOCKS = (6, 5, 4, 3)  # fewer than 3 are never judged
LEAST_S, MOST_S = 1.2, 12.0  # of load in a trial
WARMUP_SHARE, WARMUP_MOST_S = 0.25, 2.0


@dataclass(frozen=True)
class Times:
    """Of a try. `fits`: whether all of it ends within the time that was asked for, by estimate."""

    blocks: int
    warmup_s: float
    duration_s: float
    interval_s: float
    total_s: float
    fits: bool


def choose(
    plan: Plan,
    total_s: float,
    blocks: int | None,
    numbers: Sequence[int] = BLOCKS,
    pace: float = 1.0,
) -> Times:
    """The first of `numbers` of blocks that leaves the trials of `plan` long enough, or `blocks`
    where that is given. The lengths of trials in the plan are not looked at. `pace`: what loading,
    copying and starting took over what is estimated, where that is known."""
    cells = len(plan.cells)
    setup_s = pace * estimate.setup_s(plan.cells)
    between_s = pace * estimate.block_s(plan.cells, lambda cell: 0.0)
    for number in (blocks,) if blocks else numbers:
        each_s = (total_s - setup_s - number * between_s) / (number * cells)
        if each_s >= LEAST_S:
            break
    fits = each_s >= LEAST_S
    each_s = min(MOST_S, max(LEAST_S, each_s))
    warmup_s = _tenths(min(WARMUP_MOST_S, WARMUP_SHARE * each_s))
    duration_s = _tenths(each_s - warmup_s)
    return Times(
        number,
        warmup_s,
        duration_s,
        0.2 if duration_s < 5 else 1.0,
        setup_s + number * (between_s + cells * (warmup_s + duration_s)),
        fits,
    )


def _tenths(seconds: float) -> float:
    return math.floor(seconds * 10 + 1e-6) / 10
