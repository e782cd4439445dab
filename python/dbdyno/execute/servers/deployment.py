"""One target of a cell with the servers of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

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
    servers: dict[str, Server] = field(default_factory=dict)  # by their nodes' names
    database: str = DATABASE  # the schema that the load goes to

    @property
    def written(self) -> dict[str, Server]:
        """Those that take writes, by name: not the replicas."""
        return self._started("write")

    @property
    def replicas(self) -> dict[str, RemoteServer]:
        """Those that are only read, as metrics call them: `read1`, `read2`."""
        prefix = f"{self.target.name}."
        found = self._started("read").items()
        return {name.removeprefix(prefix): cast("RemoteServer", each) for name, each in found}

    def _started(self, access: str) -> dict[str, Server]:
        names = (node.name for node in self.target.nodes_for(access))
        return {name: self.servers[name] for name in names if name in self.servers}

    @property
    def server(self) -> Server | None:
        """The first one, which speaks for all where they are alike."""
        return next(iter(self.written.values()), None)

    def roles(self) -> dict[str, str]:
        """The role of each node, by name."""
        return {node.name: node.role for node in self.target.nodes}

    @property
    def kind(self) -> str:
        """What it is: behind a URL that names a protocol there may be another kind."""
        return str(getattr(self.server, "kind", self.target.kind))

    @property
    def sampled(self) -> Server | MergedServers | None:
        """Whose metrics are the target's: of several servers the sums."""
        servers = tuple(self.written.values())
        return MergedServers(servers) if len(servers) > 1 else self.server

    def engine_targets(self) -> dict[str, dict[str, Any]]:
        """How the engine reaches each of its servers, by the engine's name for it."""
        return {name: self.engine_target(server) for name, server in self.servers.items()}

    def engine_target(self, server: Server) -> dict[str, Any]:
        """How the load reaches one of its servers: with the user's session statements after
        dbdyno's, so that they have the last word, except on whether sessions may write."""
        found = server.engine_target(self.target, self.resolved, self.database)
        return {
            **found,
            "session_sql": [*found["session_sql"], *self.target.session],
            "read_only": self.resolved.read_only,
        }


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
