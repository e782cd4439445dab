"""A logical backup of MariaDB or MySQL by mariadb-dump or mysqldump: the statements that make the
load's schema again, as it was when the dump began (one transaction that sees one state).

Sources: the MariaDB knowledge base on mariadb-dump (`--single-transaction`, `--master-data=2`),
MySQL's manual on mysqldump (`--source-data=2`, `--set-gtid-purged`).
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Backup, Site, Tool, size_of
from dbdyno.systems.backups.mysqlfamily import binlog, sessions
from dbdyno.systems.backups.reader import closing

_POSITION = re.compile(
    r"^-- CHANGE (?:MASTER|REPLICATION SOURCE) TO (?:MASTER|SOURCE)_LOG_FILE='([^']+)',"
    r" (?:MASTER|SOURCE)_LOG_POS=(\d+);"
)
WITH_POSITION = {"mariadb": "--master-data=2", "mysql": "--source-data=2"}
ALWAYS = {"mariadb": (), "mysql": ("--set-gtid-purged=OFF", "--no-tablespaces")}
HEAD_LINES = 200  # in which a dump says where the log was


class Dump(Tool):
    """See the module."""

    name = "dump"
    physical = False

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.programs = (sessions.client_of(kind, "dump"), sessions.client_of(kind))

    def take(self, site: Site, logs: str) -> Backup:
        program = sessions.client(site, "dump")
        kept = binlog.BinaryLogs(site, logs) if logs else None
        file = site.new_directory("backup") / "dump.sql"
        began_s = time.time()
        with closing(kept), site.step("backup"):
            site.run(
                [
                    program,
                    f"--defaults-file={sessions.options(site)}",
                    *("--single-transaction", "--quick", "--routines", "--triggers"),
                    *ALWAYS[self.kind],
                    *([WITH_POSITION[self.kind]] if sessions.logs(site) else []),
                    f"--result-file={file}",
                    site.database,
                ]
            )
        return Backup(self, file, began_s, size_of(file), kept)

    def place(self, site: Site, backup: Backup) -> None:
        with site.step("initialise"):
            site.given.initialise()

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        self.place(site, backup)
        sessions.start_closed(site)
        with site.step("load"):
            site.server.create_schema(site.database)
            binlog.source(site, backup.path, site.database)
        if isinstance(backup.logs, binlog.BinaryLogs):
            binlog.replay(site, backup.logs, position(backup.path), until_unix_s)

    def check(self, site: Site) -> str:
        return sessions.check_tables(site)


def position(file: Path) -> binlog.Position:
    """Where the binary log was when a dump began."""
    with file.open(errors="replace") as lines:
        for _, line in zip(range(HEAD_LINES), lines, strict=False):
            if found := _POSITION.match(line):
                return binlog.Position(found[1], int(found[2]))
    raise DynoError(
        f"{file.name} does not say where the binary log was",
        cause="the server wrote none when the dump was made",
        fix="add `config: {log_bin: binlog}` to the target",
    )


TOOL = Dump("mariadb")
OF_MYSQL = Dump("mysql")
