"""Our side of the guardian: a process that is started, watched and stopped through one.

See `guardian.py` for the protocol. Only this object has the pipe to the guardian; it is not
inherited by other children, so that our end, however it comes, is end of file for the guardian.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import DEVNULL, PIPE, Completed, Host, TimedOut
from dbdyno.systems.process import guardian, tree
from dbdyno.systems.process.account import Account
from dbdyno.systems.process.owner import Owner

START_TIMEOUT_S = 60.0  # of a guardian on a machine that is very busy
# The guardian, after the server's own patience: waiting for orphans and removing directories.
CLEAN_TIMEOUT_S = guardian.ORPHAN_TIMEOUT_S + 60.0


def is_readable(descriptor: int, timeout_s: float) -> bool:
    """Waits until a descriptor can be read, or is at its end; poll(2), since select(2) knows none
    above 1023."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(1000 * timeout_s))


class Guarded:
    """A program under a guardian, directories under a guardian, or both.

    With a command it is started at once; without one, `launch` starts it later, when what it needs
    has been written into the directories that the guardian made.
    """

    def __init__(
        self,
        command: Sequence[str | Path] = (),
        *,
        host: Host = LOCAL,
        account: Account | None = None,
        make: Sequence[Path] = (),
        make_mode: int = 0o700,
        directories: Sequence[Path] = (),
        directory: Path | None = None,
        **launch: Any,
    ) -> None:
        """`make` is made by the guardian, for the account, and removed at every end, as existing
        `directories` are; `directory` is removed only if dyno dies. `launch`: what the method of
        that name takes."""
        self._account = account
        self._made = tuple(make)
        self._directories = tuple(directories)
        self._stop_signal = int(signal.SIGTERM)
        self._lock = threading.Lock()
        self._exit: dict[str, Any] | None = None
        self._owners: list[Owner] = []
        self._buffer = b""
        self._data: guardian.Identity | None = None
        self._begun_unix_s = time.time()
        self.pid: int = 0
        # Signals through a pidfd cannot hit another process that got the same number later.
        self._pidfd: int | None = None
        # The directory in its command line is for people who read the output of `ps`.
        shown = directory or next(iter((*make, *directories)), "")
        self._guardian = host.start(
            [sys.executable, "-I", "-S", guardian.__file__, str(shown)],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd="/",
            environment={"PATH": os.defpath, "LC_ALL": "C"},
        )
        charge = {
            "make": [str(path) for path in make],
            "mode": make_mode,
            **self._owner(),
            "directories": [str(path) for path in directories],
            "directory": str(directory or ""),
        }
        try:
            self._ask(charge, "made", "the guardian process did not start")
            self._owners += [Owner(path) for path in make]
            if command:
                self.launch(command, **launch)
        except BaseException:
            self.stop(0)
            raise

    def launch(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        cpus: Sequence[int] = (),
        stop_signal: int = signal.SIGTERM,
        stop_timeout_s: float = 5.0,
        data: Path | None = None,
    ) -> None:
        """Starts the program, once. `stop_timeout_s` is the patience that it gets if dyno dies."""
        assert command
        assert not self.pid
        self._data = guardian.identity(str(data or ""))
        self._stop_signal = int(stop_signal)
        job: dict[str, Any] = {
            "command": [str(word) for word in command],
            "environment": dict(environment or {}),
            "log": str(log or ""),
            **self._owner(),
            "cpus": list(cpus),
            "stop_signal": int(stop_signal),
            "stop_timeout_s": stop_timeout_s,
            "data": str(data or ""),
        }
        self.pid = self._ask(job, "pid", f"{command[0]} was not started")["pid"]
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            self._exit = self._receive(START_TIMEOUT_S, until="exited") or {"exited": None}

    def _owner(self) -> dict[str, int | None]:
        uid, gid = (self._account and self._account.ids) or (None, None)
        return {"uid": uid, "gid": gid}

    def _ask(self, message: dict[str, Any], answer: str, failure: str) -> dict[str, Any]:
        """Sends a message and returns its answer; DynoError if there is none."""
        self._send(message)
        said = self._receive(START_TIMEOUT_S, until=answer)
        if said is None:
            raise DynoError(
                failure,
                cause="its guardian process was killed, or the machine is very busy",
                fix="try again; if it stays, run dyno under `strace -f` and report it",
            )
        if answer not in said:
            raise DynoError(
                failure,
                cause=str(said.get("error")),
                fix="look at the path in the message, and at the space on its disk (`df`)",
            )
        return said

    @property
    def guardian_pid(self) -> int:
        """Process id of the guardian (tests kill it)."""
        return self._guardian.pid

    def alive(self) -> bool:
        """Whether the process runs."""
        if self.pid == 0:
            return self._exit is None and self._guardian.poll() is None
        if self._exit is not None or self._pidfd is None:
            return False
        return not is_readable(self._pidfd, 0)

    def status(self) -> int | None:
        """Exit status of a process that ended by itself (negative: by that signal), if known."""
        if self._exit is None and not self.alive():
            self._exit = self._receive(CLEAN_TIMEOUT_S, until="exited")
        return self._exit.get("exited") if self._exit else None

    def wait(self, timeout_s: float) -> bool:
        """Whether the program ended by itself within that time."""
        if self._pidfd is not None and self._exit is None:
            return is_readable(self._pidfd, timeout_s)
        return True

    def kill(self, timeout_s: float) -> bool:
        """SIGKILL to the program and all that it has started; whether it was gone in time. Its
        guardian cleans up and keeps the directory."""
        if self._pidfd is None or not self.alive():
            return True
        tree.kill(self.pid, self._pidfd)
        return self.wait(timeout_s)

    def pause(self) -> None:
        """SIGSTOP to the program and all that it has started."""
        if self._pidfd is not None and self.alive():
            tree.pause(self.pid, self._pidfd)

    def resume(self) -> None:
        """SIGCONT to them."""
        if self._pidfd is not None and self.alive():
            tree.resume(self.pid, self._pidfd)

    def reload(self) -> None:
        """SIGHUP to the program itself, upon which many read their configuration again."""
        if self._pidfd is not None and self.alive():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGHUP)

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
            if is_readable(self._pidfd, timeout_s):
                break
        if self.pid:
            guardian.remove_shared_memory({self.pid}, self._begun_unix_s, self._data)
            guardian.remove_semaphores({self.pid}, self._begun_unix_s)
            guardian.remove_faketime({self.pid})
        for directory in (*self._made, *self._directories):
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
        except TimedOut:
            self._guardian.kill()
            self._guardian.wait()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        for owner in self._owners:
            owner.release()
        self._exit = self._exit or {"exited": None}

    def _send(self, message: dict[str, Any]) -> None:
        assert self._guardian.stdin is not None
        try:
            self._guardian.stdin.write((json.dumps(message) + "\n").encode())
            self._guardian.stdin.flush()
        except OSError:  # it is gone: a reader that waits for its answer sees end of file
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
            if left_s <= 0 or not is_readable(descriptor, left_s):
                return None
            data = os.read(descriptor, 65536)
            if not data:
                return None
            self._buffer += data


def run_guarded(
    host: Host,
    account: Account | None,
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    timeout_s: float,
    log: Path,
    data: Path | None = None,
) -> Completed:
    """Runs a set-up program to its end, under a guardian: it does not outlive us.

    Its output is in `stdout`, both streams of it; `log` holds it while it runs. DynoError if it
    takes longer than `timeout_s`. `data` is what `Guarded.launch` calls so. A Ctrl-C in the
    terminal does not reach it.
    """
    process = Guarded(
        command,
        host=host,
        account=account,
        environment=environment,
        log=log,
        stop_timeout_s=0.5,
        data=data,
    )
    try:
        in_time = process.wait(timeout_s)
        status = process.status() if in_time else None
    finally:
        process.stop(0.5)
    said = log.read_text(errors="replace") if log.exists() else ""
    log.unlink(missing_ok=True)
    if not in_time:
        raise DynoError(
            f"{command[0]} did not finish within {timeout_s:.0f} s",
            cause="a very slow or full disk",
            fix="look at the disk with `df` and `iostat`, then run again",
        )
    code = -signal.SIGKILL if status is None else status
    return Completed([str(word) for word in command], code, said, "")
