"""One fault on one node, and which nodes a trial's faults strike: functions of the trial's seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.execute.timeline import TrialVoid
from dbdyno.experiment.types import ANY_NODE, Fault
from dbdyno.faults import DRAWN, FAULTS, nemesis
from dbdyno.faults.base import Node
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

    @property
    def what(self) -> str:
        """In messages: `kill` of `db` at 2 s."""
        return f"`{self.fault.do}` of `{self.node.name}` at {self.fault.at_s:g} s"

    @property
    def is_in_force(self) -> bool:
        lasts = FAULTS[self.fault.do].lasts
        return lasts and self.in_force_s is not None and self.undone_s is None

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
        }
        return {key: value for key, value in facts.items() if value not in (None, "")}


def planned(cell: Cell, trial: TrialPlan) -> Iterator[Fault]:
    """The faults of a trial, those of a nemesis drawn. A function of the trial's seed."""
    for number, written in enumerate(cell.faults):
        if written.do == DRAWN:
            yield from nemesis.drawn(written, trial.seed, number)
        else:
            yield written


def chosen(fault: Fault, roles: Mapping[str, str], draw: random.Random) -> list[str]:
    """The names of a fault's nodes, each once. `roles`: by name of node. TrialVoid where no node
    has the role now."""
    found: dict[str, None] = {}
    for asked in fault.nodes:
        if asked in roles:
            found[asked] = None
            continue
        able = sorted(name for name, role in roles.items() if asked in (role, ANY_NODE))
        if not able:
            raise TrialVoid(f"fault `{fault.do}` at {fault.at_s:g} s: no node is {asked}")
        found[draw.choice(able)] = None
    return list(found)
