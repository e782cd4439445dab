"""Segments of the write-ahead log from a base backup on: where they are kept.

A replication slot keeps the server from recycling them. Sources: PostgreSQL's manual on
pg_receivewal, replication slots, and names of segments ("WAL Internals").
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import STREAMED, Site, broken_chain, gap
from dbdyno.systems.backups.postgres import sessions
from dbdyno.systems.process.guarded import Guarded

SEGMENT_BYTES = 16 << 20  # as initdb makes it
PER_LOG = (1 << 32) // SEGMENT_BYTES
ENDS_S = 5.0
STARTS_S = 10.0
POLL_S = 0.05
READER_LOG = "wal-reader.log"
_SEGMENT = re.compile(r"[0-9A-F]{24}")
_PARTIAL = ".partial"


class WalLogs:
    """Those of one server, from the moment on when this began."""

    def __init__(self, site: Site, how: str) -> None:
        self.path = site.new_directory("wal")
        self._site = site
        self._reader: Guarded | None = None
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
        self._reader = site.begin(command, site.given.directory / READER_LOG)
        try:
            self._wait(self._reader)
        except BaseException:
            self.close()
            raise

    def _wait(self, reader: Guarded) -> None:
        """Returns once the program has begun to write."""
        deadline = time.monotonic() + STARTS_S
        while not any(self.path.iterdir()):
            self._site.check()
            if time.monotonic() > deadline or not reader.alive():
                raise DynoError(
                    f"pg_receivewal does not read the server's log: {self._said()}",
                    cause="the server refuses it, or the machine is very busy",
                    fix="see its message; or write `logs: kept`",
                )
            time.sleep(POLL_S)

    def _said(self) -> str:
        log = self._site.given.directory / READER_LOG
        text = log.read_text(errors="replace") if log.exists() else ""
        return " ".join(text.split())[-300:] or "no message"

    def must_run(self) -> None:
        """See `Logs`."""
        if self._reader is not None and not self._reader.alive():
            raise DynoError(
                f"pg_receivewal has ended: {self._said()}",
                cause="the server ended its session, or the disk is full",
                fix="see its message; or write `logs: kept`",
            )

    def collect(self) -> None:
        """See `Logs`. What a segment holds that was not full yet counts, too."""
        if self._reader is not None:
            self._reader.wait(ENDS_S)
            self.close()
            for file in self.path.glob(f"*{_PARTIAL}"):
                file.rename(file.with_suffix(""))
            return
        for file in sorted((self._site.data / "pg_wal").iterdir()):
            if _SEGMENT.fullmatch(file.name):
                shutil.move(file, self.path / file.name)

    def close(self) -> None:
        """See `Logs`."""
        if self._reader is not None:
            self._reader.stop(ENDS_S)
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
