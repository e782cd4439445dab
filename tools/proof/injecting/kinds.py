"""Disturbances of a running trial: what the injecting thread does at a known moment.

Each is called with the server under load and for how long (s), and returns when it is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.proof.injecting import dirty
from tools.proof.injecting.proxy import Proxy
from tools.proof.injecting.slow import can_slow, slow

PATIENCE_S = 60.0
UNSYNCED_BYTES = 400e6  # what an ordinary disk takes most of a second for
UNSYNCED_MAX_BYTES = 900e6  # at 1 GB, the largest max_binlog_size, it rotates by itself
DISK_BYTES_PER_S = 500e6  # of an ordinary disk; some machines have one that hides a rotation
HOG = Path(__file__).with_name("hog.py")


@dataclass
class Subject:
    """The server under load. `connect`: a connection of its own for SQL; None where it has none."""

    pid: int
    directory: Path
    connect: Callable[[], Any] | None = None
    proxy: Proxy | None = None

    def session(self) -> contextlib.closing[Any]:
        """A new connection, closed at the end."""
        assert self.connect is not None, "this server speaks no SQL"
        return contextlib.closing(self.connect())


def stop(on: Subject, length_s: float) -> None:
    """SIGSTOP, then SIGCONT."""
    os.kill(on.pid, signal.SIGSTOP)
    try:
        time.sleep(length_s)
    finally:
        os.kill(on.pid, signal.SIGCONT)


class DiskHog:
    """Another process that writes to the file system of the server's files, past the page cache."""

    def __init__(self, on: Subject) -> None:
        self._process = subprocess.Popen(
            [sys.executable, HOG, on.directory.parent],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # ready: what follows costs no start-up

    def __call__(self, on: Subject, length_s: float) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
            time.sleep(length_s)
        finally:
            self._process.kill()
            self._process.wait()


def table_lock(on: Subject, length_s: float) -> None:
    """LOCK TABLES ... WRITE by another session."""
    with on.session() as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES sbtest1 WRITE")
        time.sleep(length_s)
        cursor.execute("UNLOCK TABLES")


def row_locks(on: Subject, length_s: float) -> None:
    """All rows of the table locked by another session's transaction."""
    with on.session() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT MAX(pad) FROM sbtest1 FOR UPDATE")
        time.sleep(length_s)
        cursor.execute("ROLLBACK")


class Rotation:
    """The binary log is closed and a new one begun: what was written of it since the last fsync
    goes to the disk first, which takes as long as it takes. Begins when there is much of that.

    Meanwhile the server's disk is an ordinary one, if possible; else there must be more.
    """

    def __init__(self, on: Subject) -> None:
        deadline = time.monotonic() + PATIENCE_S
        enough = UNSYNCED_BYTES if can_slow() else UNSYNCED_MAX_BYTES
        with on.session() as connection, connection.cursor() as cursor:
            while time.monotonic() < deadline:
                cursor.execute("SHOW MASTER STATUS")
                if cursor.fetchone()[1] > enough:
                    return
                time.sleep(0.05)

    def __call__(self, on: Subject, length_s: float) -> None:
        with on.session() as connection, connection.cursor() as cursor, contextlib.ExitStack() as e:
            if can_slow():
                e.enter_context(slow(on.pid, on.directory, DISK_BYTES_PER_S))
            cursor.execute("FLUSH BINARY LOGS")


class WriteBack:
    """The kernel writes all dirty pages back at once. Begins when there are many."""

    def __init__(self, on: Subject) -> None:
        dirty.wait_for_enough()

    def __call__(self, on: Subject, length_s: float) -> None:
        dirty.write_back(on.directory, length_s)


class PoolCut:
    """The buffer pool is made small, for the rest of the trial."""

    def __init__(self, on: Subject, size_bytes: int = 16 << 20) -> None:
        self._size_bytes = size_bytes

    def __call__(self, on: Subject, length_s: float) -> None:
        with on.session() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL innodb_buffer_pool_size = {self._size_bytes}")


def freeze(on: Subject, length_s: float) -> None:
    """Nothing passes between generator and server."""
    assert on.proxy is not None
    on.proxy.freeze()
    try:
        time.sleep(length_s)
    finally:
        on.proxy.thaw()


def lose(on: Subject, length_s: float) -> None:
    """All packets between generator and server are lost."""
    assert on.proxy is not None
    on.proxy.lose()
    try:
        time.sleep(length_s)
    finally:
        on.proxy.restore()


Disturbance = Callable[[Subject, float], None]

# By name: made ready some time before it is called.
KINDS: Mapping[str, Callable[[Subject], Disturbance]] = {
    "stop": lambda on: stop,
    "disk_hog": DiskHog,
    "table_lock": lambda on: table_lock,
    "row_locks": lambda on: row_locks,
    "rotate": Rotation,
    "write_back": WriteBack,
    "pool_cut": PoolCut,
    "freeze": lambda on: freeze,
    "lose": lambda on: lose,
}
