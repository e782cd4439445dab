"""Private servers for `dyno check`: reached by URL as `app`, an account that may do nothing yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno import systems
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.process.scratch import Scratch

PASSWORD = "app-Secret:4711"
PASSWORD_VARIABLE = "PROOF_APP_PASSWORD"


@dataclass(frozen=True)
class Checked:
    """A running server. `named`: its kind and version."""

    kind: str
    named: str
    url: str
    server: Any
    directory: Path
    plan: TargetPlan
    resolved: Resolved

    def engine_target(self, database: str) -> dict[str, Any]:
        """Where the engine's load goes, by dbdyno's own account and without TLS."""
        plan = replace(self.plan, tls="off")
        found: dict[str, Any] = self.server.engine_target(plan, self.resolved, database)
        return found


@contextmanager
def started(
    kind: str,
    basedir: str | None = None,
    cpus: Sequence[int] = (),
    durability: str | None = None,
) -> Iterator[Checked]:
    """Starts one with its defaults, except for `durability`. DynoError if there is none."""
    system = systems.load(kind)
    binaries = system.find(basedir)
    plan = TargetPlan(name="db", kind=kind, durability=durability)
    resolved = system.resolve(plan)
    with Scratch() as scratch:
        directory = scratch.path / "db"
        system.prepare(binaries, directory, resolved)
        server: Any = system.start(binaries, directory, resolved, cpus=[*cpus])
        try:
            url = _account(kind, server)
            version = binaries.version.partition("-")[0]
            named = f"{kind} {version}" if version[:1].isdigit() else version
            yield Checked(kind, named, url, server, directory, plan, resolved)
        finally:
            server.stop()


def _account(kind: str, server: Any) -> str:
    if kind == "redis":
        server.ask("ACL", "SETUSER", "app", "on", f">{PASSWORD}", "~*", "+@all", "-flushall")
        server.ask("CONFIG", "SET", "requirepass", PASSWORD)
        return f"redis://app@127.0.0.1:{server.port}"
    if kind == "postgres":
        server.run_in("postgres", [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"])
        server.run_in("postgres", ["CREATE DATABASE shop"])
        return f"postgres://app@127.0.0.1:{server.port}/shop"
    # as managed servers have it
    server.rows("SET GLOBAL local_infile = 0")
    server.rows(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
    server.rows("CREATE DATABASE shop")
    return f"{kind}://app@127.0.0.1:{server.port}/shop"
