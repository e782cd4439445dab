"""A cut: packets between nodes, or between nodes and clients, are lost, both ways or one way.

The relay's socket filters discard them, so that TCP at both ends does what it does over a line that
was cut: it retransmits, connects hang, and nobody hears of a close. To undo it is to pass packets
again; what was under way is retransmitted then, as far as nobody has given up.
"""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    CLIENTS,
    IN,
    NODES,
    OUT,
    Fault,
)
from dbdyno.faults.base import Conditions, Fleeting, Node, Way
from dbdyno.hosts import filters
from dbdyno.systems.base import TargetPlan


class Partition(Fleeting):
    """See the module."""

    name = "partition"
    about = "cuts nodes off from the others, from clients (`from:`), or one way (`one_way:`)"
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        return imposed(node, fault, Conditions(cut=True))

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        lifted(node, fault)
        return ""

    def check(self, fault: Fault, target: TargetPlan) -> None:
        filters.check("`partition`")


def imposed(node: Node, fault: Fault, conditions: Conditions) -> str:
    """Puts conditions on the ways between a node and those that `from` names; what was done. The
    fault's nodes are those that it strikes, by name: what is between them stays."""
    ways = _ways(node, fault) & node.paths.relayed()
    if not ways:
        raise DynoError(
            f"there is no link of `{node.name}` to {' or '.join(fault.peers)}",
            cause="all nodes are on its side",
        )
    node.paths.impose((fault, node.name), ways, conditions)
    peers = sorted({end for way in ways for end in way} - {node.name})
    return f"{node.name} {_ARROWS[fault.one_way]} {', '.join(peers)}"


def lifted(node: Node, fault: Fault) -> None:
    """Ends it."""
    node.paths.lift((fault, node.name))


_ARROWS = {"": "<>", OUT: ">", IN: "<"}


def _ways(node: Node, fault: Fault) -> set[Way]:
    rest = {name for name in node.others if name not in fault.nodes}
    peers = {CLIENTS} & set(fault.peers)
    peers |= rest if NODES in fault.peers else rest & set(fault.peers)
    out = {(node.name, peer) for peer in peers} if fault.one_way != IN else set()
    back = {(peer, node.name) for peer in peers} if fault.one_way != OUT else set()
    return out | back


FAULT = Partition()
