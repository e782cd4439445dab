"""One fault on one node, and which nodes a trial's faults strike: functions of the trial's seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dbdyno.execute.timeline import TrialVoid
from dbdyno.experiment.types import ROUTER
from dbdyno.experiment.values.faults import (
    ALL_NODES,
    ANY_NODE,
    Fault,
)
from dbdyno.faults import DRAWN, FAULTS, nemesis
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Steps
from dbdyno.plan.types import Cell, TrialPlan


@dataclass
class Strike:
    """One fault on one node: what happens when, and what became of it. Seconds of the trial."""

    number: int
    fault: Fault
    node: Node
    begun_s: float | None = None  # when it was begun
    in_force_s: float | None = None  # when it was in force
    undone_s: float | None = None
    said: str = ""
    problem: str = ""  # why it could not be begun or undone
    steps: Steps = field(default_factory=Steps)  # of a drill
    is_drawn: bool = False  # whether a nemesis has drawn it
    is_over: bool = False  # whether it was carried out, or could not be

    @property
    def what(self) -> str:
        """In messages: `kill` of `db` at 2 s."""
        return f"`{self.fault.do}` of `{self.node.name}` at {self.fault.at_s:g} s"

    @property
    def is_in_force(self) -> bool:
        lasts = FAULTS[self.fault.do].lasts
        return lasts and self.in_force_s is not None and self.undone_s is None

    @property
    def end_s(self) -> float | None:
        """When it was to end; None: at the end of the trial, or it has nothing that ends."""
        fault = self.fault
        if fault.for_s is None or not FAULTS[fault.do].lasts:
            return None
        return fault.at_s + fault.for_s

    def meets(self, other: Strike) -> bool:
        """Whether both are of one node, or one of them of all nodes of the other's topology."""
        if self.node is other.node:
            return True
        spans = FAULTS[self.fault.do].spans or FAULTS[other.fault.do].spans
        return spans and self.fault.target == other.fault.target

    def must_end_by(self, at_s: float) -> bool:
        """Whether it has begun, was to end by then, and has not ended yet."""
        begun = self.begun_s is not None and not self.problem and self.undone_s is None
        return begun and self.end_s is not None and self.end_s <= at_s

    def must_end_before(self, later: Strike) -> bool:
        """The same of the moment of another one that meets it."""
        return self.must_end_by(later.fault.at_s) and self.meets(later)

    def facts(self) -> dict[str, Any]:
        """What the trial's record says of it."""
        facts = {
            "do": self.fault.do,
            "node": self.node.name,
            "at_s": self.fault.at_s,
            "begun_s": self.begun_s,
            "in_force_s": self.in_force_s,
            "undone_s": self.undone_s,
            "problem": self.problem,
            "links": self.said if self.fault.peers else "",
            "steps": [step.facts() for step in self.steps.done] or None,
            "measured": dict(self.steps.measured) or None,
        }
        return {key: value for key, value in facts.items() if value not in (None, "")}


class Planned(NamedTuple):
    """A fault of a trial. `after`: the place of the one before it that the same nemesis has drawn,
    which must have ended; None: it begins at its moment."""

    fault: Fault
    after: int | None = None
    is_drawn: bool = False


def planned(cell: Cell, trial: TrialPlan) -> Sequence[Planned]:
    """The faults of a trial. A function of the trial's seed."""
    found: list[Planned] = []
    for number, written in enumerate(cell.faults):
        if written.do != DRAWN:
            found.append(Planned(written))
            continue
        after = None
        for drawn in nemesis.drawn(written, trial.seed, number):
            found.append(Planned(drawn, after, is_drawn=True))
            after = len(found) - 1
    return found


def chosen(
    fault: Fault,
    roles: Mapping[str, str],
    draw: random.Random,
    router: str = "",
    arbitrator: str = "",
) -> list[str]:
    """The names of a fault's nodes, each once. `roles`: by name of node; `router`: the name of what
    is in front of them, `arbitrator`: of the member without data, neither of which has one.
    TrialVoid where no node has the role now."""
    found: dict[str, None] = {}
    for asked in fault.nodes:
        if asked in roles or asked == arbitrator:
            found[asked] = None
            continue
        if asked == ROUTER:
            found[router] = None
            continue
        if asked == ALL_NODES:
            found |= dict.fromkeys(sorted(roles))
            continue
        able = sorted(name for name, role in roles.items() if asked in (role, ANY_NODE))
        if not able:
            raise TrialVoid(f"fault `{fault.do}` at {fault.at_s:g} s: no node is {asked}")
        found[draw.choice(able)] = None
    return list(found)
