"""What a lab's owner says of it: asked of the servers at this moment."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import ARBITRATOR, DOWN, REPLICA, REPLICAS, ROUTER
from dbdyno.hosts.base import began_ticks
from dbdyno.lab.servers import LabServers, state_of
from dbdyno.samplers.server import process

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def nodes(servers: LabServers) -> list[dict[str, Any]]:
    """Each node, the arbitrator and the router: `state` of its process (running, paused, down),
    `role` as it says itself, `lag_s` of a replica, `pid`, `since_unix_s` and `rss_bytes` of the
    processes. None: not known, or there is none."""
    states, roles = servers.states(), servers.roles()
    found = [_node(servers, name, states[name], roles[name]) for name in states]
    others = ((servers.deployment.arbitrator, ARBITRATOR), (servers.deployment.router, ROUTER))
    for one, role in others:
        if one is not None:
            facts = _process(one.name, role, one.pid)
            found.append({**facts, "state": state_of(one.process)})
    return found


def _node(servers: LabServers, name: str, state: str, role: str) -> dict[str, Any]:
    server: Any = servers.deployment.servers[name]
    return {
        **_process(name, role, server.pid if state != "down" else None),
        "role": role if state == "running" else DOWN,
        "state": state,
        "lag_s": _lag_s(servers, name) if (state, role) == ("running", REPLICA) else None,
    }


def _process(name: str, role: str, pid: int | None) -> dict[str, Any]:
    """Facts of a process; without `pid` it has ended."""
    return {
        "name": name,
        "role": role if pid else DOWN,
        "state": "running" if pid else "down",
        "lag_s": None,
        "pid": pid,
        "since_unix_s": pid and _began_unix_s(pid),
        "rss_bytes": pid and _rss_bytes(pid),
    }


def _lag_s(servers: LabServers, name: str) -> float | None:
    topology, cluster = servers.deployment.target.topology, servers.deployment.cluster
    if topology is None or topology.kind != REPLICAS or cluster is None:
        return None  # members of a group do not say how far they are
    try:
        return round(cluster.lag_s(name), 3)
    except DynoError:  # replication does not run, or the server does not answer any more
        return None
    except Exception:  # each client library says in a way of its own that it is gone
        return None


def _rss_bytes(pid: int) -> int | None:
    try:
        return int(process.read(pid).rss_bytes)
    except OSError:  # it has just ended
        return None


def _began_unix_s(pid: int) -> float | None:
    ticks = began_ticks(pid)
    if not ticks:
        return None
    up_s = float(Path("/proc/uptime").read_text().split()[0])
    return round(time.time() - up_s + ticks / TICKS_PER_S, 1)
