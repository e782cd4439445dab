"""A server that hangs: SIGSTOP to all of its processes. Connections stay open and nothing answers,
as with a frozen virtual machine; the kernel goes on to take what clients send. A server that a
failover has killed meanwhile is started again, as a fenced machine is."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import ELSEWHERE, Fleeting, Node


class Pause(Fleeting):
    """See the module."""

    name = "pause"
    about = "freezes the server by SIGSTOP; undone by SIGCONT"
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        node.server.pause()
        return ""

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        node.server.resume()
        if not node.is_fenced() or node.server.process.alive() or node.stopped():
            return ""
        if node.is_down:  # a power cut, say, which is not over
            return ELSEWHERE
        node.start_again()
        return "a failover had killed it; it was started again"


FAULT = Pause()
