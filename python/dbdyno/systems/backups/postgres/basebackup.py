"""A physical backup of PostgreSQL by pg_basebackup, with the log that makes it consistent; the log
after it is replayed to its end, or to a moment.

Sources: PostgreSQL's manual on pg_basebackup, "Continuous Archiving and Point-in-Time Recovery"
and "Backup Manifest Format".
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Backup, Program, Site, Tool, size_of
from dbdyno.systems.backups.postgres import sessions, wal
from dbdyno.systems.backups.reader import closing
from dbdyno.systems.process.account import private_directory, private_file

PROGRAM = Program(("pg_basebackup",), sessions.PACKAGE)
NOT_REACHED = "recovery ended before configured recovery target was reached"


class Basebackup(Tool):
    """See the module."""

    name = "basebackup"
    kind = "postgres"
    programs = (PROGRAM,)

    def take(self, site: Site, logs: str) -> Backup:
        program = PROGRAM.found(site.server.client_places)
        kept = wal.WalLogs(site, logs) if logs else None
        path = site.new_directory("backup")
        with closing(kept), site.step("backup"):
            site.run(
                [
                    program,
                    *("-D", path, "-X", "stream", "-c", "fast", "-d", sessions.conninfo(site)),
                ]
            )
        return Backup(self, path, time.time(), size_of(path), kept)

    def place(self, site: Site, backup: Backup) -> None:
        with site.step("copy"):
            private_directory(site.data, site.account)
            copy = shutil.which("cp") or "/bin/cp"
            site.run([copy, "-a", "--reflink=auto", "--", f"{backup.path}/.", site.data])

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        self.place(site, backup)
        if not isinstance(backup.logs, wal.WalLogs):
            with site.step("start"):
                site.server.start_again(sessions.CLOSED)
            return
        with site.step("replay"):  # a part of the start
            backup.logs.must_continue(end_of(backup.path))
            private_file(site.data / "recovery.signal", "", site.account)
            settings = {
                **sessions.CLOSED,
                "hot_standby": "off",  # it answers once it has replayed everything
                "restore_command": wal.restore_command(backup.logs.path),
                **({} if until_unix_s is None else _until(until_unix_s)),
            }
            with _explained():
                site.server.start_again(settings)

    def check(self, site: Site) -> str:
        return sessions.check_tables(site)


def end_of(path: Path) -> int:
    """The place in the log at which a base backup ends, of its manifest."""
    manifest = json.loads((path / "backup_manifest").read_text())
    return wal.bytes_of(manifest["WAL-Ranges"][-1]["End-LSN"])


@contextmanager
def _explained() -> Iterator[None]:
    """While it replays: PostgreSQL ends where no commit shows that the moment was reached."""
    try:
        yield
    except DynoError as error:
        if NOT_REACHED not in str(error):
            raise
        raise DynoError(
            "the logs end before the moment of `to`",
            cause="nothing was committed between that moment and the loss of the server, so that"
            " PostgreSQL cannot tell whether logs are missing, and does not start",
            fix="write an earlier `to`, or remove it: logs are replayed to their end then",
        ) from error


def _until(unix_s: float) -> dict[str, str]:
    moment = f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S.%f}+00"
    return {"recovery_target_time": moment, "recovery_target_action": "promote"}


TOOL = Basebackup()
