"""A graceful end: the server is asked to stop, and writes what it has to write."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.kill import Kill


class Stop(Kill):
    """See the module."""

    name = "stop"
    about = "asks the server to stop, and waits until it has; undone by starting it again"

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        is_clean = node.server.stop()
        node.is_down = True
        return "" if is_clean else "it did not end cleanly"


FAULT = Stop()
