"""Starts one real server for a test and sees that nothing of it is left."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hurried import drop

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.process.scratch import Scratch
from needed import missing

SERVERS = ("mariadb", "postgres", "mysql")
CORE = ("mariadb", "postgres")  # where one of a family is enough
ANSWER_S = 240  # for a statement of a test: a table is made anew, on a disk that is busy


def binaries(kind: str) -> Binaries:
    """The programs of a kind; skips where they are missing, but fails under CI=true."""
    try:
        return systems.load(kind).find(None)
    except DynoError as error:
        missing(f"{error.what}: run `make servers`")


def runs(program: Path) -> None:
    """Skips, or fails under CI=true, where a program of a private prefix does not run."""
    done = subprocess.run([program, "--version"], capture_output=True)
    if not done.stdout:  # mariadb-upgrade says it with status 1
        missing(f"{program} does not run: run `make servers`")


@dataclass
class Bench:
    """A prepared data directory of one kind, and how to start servers on it."""

    system: System
    binaries: Binaries
    target: TargetPlan
    resolved: Resolved
    directory: Path

    def start(self, **config: Any) -> Server:
        """Starts it, with `config` instead of the bench's own where given."""
        if config:
            target = replace(self.target, config=config)
            self.resolved = self.system.resolve(target)
        return self.system.start(self.binaries, self.directory, self.resolved, cpus=[])


@functools.cache
def templates() -> Path:
    """Where initialised data directories are kept as long as this process runs."""
    scratch = Scratch()
    atexit.register(scratch.close)
    return scratch.path


@functools.cache
def initialised(kind: str) -> Path:
    """One initialised data directory of each kind, made once; tests work on copies."""
    system, path = systems.load(kind), templates() / kind
    system.prepare(binaries(kind), path, system.resolve(TargetPlan(name="db", kind=kind)))
    return path


@contextmanager
def bench(kind: str, **target: Any) -> Iterator[Bench]:
    """A fresh data directory in a scratch that is removed afterwards."""
    found = binaries(kind)
    system = systems.load(kind)
    plan = TargetPlan(name="db", kind=kind, **target)
    with Scratch() as scratch:
        made = Bench(system, found, plan, system.resolve(plan), scratch.path / "db")
        subprocess.run(["cp", "-a", initialised(kind), made.directory], check=True)
        yield made


@contextmanager
def running(kind: str, **target: Any) -> Iterator[tuple[Bench, Server]]:
    """The same, started."""
    with bench(kind, **target) as made:
        server = made.start()
        try:
            yield made, server
        finally:
            drop([server])


def patient(server: Any) -> Any:
    """The server, which statements of a test may keep busy; dyno takes it for hung after 10 s."""
    connect = server._connect
    server._connect = lambda database, timeout_s: connect(database, max(timeout_s, ANSWER_S))
    server.close_connection()
    return server


@contextmanager
def own_temp() -> Iterator[Path]:
    """A private, short temp directory: what others leave in the common one does not count."""
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    path = Path(tempfile.mkdtemp(prefix="dt", dir="/tmp"))
    path.chmod(0o711)
    tempfile.tempdir = os.environ["TMPDIR"] = str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = before[0]
        if before[1] is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before[1]
        shutil.rmtree(path, ignore_errors=True)


def shared_memory_of(pid: int) -> set[Path]:
    """Shared memory that a server maps: System V segments and files in /dev/shm."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = {Path(name) for name in re.findall(r"/dev/shm/\S+", maps)}
    # "/SYSV<key> (deleted)", whose inode is the segment's id
    segments = re.findall(r" 00:\S+ (\d+) +/SYSV", maps)
    return found | {Path(f"sysv-{number}") for number in segments}


def still_there(memory: set[Path]) -> set[Path]:
    """Those of `shared_memory_of` that exist."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    segments = {Path(f"sysv-{line.split()[1]}") for line in lines}
    return {path for path in memory if path in segments or path.exists()}


def gone(pid: int) -> bool:
    """Whether a process is dead or a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
