"""A bad line: delay, jitter, loss or little bandwidth between nodes, or between nodes and clients,
instead of what the line has otherwise."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Conditions, Fleeting, Node
from dbdyno.faults.network.partition import imposed, lifted
from dbdyno.hosts import filters
from dbdyno.systems.base import TargetPlan


class Link(Fleeting):
    """See the module."""

    name = "link"
    about = "a bad line to the others or to clients: `delay`, `jitter`, `loss`, `bytes_per_s`"
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        line = fault.line
        conditions = Conditions(line.delay_s, line.jitter_s, line.bytes_per_s, line.loss)
        return imposed(node, fault, conditions)

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        lifted(node, fault)
        return ""

    def check(self, fault: Fault, target: TargetPlan) -> None:
        if fault.line.loss:
            filters.check("`link` with `loss`")


FAULT = Link()
