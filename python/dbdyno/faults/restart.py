"""A graceful end and a start. A server that is down already is started."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node


class Restart(Fleeting):
    """See the module."""

    name = "restart"
    about = "stops the server gracefully and starts it; one that is down is only started"
    ends = True
    works = True
    heals: tuple[str, ...] = ("kill", "stop", "power_cut")

    def begin(self, node: Node, fault: Fault) -> str:
        said = ""
        if node.server.process.alive() and not node.server.stop():
            said = "it did not end cleanly"
        node.start_again()
        return said


FAULT = Restart()
