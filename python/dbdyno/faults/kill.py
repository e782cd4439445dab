"""A crash: SIGKILL to the server and all of its processes. Nothing is written or said any more.

The operating system lives on, so that what the server has handed to it is on disk in the end. To
undo it is to start the server again, which then recovers.
"""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node


class Kill(Fleeting):
    """See the module."""

    name = "kill"
    about = "ends the server by SIGKILL, as a crash does; undone by starting it again"
    ends = True
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        node.server.kill()
        node.is_down = True
        return ""

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        if node.server.process.alive():
            return "it runs already"
        node.start_again()
        return ""


FAULT = Kill()
