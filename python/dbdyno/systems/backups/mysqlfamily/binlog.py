"""Binary logs from a backup on: where they are kept, and how they are replayed.

Sources: the MariaDB knowledge base on mariadb-binlog (`--read-from-remote-server --raw
--stop-never`, `--start-position`, `--stop-datetime`) and "Point-in-Time Recovery", MySQL's
manual on mysqlbinlog. Times in a binary log are whole seconds, so that a replay to a moment ends up
to a second before it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import STREAMED, Site, broken_chain, gap
from dbdyno.systems.backups.mysqlfamily import sessions
from dbdyno.systems.backups.reader import LogReader

READER_ID = 4_294_967_000  # of the program that reads logs, next to servers' own small numbers
READER_LOG = "binlog-reader.log"
STATUS = {"mariadb": "SHOW MASTER STATUS", "mysql": "SHOW BINARY LOG STATUS"}
ID_OPTION = {"mariadb": "--stop-never-slave-server-id", "mysql": "--connection-server-id"}


class Position(NamedTuple):
    """A place in the binary logs."""

    file: str
    offset: int


def need(site: Site) -> None:
    """DynoError unless the server writes a binary log."""
    if not sessions.logs(site):
        raise DynoError(
            "the server writes no binary log, so that nothing can be replayed after the backup",
            cause="`log_bin` is off",
            fix="add `config: {log_bin: binlog}` to the target, or write `logs: none`",
        )


class BinaryLogs:
    """Those of one server, from the file on that was its last when this began."""

    def __init__(self, site: Site, how: str) -> None:
        need(site)
        [[file, *_]] = site.server.rows(STATUS[site.server.kind])
        self.first = str(file)
        self.path = site.new_directory("binlogs")
        self._site = site
        self._reader: LogReader | None = None
        [[base]] = site.server.rows("SELECT @@GLOBAL.log_bin_basename")
        self._base = Path(str(base))
        if how == STREAMED:
            self._read()

    def _read(self) -> None:
        """Starts the program that copies each event when it is written."""
        site = self._site
        command: list[str | Path] = [
            sessions.client(site, "binlog"),
            f"--defaults-file={sessions.options(site, 'binlog-reader.cnf')}",
            *("--read-from-remote-server", "--raw", "--stop-never"),
            # A server ends the session of a reader when another one comes with the same number.
            f"{ID_OPTION[site.server.kind]}={READER_ID + int(self.path.name.rpartition('-')[2])}",
            f"--result-file={self.path}/",
            self.first,
        ]
        self._reader = LogReader(
            site, command, READER_LOG, lambda: (self.path / self.first).exists()
        )

    def must_run(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.must_run()

    def collect(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.finish()
            self._reader = None
            return
        for file in sorted(self._base.parent.glob(f"{self._base.name}.[0-9]*")):
            if number(file.name) >= number(self.first):
                file.rename(self.path / file.name)

    def close(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.stop()
            self._reader = None

    def from_position(self, position: Position) -> list[Path]:
        """The files from that of a position on. DynoError if one is missing."""
        files = {number(file.name): file for file in self.path.glob("*.[0-9]*")}
        first = number(position.file)
        stem = position.file.rpartition(".")[0]
        if missing := gap(first, list(files), lambda each: f"{stem}.{each:06}"):
            raise broken_chain(missing)
        return [files[each] for each in sorted(files) if each >= first]


def number(name: str) -> int:
    """Of a file: 7 of `binlog.000007`."""
    found = re.search(r"\.(\d+)$", name)
    assert found, name
    return int(found[1])


def replay(site: Site, logs: BinaryLogs, since: Position, until_unix_s: float | None) -> None:
    """Has the server execute what came after a position. It is not logged again."""
    with site.step("replay"):
        files = logs.from_position(since)
        text = site.directory / "replay.sql"
        command: list[str | Path] = [
            sessions.client(site, "binlog"),
            *("--no-defaults", "--disable-log-bin", f"--start-position={since.offset}"),
            f"--result-file={text}",
        ]
        if until_unix_s is not None:
            command.append(f"--stop-datetime={_whole_seconds(until_unix_s)}")
        site.run([*command, *files])
        source(site, text)
        text.unlink()


def source(site: Site, file: Path, database: str = "") -> None:
    """Has the server execute a file, without logging it."""
    client = sessions.client(site)
    command: list[str | Path] = [
        *("/bin/sh", "-c", 'exec "$@" < "$0"', file, client),
        f"--defaults-file={sessions.options(site)}",
        *("--binary-mode", "--default-character-set=utf8mb4", "--max-allowed-packet=1G"),
        "--init-command=SET SESSION sql_log_bin = 0",
        *([database] if database else []),
    ]
    site.run(command)


def _whole_seconds(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(int(unix_s), UTC):%Y-%m-%d %H:%M:%S}"
