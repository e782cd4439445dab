"""Signals to a server as a whole: its main process and all that it has started.

PostgreSQL's sessions are processes, each in a session and process group of its own, so that a group
is not the server. A process that is stopped neither forks nor reaps, so that a list of its children
stays true: the tree is stopped from its root downwards, and only then killed (signal(7), proc(5)).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from dbdyno.systems.process.guardian import children_of

STOP_TIMEOUT_S = 0.2  # a process that waits for its disk stops when that has answered
STOPPED, GONE = "Tt", "ZX"


def kill(pid: int, pidfd: int) -> None:
    """SIGKILL to the process behind `pidfd`, whose number is `pid`, and to its descendants."""
    others = list(_stopped(pid, pidfd))
    for other in reversed(others):
        _send(other, signal.SIGKILL)
    _send_root(pidfd, signal.SIGKILL)


def pause(pid: int, pidfd: int) -> None:
    """SIGSTOP to all of them."""
    for _ in _stopped(pid, pidfd):
        pass


def resume(pid: int, pidfd: int) -> None:
    """SIGCONT to all of them, the root last: until then it cannot reap the others."""
    for other in below(pid):
        _send(other, signal.SIGCONT)
    _send_root(pidfd, signal.SIGCONT)


def _stopped(pid: int, pidfd: int) -> Iterator[int]:
    """Stops the whole tree; its members, each after its parent, without the root."""
    _send_root(pidfd, signal.SIGSTOP)
    yield from _stopped_below(pid)


def _stopped_below(pid: int) -> Iterator[int]:
    _await_stop(pid)
    for child in children_of(pid):
        _send(child, signal.SIGSTOP)
        yield child
        yield from _stopped_below(child)


def below(pid: int) -> Iterator[int]:
    """Its descendants, each after its parent."""
    for child in children_of(pid):
        yield child
        yield from below(child)


def _await_stop(pid: int) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while state(pid) not in STOPPED + GONE and time.monotonic() < deadline:
        time.sleep(0.0005)


def state(pid: int) -> str:
    """The state of a process by its letter in proc(5); `X` if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _send_root(pidfd: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)
