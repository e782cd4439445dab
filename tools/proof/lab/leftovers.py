"""What a run may leave on this machine: processes, files, shared memory, mounts, namespaces,
control groups, rules, loop devices. Other programs may run meanwhile: only what bears a place or a
name of dbdyno's counts, or was mapped by its servers."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tools.proof import runs

PREFIX = "dyno"  # of names that dbdyno gives
WAIT_S = 60.0  # for guardians to finish
LOOK_S = 0.25
CGROUPS = Path("/sys/fs/cgroup")
NAMESPACES = Path("/run/netns")


class Watch:
    """Looks at the processes that were given `place` while it is open, for what they hold."""

    def __init__(self, place: Path) -> None:
        self._place = str(place)
        self._before: set[str] = set()
        self._memory: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._before = set(machine(self._place))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def left(self) -> list[str]:
        """What is still there once guardians had time."""
        ends = time.monotonic() + WAIT_S
        while (found := sorted(self._found())) and time.monotonic() < ends:
            time.sleep(LOOK_S)
        return found

    def _found(self) -> Iterator[str]:
        yield from (f"process {pid}: {line}" for pid, line in processes(self._place))
        for folder in (runs.SERVERS, runs.TEMPORARY):
            directory = Path(self._place) / folder
            yield from (f"file {entry}" for entry in directory.glob("*"))
        yield from self._memory & shared_memory()
        yield from set(machine(self._place)) - self._before

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            for pid, line in processes(self._place):
                if "postgres" in line:
                    self._memory |= memory_of(pid)


def processes(place: str) -> Iterator[tuple[int, str]]:
    """Live ones that have a path in `place` in their command, or work there."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            works_in = os.readlink(entry / "cwd")
        except OSError:
            continue
        if state != "Z" and (place in line or place in works_in):
            yield int(entry.name), line


def memory_of(pid: int) -> set[str]:
    """Shared memory that a process has mapped."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    files = {f"shared memory {name}" for name in re.findall(r"/dev/shm/(PostgreSQL\.\d+)", maps)}
    # "/SYSV<key> (deleted)", whose inode is the segment's id
    return files | {f"shared segment {number}" for number in re.findall(r" (\d+) +/SYSV", maps)}


def shared_memory() -> set[str]:
    """What there is of it."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    files = {f"shared memory {path.name}" for path in Path("/dev/shm").glob("PostgreSQL.*")}
    return files | {f"shared segment {row[1]}" for row in rows}


def machine(place: str) -> Iterator[str]:
    """Mounts, loop devices, namespaces, control groups and rules."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if place in line or f"/{PREFIX}-" in line:
            yield f"mount {line.split()[4]}"
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            backing = file.read_text().strip()
        except OSError:
            continue
        if place in backing:
            yield f"loop device {file.parts[3]} of {backing}"
    if NAMESPACES.is_dir():
        yield from (f"namespace {one.name}" for one in NAMESPACES.glob(f"{PREFIX}*"))
    for folder, names, _ in os.walk(CGROUPS):
        yield from (f"control group {folder}/{one}" for one in names if one.startswith(PREFIX))
    yield from _rules()


def _rules() -> Iterator[str]:
    """Tables of nftables that bear our name; none without its program, or without root."""
    try:
        done = subprocess.run(
            ["nft", "list", "tables"], capture_output=True, text=True, check=False
        )
    except OSError:
        return
    yield from (f"rules {line}" for line in done.stdout.splitlines() if f" {PREFIX}" in line)
