"""The end of a pause that was begun without an end of its own."""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node


class Resume(Fleeting):
    """See the module."""

    name = "resume"
    about = "ends a `pause`"
    heals: tuple[str, ...] = ("pause",)

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        node.server.resume()
        return ""


FAULT = Resume()
