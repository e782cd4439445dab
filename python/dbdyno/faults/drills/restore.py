"""A server is lost, and made again of its last backup: SIGKILL, the data directory is gone, the
backup is restored, logs are replayed, the tables are read, and only then clients come back, to the
same port. The time of all that is the recovery time (RTO) of the server."""

from __future__ import annotations

import time

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills.base import Drill, Steps
from dbdyno.systems.backups.base import Backup, Site, lose
from dbdyno.systems.process.managed import Managed


class Restore(Drill):
    """See the module."""

    name = "restore"
    about = "loses the server and its data directory, and makes it again of its last `backup`"
    ends = True

    def carry_out(self, node: Node, fault: Fault, steps: Steps) -> str:
        node.must_run()
        if not node.backups:
            raise DynoError(
                f"`{node.name}` has no backup in this trial",
                cause="a `restore` restores what a `backup` before it has made",
                fix="add `{at: 2s, do: backup}` before it",
            )
        # The moment is one of the trial's clock.
        until = None if fault.to_s is None else fault.to_s + time.time() - steps.now()
        backup = _last(node, until)
        site = Site(node.server, node.database, steps, node.check)
        _must_be_of(backup, site.given.binaries.version)
        _lose(node, site, backup, steps)
        backup.tool.restore(site, backup, until)
        with steps("check"):
            said = backup.tool.check(site)
        with steps("open"):
            _open(node)
        return f"{backup.tool.name} restored; {said}"


def _last(node: Node, until_unix_s: float | None) -> Backup:
    """The last backup, of those from before a moment that logs are replayed to. DynoError if none
    leads there."""
    if until_unix_s is None:
        return node.backups[-1]
    able = [each for each in node.backups if each.unix_s <= until_unix_s and each.logs is not None]
    if not able:
        raise DynoError(
            f"no backup of `{node.name}` leads to that moment",
            cause="logs are replayed from a backup on, never back: none was done by then, or it"
            " keeps no logs",
            fix="write a later `to`, or take a backup with `logs: kept` sooner",
        )
    return able[-1]


def _must_be_of(backup: Backup, version: str) -> None:
    """DynoError for files of another version of the server than the one that runs by now."""
    if backup.tool.physical and backup.version != version:
        raise DynoError(
            f"the backup is of {backup.version}, and the server was upgraded to {version} since",
            cause=f"`{backup.tool.name}` copies files, which are restored by the version that wrote"
            " them",
            fix="take another backup after the upgrade, or use `tool: dump`",
        )


def _lose(node: Node, site: Site, backup: Backup, steps: Steps) -> None:
    """The server and its data are gone; of its logs remains what lay elsewhere."""
    if backup.logs is not None:
        backup.logs.must_run()
    with steps("loss"):
        node.server.kill()
        node.is_down = True
        steps.measured["backup_age_s"] = time.time() - backup.unix_s
        if backup.logs is not None:
            backup.logs.collect()
        lose(site.data)
    # Logs go no further than the server that is lost: another restore takes another backup.
    for each in node.backups:
        if each.logs is not None:
            each.logs.close()
    node.backups[:] = [each for each in node.backups if each.logs is None]


def _open(node: Node) -> None:
    """Lets clients in: a start with the settings of before."""
    server = node.server
    assert isinstance(server, Managed)
    if not server.stop():
        raise DynoError(
            f"`{node.name}` did not end cleanly after it was restored",
            cause="it took too long to write its caches back, or it crashed",
            fix="look at its log",
        )
    server.start_again()
    node.is_down = False


FAULT = Restore()
