"""Segments of the write-ahead log from a base backup on: where they are kept.

A replication slot keeps the server from recycling them. Sources: PostgreSQL's manual on
pg_receivewal, replication slots, and names of segments ("WAL Internals").
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dbdyno.systems.backups.base import STREAMED, Site, broken_chain, gap
from dbdyno.systems.backups.postgres import sessions
from dbdyno.systems.backups.reader import LogReader

SEGMENT_BYTES = 16 << 20  # as initdb makes it
PER_LOG = (1 << 32) // SEGMENT_BYTES
READER_LOG = "wal-reader.log"
_SEGMENT = re.compile(r"[0-9A-F]{24}")
_PARTIAL = ".partial"


class WalLogs:
    """Those of one server, from the moment on when this began."""

    def __init__(self, site: Site, how: str) -> None:
        self.path = site.new_directory("wal")
        self._site = site
        self._reader: LogReader | None = None
        self._slot = "dyno_" + self.path.name.replace("-", "_")
        site.server.rows(f"SELECT pg_create_physical_replication_slot('{self._slot}', true)")
        if how == STREAMED:
            self._read()

    def _read(self) -> None:
        """Starts the program that copies the log as it is written."""
        site = self._site
        command: list[str | Path] = [
            site.program("pg_receivewal", package=sessions.PACKAGE),
            *("-D", self.path, "-S", self._slot, "--no-loop", "-d", sessions.conninfo(site)),
        ]
        self._reader = LogReader(site, command, READER_LOG, lambda: any(self.path.iterdir()))

    def must_run(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.must_run()

    def collect(self) -> None:
        """See `Logs`. What a segment holds that was not full yet counts, too."""
        if self._reader is not None:
            self._reader.finish()
            self._reader = None
            for file in self.path.glob(f"*{_PARTIAL}"):
                file.rename(file.with_suffix(""))
            return
        for file in sorted((self._site.data / "pg_wal").iterdir()):
            if _SEGMENT.fullmatch(file.name):
                shutil.move(file, self.path / file.name)

    def close(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.stop()
            self._reader = None

    def must_continue(self, lsn: int) -> None:
        """DynoError unless the segments reach from a place in the log on without a gap."""
        there = [number(file.name) for file in self.path.iterdir() if _SEGMENT.fullmatch(file.name)]
        if missing := gap(lsn // SEGMENT_BYTES, there, lambda each: f"segment {each:X}"):
            raise broken_chain(missing)


def number(segment: str) -> int:
    """Of a segment, whatever its timeline: 5 of `000000010000000000000005`."""
    return int(segment[8:16], 16) * PER_LOG + int(segment[16:24], 16)


def bytes_of(lsn: str) -> int:
    """The place in the log that `0/5000100` means."""
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def restore_command(path: Path) -> str:
    """What has a recovering server fetch a segment."""
    quoted = str(path).replace("'", "'\\''").replace("%", "%%")
    return f"cp '{quoted}/%f' '%p'"
