"""A power cut: the server and its disk end at once, and the disk forgets what was not flushed.

The server is frozen first, so that it acknowledges nothing that the disk can no longer keep; then
the disk loses its power, and then the server is killed. To undo it is to give the disk its power
back, to mount its file system, which recovers, and to start the server, which recovers too.
"""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.kill import Kill


class PowerCut(Kill):
    """See the module."""

    name = "power_cut"
    about = (
        "ends the server and its `volume`, which loses what was not flushed; undone by starting"
        " both again; needs root"
    )

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        assert node.disk is not None, "checked by experiment.faults"
        node.server.pause()
        try:
            node.disk.cut()
        finally:  # a frozen server hinders whatever comes next
            node.server.kill()
        node.is_down = True
        node.disk.release()
        return ""


FAULT = PowerCut()
