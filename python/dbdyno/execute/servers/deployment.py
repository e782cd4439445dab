"""One target of a cell with its servers: one, or several alike (`instances:`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.execute.engine.request import DATABASE
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.external.server import RemoteServer


@dataclass
class Deployment:
    """One target of a cell, and its servers once started."""

    target: TargetPlan
    system: System
    binaries: Binaries
    resolved: Resolved
    servers: list[Server] = field(default_factory=list)
    database: str = DATABASE  # the schema that the load goes to
    replicas: list[RemoteServer] = field(default_factory=list)  # of an external server

    @property
    def server(self) -> Server | None:
        """The first one, which speaks for all where they are alike."""
        return self.servers[0] if self.servers else None

    @property
    def kind(self) -> str:
        """What it is: behind a URL that names a protocol there may be another kind."""
        return str(getattr(self.server, "kind", self.target.kind))

    @property
    def sampled(self) -> Server | MergedServers | None:
        """Whose metrics are the target's: of several servers the sums."""
        return MergedServers(self.servers) if len(self.servers) > 1 else self.server

    def names(self) -> tuple[str, ...]:
        """What the engine calls its servers: `db`, `db.2`, `db.3`."""
        return instance_names(self.target.name, self.target.instances)

    def replica_names(self) -> tuple[str, ...]:
        """What the engine calls its replicas: `db.read1`, `db.read2`."""
        return tuple(f"{self.target.name}.{node}" for node in self.nodes())

    def nodes(self) -> dict[str, RemoteServer]:
        """Its replicas as metrics call them: `read1`, `read2`."""
        return {f"read{number}": server for number, server in enumerate(self.replicas, 1)}

    def engine_targets(self) -> dict[str, dict[str, Any]]:
        """How the engine reaches each of its servers, by the engine's name for it."""
        names, servers = (*self.names(), *self.replica_names()), (*self.servers, *self.replicas)
        return {
            name: self.engine_target(server) for name, server in zip(names, servers, strict=True)
        }

    def engine_target(self, server: Server) -> dict[str, Any]:
        """How the load reaches one of its servers: with the user's session statements after
        ours, so that they have the last word, but for whether sessions may write."""
        found = server.engine_target(self.target, self.resolved, self.database)
        return {
            **found,
            "session_sql": [*found["session_sql"], *self.target.session],
            "read_only": self.resolved.read_only,
        }


def instance_names(target: str, count: int) -> tuple[str, ...]:
    """The engine's names for so many servers of a target."""
    return (target, *(f"{target}.{number}" for number in range(2, count + 1)))


class MergedServers:
    """Several servers as one, for samplers: counters and sessions are sums."""

    def __init__(self, servers: Sequence[Server]) -> None:
        assert servers
        self._servers = tuple(servers)

    @property
    def pid(self) -> tuple[int, ...] | None:
        """Of all that have processes of their own."""
        return tuple(server.pid for server in self._servers if server.pid is not None) or None

    @property
    def directory(self) -> Path | None:
        """Of the first: all lie on one file system."""
        return self._servers[0].directory

    def counters(self) -> dict[str, float]:
        """Sums over the servers."""
        total: Counter[str] = Counter()
        for server in self._servers:
            total.update(server.counters())  # type: ignore[arg-type]
        return {name: float(value) for name, value in total.items()}

    def gauges(self) -> frozenset[str]:
        """Of the first: they are alike."""
        return self._servers[0].gauges()

    def sessions_by_state(self) -> dict[str, int]:
        """Sums over the servers."""
        total: Counter[str] = Counter()
        for server in self._servers:
            total.update(server.sessions_by_state())
        return dict(total)
