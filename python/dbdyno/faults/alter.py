"""A table is changed under load by a program that copies it, instead of by one ALTER TABLE.

The program reaches the server as an operator's would: it is a process of its own, started without a
shell, and finds its login in a private file.
"""

from __future__ import annotations

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node
from dbdyno.faults.drills.base import Steps
from dbdyno.systems.backups.base import Site
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.mysql import online_change


class Alter(Fleeting):
    """See the module."""

    name = "alter"
    about = (
        "has a program change a table under load (`tool: pt-online-schema-change`), and waits for"
        " its end; needs that program"
    )
    exclusive = False  # the server may be killed while it runs

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        site = Site(node.server, node.database, Steps(), node.check)
        return online_change.alter(site, fault.tool, fault.table, fault.sql)

    def check(self, fault: Fault, target: TargetPlan) -> None:
        online_change.check(fault.tool)


FAULT = Alter()
