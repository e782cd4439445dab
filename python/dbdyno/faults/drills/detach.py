"""A replica becomes a server of its own: it has applied everything, follows nobody any more, takes
writes, and its primary has forgotten it. To undo it is the way back: its data are thrown away, and
it is made again of the primary's."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.systems import backups
from dbdyno.systems.base import TargetPlan


class Detach(Drill):
    """See the module."""

    name = "detach"
    about = "makes a replica a server of its own; undone by seeding it from the primary again"
    ends = True  # to undo it
    lasts = True
    apart = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        assert node.operations is not None, "checked by experiment.drills"
        return node.operations.detach(node.name, steps)

    def check(self, fault: Fault, target: TargetPlan) -> None:
        backups.check(target)

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        assert node.operations is not None
        return node.operations.rejoin(node.name, Steps(), node.check)


FAULT = Detach()
