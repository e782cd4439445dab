"""Runs one command of the user's, here or by ssh: bounded in time and output, killed as a whole.

Here it is `/bin/sh -c` in a session of its own, so that everything it starts can be killed with it
and Ctrl-C does not reach it. It begins once `began` has returned: a command that no file names
could outlive a killed dyno. On a host it is the same, started by a script on ssh's standard input:
nothing depends on the login shell there, and when the connection ends so does the command.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dbdyno import hosts
from dbdyno.experiment.types import Hook
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host, Process, end_group
from dbdyno.store.hooklog import DEADLINE, FAILED, OK, STOPPED

HEAD_BYTES, TAIL_BYTES = 960 << 10, 64 << 10  # of output that is kept: 1 MiB together
TERM_S = 2.0  # between a polite signal and the other one
POLL_S = 0.05
NO_SSH = 127  # what a shell says of a program that is not there


@dataclass
class Output:
    """The first and the last of the output; what lies between is counted."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, data: bytes) -> None:
        """Takes more of it."""
        room = HEAD_BYTES - len(self.head)
        self.head += data[:room]
        self.tail += data[max(0, room) :]
        over = len(self.tail) - TAIL_BYTES
        if over > 0:
            self.dropped += over
            del self.tail[:over]

    def text(self) -> str:
        """All that was kept, with a line where something is missing."""
        gap = f"\n[{self.dropped:,} bytes omitted]\n" if self.dropped else ""
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


@dataclass(frozen=True)
class Ended:
    """How a command ended. `exit_code` is negative after a signal, None if we killed it."""

    outcome: str
    exit_code: int | None
    seconds: float
    output: str


def run(
    hook: Hook,
    variables: Mapping[str, str],
    *,
    here: Host = LOCAL,
    directory: str | None = None,
    hidden: frozenset[str] = frozenset(),
    deadline_s: float | None = None,
    stop: Callable[[], bool] = lambda: False,
    began: Callable[[int], None] = lambda pid: None,
) -> Ended:
    """Runs a hook to its end or its deadline; here it works in `directory`, or where we do.

    `variables` go into its environment, dbdyno's `hidden` ones do not. `stop` is asked now and then
    whether to kill it; `began` hears the number of its process group.
    """
    limit_s = hook.deadline_s if deadline_s is None else deadline_s
    begun = time.monotonic()
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        held = hosts.shell(hook.on, here).hold(
            hook.run, variables, environment=inherited, cwd=directory
        )
    except OSError as error:
        said = f"{error.filename or 'sh'}: {error.strerror}\n"
        return Ended(FAILED, NO_SSH, time.monotonic() - begun, said)
    process = held.process
    output = Output()
    killed = ""
    try:
        began(process.pid)
        threading.Thread(target=held.release, daemon=True).start()
        killed = _follow(process, output, begun + limit_s, stop)
    finally:
        _end(process, everything=bool(killed) or process.poll() is None)
    seconds = time.monotonic() - begun
    if killed:
        return Ended(killed, None, seconds, output.text())
    code = process.returncode
    return Ended(OK if code == 0 else FAILED, code, seconds, output.text())


def _follow(process: Process, output: Output, deadline: float, stop: Callable[[], bool]) -> str:
    """Reads until the command has ended: "". Or why it must be killed.

    A process that it left behind may keep the pipe open, so its end is not waited for."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            over = process.poll() is not None
            if selector.get_map():
                _read(process, output, selector, 0 if over else POLL_S)
            elif not over:
                time.sleep(POLL_S / 10)
            if over:
                return ""
            if time.monotonic() >= deadline:
                return DEADLINE
            if stop():
                return STOPPED


def _read(
    process: Process,
    output: Output,
    selector: selectors.BaseSelector,
    wait_s: float,
) -> None:
    """Reads the available output; of one that never stops talking, a bounded part."""
    assert process.stdout is not None
    if not selector.select(wait_s):
        return
    for _ in range(64):
        data = process.stdout.read(1 << 16)
        if data is None:
            return
        if not data:
            selector.unregister(process.stdout)
            return
        output.add(data)


def _end(process: Process, *, everything: bool) -> None:
    """Closes the pipes; with `everything`, kills the command and all that it has started."""
    if everything:
        end_group(process, TERM_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
