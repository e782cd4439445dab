"""A node is lost with its data, and another one takes its place under its name: it gets the data of
a node that lives, on the same port and with the same password, and joins the others.

Where clients find nodes by names, its machine is lost, too: its address is silent, the new one has
another, and the record of the name is changed before its server starts, or only after that."""

from __future__ import annotations

from dbdyno.experiment.types import REPLICAS
from dbdyno.experiment.values.faults import (
    AFTER,
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.hosts import filters
from dbdyno.systems import backups
from dbdyno.systems.backups.base import lose
from dbdyno.systems.base import TargetPlan
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
            if node.names is not None:  # first: clients must not hear of the server's end
                node.names.leave(node.name)
            node.server.kill()
            node.is_down = True
            lose(node.server.directory / "data")
        if fault.record != AFTER:
            _register(node, steps)
        said = node.operations.replace(node.name, steps, node.check)
        node.is_down = False
        if fault.record == AFTER:
            _register(node, steps)
        return said

    def check(self, fault: Fault, target: TargetPlan) -> None:
        if target.topology is not None and target.topology.kind == REPLICAS:
            backups.check(target)
        if target.topology is not None and target.topology.dns is not None:
            filters.check("`replace` of a machine with a name")


def _register(node: Node, steps: Steps) -> None:
    if node.names is not None:
        with steps("register"):
            node.names.register(node.name)


FAULT = Replace()
