"""The other program: giving `dyno-engine` a plan, hearing its events.

One process a job. The plan goes in on standard input (it may carry passwords, so never through a
file or argv); events come back on standard output, one JSON object a line.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.execute.engine.watchdog import Watchdog
from dbdyno.hosts.base import PIPE, Host, Process, TimedOut
from dbdyno.installed import find as find

Event = dict[str, Any]

KILL_AFTER_S = 20.0  # an engine that has to stop drains for at most 10 s


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    end: Event | None  # the `end` or `loaded` event
    failed: Event | None  # the `failed` event
    returncode: int
    stderr_tail: str
    spoilt: str = ""  # why what it measured counts for nothing: it was stopped, or fell silent

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it early."""
        return bool(self.end and self.end.get("interrupted"))


class Job:
    """One run of the engine. `run()` blocks; `stop()` may be called from a signal handler."""

    def __init__(
        self, host: Host, engine: Path, plan: Mapping[str, Any], events_path: Path
    ) -> None:
        self._host = host
        self._engine = engine
        self._plan = plan
        self._events_path = events_path
        self._process: Process | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """Of the engine, while it runs."""
        return self._process.pid if self._process else None

    def run(self, on_event: Callable[[Event], None]) -> Outcome:
        """Starts the engine, keeps every event on disk, passes each on, waits for its end."""
        end: Event | None = None
        failed: Event | None = None
        stderr_path = self._events_path.with_name("engine.log")
        with (
            diskfiles.opened(self._events_path, "wb") as kept,
            diskfiles.opened(stderr_path, "wb") as stderr,
        ):
            # In a session of its own: dbdyno passes Ctrl-C on.
            self._process = process = self._host.start(
                [self._engine, "run"], stdin=PIPE, stdout=PIPE, stderr=stderr
            )
            watchdog = Watchdog(process, self._plan)
            try:
                if self._stopping:  # asked while the process was being made
                    process.kill()
                self._send_plan(process)
                for line in watchdog.lines():
                    kept.write(line)
                    kept.flush()
                    event = _parse(line)
                    if event is None:
                        continue
                    kind = event.get("event")
                    if kind in ("end", "loaded"):
                        end = event
                    elif kind == "failed":
                        failed = event
                    on_event(event)
                returncode = self._wait(process)
                os.fsync(kept.fileno())
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                if process.stdout:
                    process.stdout.close()
        tail = _tail(stderr_path)
        if not tail:
            stderr_path.unlink(missing_ok=True)
        return Outcome(end, failed, returncode, tail, watchdog.reason)

    def _send_plan(self, process: Process) -> None:
        assert process.stdin is not None
        # A broken pipe means that the engine died at once: its exit and stderr say why.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(self._plan).encode())
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()

    def _wait(self, process: Process) -> int:
        try:
            return process.wait(timeout=KILL_AFTER_S)
        except TimedOut:
            process.kill()
            return process.wait()

    def stop(self) -> None:
        """Asks the engine to end now, with what it has; a second call kills it."""
        process = self._process
        if process is None or process.poll() is not None:
            self._stopping = True
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL if self._stopping else signal.SIGINT)
        self._stopping = True

    def enough(self) -> None:
        """Tells the engine that enough has been measured: it ends with the interval, in order."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGUSR1)


def _tail(path: Path) -> str:
    """The end of the engine's standard error."""
    with diskfiles.opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8000))
        text: str = file.read(8000).decode("utf-8", "replace")
    return text[-2000:].strip()


def _parse(line: bytes) -> Event | None:
    """An event, or None for a line that a dying engine left half-written."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def error_of(outcome: Outcome, what: str) -> DynoError:
    """The engine's failure as an error for people."""
    if outcome.spoilt:
        return DynoError(
            f"{what}: {outcome.spoilt}",
            cause="a debugger, a shell, a frozen container, or an engine that hangs",
            fix="let it run undisturbed; if nothing interfered, report it with its directory",
        )
    if outcome.failed:
        return DynoError(f"{what}: {outcome.failed['what']}", fix=outcome.failed.get("hint", ""))
    code = outcome.returncode
    reason = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    cause = outcome.stderr_tail.splitlines()[-1] if outcome.stderr_tail else ""
    if code == -signal.SIGKILL:
        cause = cause or "somebody killed it, or the kernel did for lack of memory: see `dmesg`"
    return DynoError(
        f"{what}: dyno-engine {reason} without saying why",
        cause=cause,
        fix="see engine.log in the trial's directory",
    )
