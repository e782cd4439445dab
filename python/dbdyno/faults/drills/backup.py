"""A backup of a server in mid-load. Where its logs are kept, too, that begins before it, and ends
with the server or with the trial."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.systems import backups
from dbdyno.systems.backups.base import Site
from dbdyno.systems.base import TargetPlan


class TakeBackup(Drill):
    """See the module."""

    name = "backup"
    about = "backs the server up (`tool`), and keeps its logs from then on (`logs`)"
    lasts = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        site = Site(node.server, node.database, steps, node.check)
        made = backups.of(site.server.kind, fault.tool).take(site, fault.logs)
        node.backups.append(replace(made, version=site.given.binaries.version))
        steps.measured["backup_bytes"] = float(made.size_bytes)
        return f"{fault.tool}, {made.size_bytes} bytes"

    def check(self, fault: Fault, target: TargetPlan) -> None:
        backups.check(target, fault.tool)

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        for made in node.backups:
            if made.logs is not None:
                made.logs.close()
        return ""


FAULT = TakeBackup()
