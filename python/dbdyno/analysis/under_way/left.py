"""How long the rest of a run will take."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan


@dataclass(frozen=True)
class Left:
    """`bound`: empty where it follows from what trials have really cost; else AT_LEAST, by the
    plan's own arithmetic, which knows no overheads, or AT_MOST, where trials may end early."""

    length_s: float
    bound: str


def left(plan: Plan, over: Collection[str], ours: Collection[str], taken_s: float) -> Left:
    """Of the trials that are not `over` (ids). `ours`: those that the process which works in the
    run has finished, in `taken_s`."""
    net_s = {trial.id: estimate.trial_s(plan.cells[trial.cell]) for trial in plan.trials}
    net_left_s = sum(length_s for trial, length_s in net_s.items() if trial not in over)
    finished_s = sum(net_s[trial] for trial in ours if trial in net_s)
    if finished_s > 0:
        return Left(net_left_s * taken_s / finished_s, "")
    cells = {trial.cell for trial in plan.trials if trial.id not in over}
    early = any(
        plan.cells[cell].until_steady or estimate.probes_max(plan.cells[cell]) > 1 for cell in cells
    )
    return Left(net_left_s, AT_MOST if early else AT_LEAST)
