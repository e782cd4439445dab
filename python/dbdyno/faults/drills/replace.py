"""A node is lost with its data, and another one takes its place under its name: it gets the data of
a node that lives, on the same port and with the same password, and joins the others."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.systems.backups.base import lose
from dbdyno.systems.process.managed import Managed


class Replace(Drill):
    """See the module."""

    name = "replace"
    about = "loses a node and its data directory, and seeds a new one under its name"
    ends = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        assert node.operations is not None, "checked by experiment.drills"
        assert isinstance(node.server, Managed)
        node.operations.must_be_replaceable(node.name)
        with steps("loss"):
            node.server.kill()
            node.is_down = True
            lose(node.server.directory / "data")
        said = node.operations.replace(node.name, steps, node.check)
        node.is_down = False
        return said


FAULT = Replace()
