"""What a host can do: start processes, run programs to their end, run a user's shell command.

`Shell` is what every host can; `Host` is one that dbdyno itself runs its programs on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

PIPE, DEVNULL, MERGED = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
Process = subprocess.Popen[bytes]
Completed = subprocess.CompletedProcess[str]
TimedOut = subprocess.TimeoutExpired

Command = Sequence[str | Path]
Stream = int | IO[bytes] | None  # a constant above, a file; None: that of this process
Ids = tuple[int, int]  # user and group to run under
# What signals of a terminal reach the process with: those of a session or a process group of its
# own, or this process's. Only the first two can be killed with all that they have started.
Group = Literal["session", "group", "inherited"]


@dataclass(frozen=True)
class Held:
    """A shell command that has been started and waits for `release`. Its standard input must stay
    open: the end of it ends the command on a remote host, and keeps a waiting one from
    beginning."""

    process: Process
    script: str

    def release(self) -> None:
        """Lets it begin. Blocks until the script is written; nothing happens if it is gone."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(self.script.encode())
            self.process.stdin.flush()


class Shell(Protocol):
    """Runs commands through `/bin/sh`."""

    def hold(
        self,
        command: str,
        variables: Mapping[str, str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
    ) -> Held:
        """Starts a command in a session of its own, with both output streams in one pipe.
        `variables` go to the command. `environment` and `cwd` are those of the process on this
        machine: of the command itself only where that runs here. OSError if it does not start."""


class Host(Shell, Protocol):
    """Starts processes. Hashable: what was asked of one host is kept by host."""

    def __hash__(self) -> int: ...

    def start(
        self,
        command: Command,
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        group: Group = "session",
        pass_fds: Sequence[int] = (),
    ) -> Process:
        """Starts a program. Environment and directory are this process's where None. OSError if it
        cannot be started."""

    def run(
        self,
        command: Command,
        *,
        timeout_s: float,
        given: str = "",
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        ids: Ids | None = None,
    ) -> Completed:
        """Runs a program to its end, in a session of its own; `given` is its standard input, its
        output is text. OSError if it cannot be started, TimedOut after `timeout_s` seconds."""


def end_group(process: Process, patience_s: float) -> None:
    """Ends a process that leads a group, and all of the group: SIGTERM, then SIGKILL once it has
    ended or `patience_s` seconds have passed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimedOut):
            process.wait(patience_s)


def kill_group(group: int, ticks: int) -> None:
    """Kills a group on this machine, if its leader still lives and began at `ticks`."""
    if group > 1 and began_ticks(group) == ticks:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def began_ticks(pid: int) -> int:
    """When a process began, in clock ticks since boot; 0 if it is gone. proc(5), field 22."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0
