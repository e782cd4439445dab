"""Starts one real server for a test and sees that nothing of it is left."""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.scratch import Scratch

SERVERS = ("mariadb", "postgres", "mysql")
CORE = ("mariadb", "postgres")  # may not be skipped under CI=true


def binaries(kind: str) -> Binaries:
    """The programs of a kind; skips where they are missing, but fails under CI for the core."""
    try:
        return systems.load(kind).find(None)
    except DynoError as error:
        if os.environ.get("CI") == "true" and kind in CORE:
            raise
        pytest.skip(f"{error.what}: run `make servers`")


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
        return self.system.start(
            self.binaries, self.directory, self.resolved, cpus=[], transport="tcp"
        )


@functools.cache
def initialised(kind: str) -> Path:
    """One initialised data directory of each kind, made once; tests work on copies."""
    scratch = Scratch()
    atexit.register(scratch.close)
    system, path = systems.load(kind), scratch.path / kind
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
            server.stop()


def socket_directories() -> set[Path]:
    """Private directories for sockets that exist now."""
    return set(Path(tempfile.gettempdir()).glob("dyno-*"))


def gone(pid: int) -> bool:
    """Whether a process is dead or a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
