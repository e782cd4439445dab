"""A planned change of the primary: the most advanced replica takes over, and nothing that was
acknowledged is lost. Sessions are led to it by the address that they follow."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps


class Switchover(Drill):
    """See the module."""

    name = "switchover"
    about = "has a replica take over from a primary that is well; needs `failover`"
    ends = True  # PostgreSQL's old primary is started again as a standby
    spans = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        assert node.operations is not None, "checked by experiment.drills"
        return node.operations.switch_over(steps)


FAULT = Switchover()
