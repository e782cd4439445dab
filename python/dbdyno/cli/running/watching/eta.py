"""How long the rest of a run will take."""

from __future__ import annotations

import time

from dbdyno.cli.running.watching.text import duration
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan, TrialPlan


class Eta:
    """How long the rest will take: what trials have really cost, overheads included.

    Until a trial is done it is the plan's own arithmetic, which knows no overheads: a lower bound,
    and printed as such.
    """

    def __init__(self, plan: Plan, done: set[str]) -> None:
        self._cells = plan.cells
        self._left = [trial for trial in plan.trials if trial.id not in done]
        self._begun = time.monotonic()
        self._finished_s = 0.0  # net length of the trials finished by us

    def finish(self, trial_id: str) -> None:
        """A trial is done."""
        for trial in self._left:
            if trial.id == trial_id:
                self._finished_s += self._net_s(trial)
        self._left = [trial for trial in self._left if trial.id != trial_id]

    def text(self) -> str:
        """`about 3 min left`."""
        net_left_s = sum(self._net_s(trial) for trial in self._left)
        if self._finished_s == 0:
            least = "at most" if self._open_ended() else "at least"
            return f"{least} {duration(net_left_s)} left"
        factor = (time.monotonic() - self._begun) / self._finished_s
        return f"about {duration(net_left_s * factor)} left"

    def _open_ended(self) -> bool:
        """Whether only a limit is known about some trial: it searches for a rate, or ends when it
        is steady."""
        cells = {trial.cell: self._cells[trial.cell] for trial in self._left}.values()
        return any(cell.until_steady or estimate.probes_max(cell) > 1 for cell in cells)

    def _net_s(self, trial: TrialPlan) -> float:
        return estimate.trial_s(self._cells[trial.cell])
