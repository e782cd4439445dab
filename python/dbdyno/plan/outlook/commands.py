"""The user's commands that a plan will run, in the order in which a reader expects them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.experiment.types import Hook, MomentHook
from dbdyno.plan.types import Plan

BEFORE = ("before_run", "before_cell", "before_trial")
AFTER = ("during_trial", "after_trial", "after_run")


@dataclass(frozen=True)
class Planned:
    """A command and when it runs. `of`: the level as `factor=level`, or empty."""

    point: str
    of: str
    hook: Hook

    @property
    def when(self) -> str:
        """`before_run`, `apply of swappiness=low`, `during_trial at 30 s`."""
        at = f" at {self.at_s:g} s" if self.at_s is not None else ""
        return f"{self.point} of {self.of}" if self.of else f"{self.point}{at}"

    @property
    def at_s(self) -> float | None:
        """Its second of the measured time, if it has one."""
        return self.hook.at_s if isinstance(self.hook, MomentHook) else None


def commands(plan: Plan) -> list[Planned]:
    """All of them; of levels those that some cell has."""
    found = [Planned(point, "", hook) for point in BEFORE[:1] for hook in _at(plan, point)]
    found += _of_levels(plan)
    for point in (*BEFORE[1:], *AFTER):
        found += [Planned(point, "", hook) for hook in _at(plan, point)]
    return found


def _at(plan: Plan, point: str) -> tuple[Hook, ...]:
    hooks: tuple[Hook, ...] = getattr(plan.hooks, point)
    return hooks


def _of_levels(plan: Plan) -> Iterator[Planned]:
    for factor in plan.factors:
        for level, hooks in plan.hooks.levels.get(factor.name, {}).items():
            if level not in factor.levels:
                continue
            of = f"{factor.name}={level}"
            for point in ("apply", "wait_until", "undo"):
                yield from (Planned(point, of, hook) for hook in getattr(hooks, point))
