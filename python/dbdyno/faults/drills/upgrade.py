"""A node goes on with programs of another version, on its data: it is stopped, started with those,
its system tables are upgraded, and it catches up. One node after the other is a rolling upgrade."""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.experiment.drills import OLDER
from dbdyno.experiment.types import Target
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.experiment.values.versions import is_older
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.systems import versions
from dbdyno.systems.backups.base import Site
from dbdyno.systems.base import Binaries, TargetPlan
from dbdyno.systems.mysql.upgrade import upgrade_tables
from dbdyno.systems.process.managed import Managed


class Upgrade(Drill):
    """See the module."""

    name = "upgrade"
    about = "restarts a node with programs of another `version`, and upgrades its system tables"
    ends = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        server = node.server
        assert isinstance(server, Managed)
        binaries = _binaries(fault)
        _must_not_be_older(binaries, server.given.binaries, node.name)
        with steps("stop"):
            if not server.stop():
                raise DynoError(
                    f"`{node.name}` did not end cleanly, and is not upgraded",
                    cause="another version cannot recover what a crash leaves",
                    fix="look at its log",
                )
        node.is_down = True
        server.use(binaries)
        with steps("start"):
            server.start_again()
        node.is_down = False
        with steps("upgrade"):
            upgrade_tables(Site(server, node.database, steps, node.check))
        if node.operations is not None:
            with steps("catch_up"):
                node.operations.catch_up(node.name)
        return f"now {binaries.version}"

    def check(self, fault: Fault, target: TargetPlan) -> None:
        _must_not_be_older(_binaries(fault), versions.find(target), target.name)


def _binaries(fault: Fault) -> Binaries:
    basedir = fault.basedir or None
    return versions.find(Target(fault.target, fault.kind, basedir=basedir, version=fault.version))


def _must_not_be_older(binaries: Binaries, running: Binaries, name: str) -> None:
    if is_older(binaries.version, running.version):
        raise DynoError(
            f"`{name}` runs {running.version}, and {binaries.version} is older",
            cause=OLDER,
            fix="write a newer `version`, or compare two cells by `version`",
        )


FAULT = Upgrade()
