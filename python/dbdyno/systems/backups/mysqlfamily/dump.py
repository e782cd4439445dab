"""A logical backup of MariaDB by mariadb-dump: the statements that make the load's schema again, as
it was when the dump began (one transaction that sees one state).

Source: the MariaDB knowledge base on mariadb-dump (`--single-transaction`, `--master-data=2`).
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Backup, Site, Tool, size_of
from dbdyno.systems.backups.mysqlfamily import binlog, sessions

_POSITION = re.compile(r"^-- CHANGE MASTER TO MASTER_LOG_FILE='([^']+)', MASTER_LOG_POS=(\d+);")
HEAD_LINES = 200  # in which a dump says where the log was


class Dump(Tool):
    """See the module."""

    name = "dump"
    kind = "mariadb"

    def take(self, site: Site, logs: str) -> Backup:
        program = site.program("mariadb-dump", "mysqldump", package=binlog.PACKAGE)
        kept = binlog.BinaryLogs(site, logs) if logs else None
        file = site.new_directory("backup") / "dump.sql"
        began_s = time.time()
        try:
            with site.step("backup"):
                site.run(
                    [
                        program,
                        f"--defaults-file={sessions.options(site)}",
                        *("--single-transaction", "--quick", "--routines", "--triggers"),
                        *(["--master-data=2"] if sessions.logs(site) else []),
                        f"--result-file={file}",
                        site.database,
                    ]
                )
        except BaseException:
            if kept is not None:
                kept.close()
            raise
        return Backup(self, file, began_s, size_of(file), kept)

    def place(self, site: Site, backup: Backup) -> None:
        with site.step("initialise"):
            site.given.prepare()

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


TOOL = Dump()
