"""Private servers for the bench, started as experiments start them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dbdyno import systems
from dbdyno.execute.engine.request import DATABASE
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import Scratch


@dataclass
class Bench:
    """A running server, and how each side reaches it."""

    kind: str
    server: Server
    engine_target: dict[str, Any]

    def fresh_schema(self, name: str) -> dict[str, Any]:
        """Creates a schema of dbdyno and returns the engine's target for it."""
        self.server.create_schema(name)
        return {**self.engine_target, "database": name}

    def sysbench_options(self, database: str) -> dict[str, object]:
        """sysbench's options for the same server."""
        driver, prefix = ("pgsql", "pgsql") if self.kind == "postgres" else ("mysql", "mysql")
        tcp = self.engine_target["address"]["tcp"]
        return {
            "db-driver": driver,
            f"{prefix}-host": tcp["host"],
            f"{prefix}-port": tcp["port"],
            f"{prefix}-user": self.engine_target["user"],
            f"{prefix}-password": self.engine_target["password"],
            f"{prefix}-db": database,
        }


@contextlib.contextmanager
def server(kind: str, **config: Any) -> Iterator[Bench]:
    """A fresh server of `kind` with 1 GiB of cache at full durability, gone afterwards."""
    system = systems.load(kind)
    target = TargetPlan(
        name="db", kind=kind, config=config, durability="full", memory_bytes=1 << 30, tls="off"
    )
    binaries = system.find(None)
    resolved = system.resolve(target)
    with Scratch() as scratch:
        directory = scratch.path / "server"
        system.prepare(binaries, directory, resolved)
        running = system.start(binaries, directory, resolved, cpus=sorted(os.sched_getaffinity(0)))
        try:
            running.create_schema(DATABASE)
            yield Bench(kind, running, running.engine_target(target, resolved, DATABASE))
        finally:
            running.stop()
