"""How long the rest of a run will take, in words."""

from __future__ import annotations

import time

from dbdyno.analysis.under_way.left import left
from dbdyno.cli.running.watching.text import duration
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.types import Plan

_WORDS = {"": "about", AT_LEAST: "at least", AT_MOST: "at most"}


class Eta:
    """Of a run that this process works in."""

    def __init__(self, plan: Plan, done: set[str]) -> None:
        self._plan = plan
        self._over = set(done)
        self._ours: set[str] = set()
        self._begun = time.monotonic()

    def finish(self, trial_id: str) -> None:
        """A trial is done."""
        self._over.add(trial_id)
        self._ours.add(trial_id)

    def text(self) -> str:
        """`about 3 min left`."""
        taken_s = time.monotonic() - self._begun
        found = left(self._plan, self._over, self._ours, taken_s)
        return f"{_WORDS[found.bound]} {duration(found.length_s)} left"
