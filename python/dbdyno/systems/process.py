"""Our side of the guardian: a process that is started, watched and stopped through one.

See `guardian.py` for the protocol. The pipe to the guardian is held by this object alone; it is not
inherited by other children, so that our end, however it comes, is end of file for the guardian.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems import guardian
from dbdyno.systems.account import Account

START_TIMEOUT_S = 20.0
# The guardian, after the server's own patience: waiting for orphans and removing directories.
CLEAN_TIMEOUT_S = guardian.ORPHAN_TIMEOUT_S + 60.0


class Guarded:
    """A process under a guardian, or (without a command) a directory under a guardian."""

    def __init__(
        self,
        command: Sequence[str | Path] = (),
        *,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        cpus: Sequence[int] = (),
        stop_signal: int = signal.SIGTERM,
        directories: Sequence[Path] = (),
        directory: Path | None = None,
        postmaster_pid: Path | None = None,
    ) -> None:
        """Starts it. `directories` are removed at its end, `directory` only if dyno dies."""
        job: dict[str, Any] = {
            "command": [str(word) for word in command],
            "environment": dict(environment or {}),
            "log": str(log or ""),
            "uid": account.uid if account and account.switch else None,
            "gid": account.gid if account and account.switch else None,
            "cpus": list(cpus),
            "stop_signal": int(stop_signal),
            "directories": [str(path) for path in directories],
            "directory": str(directory or ""),
            "postmaster_pid": str(postmaster_pid or ""),
        }
        self._stop_signal = int(stop_signal)
        self._directories = tuple(directories)
        self._lock = threading.Lock()
        self._exit: dict[str, Any] | None = None
        self._buffer = b""
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        self._send(job)
        first = self._receive(START_TIMEOUT_S, until="pid")
        if first is None or "pid" not in first:
            self._guardian.kill()
            raise DynoError(
                "the guardian process did not start",
                cause=str(first.get("error")) if first else "the machine is very busy",
                fix="try again; if it stays, run dyno under `strace -f` and report it",
            )
        self.pid: int = first["pid"]
        # Signals through a pidfd cannot hit another process that got the same number later.
        self._pidfd: int | None = None
        if self.pid:
            try:
                self._pidfd = os.pidfd_open(self.pid)
            except ProcessLookupError:
                self._exit = self._receive(START_TIMEOUT_S, until="exited") or {"exited": None}

    @property
    def guardian_pid(self) -> int:
        """Process id of the guardian (tests kill it)."""
        return self._guardian.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        if self._exit is not None or self._pidfd is None:
            return self._pidfd is None and self.pid == 0 and self._guardian.poll() is None
        return not select.select([self._pidfd], [], [], 0)[0]

    def status(self) -> int | None:
        """Exit status of a process that ended by itself (negative: by that signal), if known."""
        if self._exit is None and not self.alive():
            self._exit = self._receive(CLEAN_TIMEOUT_S, until="exited")
        return self._exit.get("exited") if self._exit else None

    def stop(self, timeout_s: float) -> bool:
        """Stops it and waits until everything is cleaned up. True if it had to be killed."""
        with self._lock:
            if self._guardian.stdin is None or self._guardian.stdin.closed:
                return False
            self._send({"do": "stop", "timeout_s": timeout_s})
            if self._exit is None:
                self._exit = self._receive(timeout_s + CLEAN_TIMEOUT_S, until="exited")
            killed = bool(self._exit and self._exit.get("killed"))
            if self._exit is None:  # the guardian was killed: do its work
                killed = self._stop_alone(timeout_s)
            self._close()
            return killed

    def _stop_alone(self, timeout_s: float) -> bool:
        killed = False
        for number in (self._stop_signal, signal.SIGKILL) if self._pidfd is not None else ():
            assert self._pidfd is not None
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                break
            killed = number == signal.SIGKILL
            if select.select([self._pidfd], [], [], timeout_s)[0]:
                break
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)
        return killed

    def _close(self) -> None:
        for stream in (self._guardian.stdin, self._guardian.stdout):
            if stream is not None:
                # A guardian that is gone cannot take what is buffered.
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._guardian.wait(CLEAN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._guardian.kill()
            self._guardian.wait()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self._exit = self._exit or {"exited": None}

    def _send(self, message: dict[str, Any]) -> None:
        assert self._guardian.stdin is not None
        try:
            self._guardian.stdin.write((json.dumps(message) + "\n").encode())
            self._guardian.stdin.flush()
        except OSError:  # it is gone: whoever waits for its answer sees end of file
            pass

    def _receive(self, timeout_s: float, *, until: str) -> dict[str, Any] | None:
        """The next message that has that key (or "error"); None at end of file or timeout."""
        assert self._guardian.stdout is not None
        descriptor = self._guardian.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                message: dict[str, Any] = json.loads(line)
                if until in message or "error" in message:
                    return message
                continue
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
                return None
            data = os.read(descriptor, 65536)
            if not data:
                return None
            self._buffer += data
