"""A physical backup of MariaDB by mariabackup: files are copied while the server writes, together
with the redo log; `--prepare` makes them one consistent state, that of the end of the copy.

Source: the MariaDB knowledge base on mariadb-backup, "Full Backup and Restore" and "Files Created
by mariadb-backup" (`xtrabackup_binlog_info`, from 11.0 on `mariadb_backup_binlog_info`).
"""

from __future__ import annotations

import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Backup, Program, Site, Tool, size_of
from dbdyno.systems.backups.mysqlfamily import binlog, sessions
from dbdyno.systems.backups.reader import closing
from dbdyno.systems.process.account import private_directory

PROGRAM = Program(("mariadb-backup", "mariabackup"), "mariadb-backup")
POSITIONS = ("xtrabackup_binlog_info", "mariadb_backup_binlog_info")


class Mariabackup(Tool):
    """See the module."""

    name = "mariabackup"
    kind = "mariadb"
    programs = (PROGRAM,)

    def take(self, site: Site, logs: str) -> Backup:
        program = _program(site)
        kept = binlog.BinaryLogs(site, logs) if logs else None
        path = site.new_directory("backup")
        with closing(kept), site.step("backup"):
            # Its file of options has those of the server: page size, places of tablespaces.
            above = f"!include {site.given.directory / 'server.cnf'}\n"
            options = sessions.options(site, "backup.cnf", above)
            site.run([program, f"--defaults-file={options}", "--backup", f"--target-dir={path}"])
        return Backup(self, path, time.time(), size_of(path), kept)

    def place(self, site: Site, backup: Backup) -> None:
        program = _program(site)
        with site.step("prepare"):
            site.run([program, "--no-defaults", "--prepare", f"--target-dir={backup.path}"])
        with site.step("copy"):
            private_directory(site.data, site.account)
            options = f"--defaults-file={site.given.directory / 'server.cnf'}"
            site.run([program, options, "--copy-back", f"--target-dir={backup.path}"])

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        self.place(site, backup)
        sessions.start_closed(site)
        if isinstance(backup.logs, binlog.BinaryLogs):
            binlog.replay(site, backup.logs, position(backup.path), until_unix_s)

    def check(self, site: Site) -> str:
        return sessions.check_tables(site)


def position(path: Path) -> binlog.Position:
    """Where the binary log was at the end of a backup."""
    file, offset, *_ = _said(path)
    return binlog.Position(Path(file).name, int(offset))


def gtid(path: Path) -> str:
    """The position of a backup as a global transaction id; empty if nothing was logged yet."""
    return "".join(_said(path)[2:])


def _said(path: Path) -> list[str]:
    for name in POSITIONS:
        if (path / name).is_file():
            return (path / name).read_text().split()
    raise DynoError(
        f"{path.name} does not say where the binary log was",
        cause="the server wrote none when the backup was taken",
        fix="add `config: {log_bin: binlog}` to the target",
    )


def _program(site: Site) -> Path:
    return PROGRAM.found(site.server.client_places)


TOOL = Mariabackup()
