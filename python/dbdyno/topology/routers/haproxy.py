"""HAProxy: whole connections go to the node that takes writes. Its health checks ask each node over
HTTP, as they ask Patroni's REST API or a Galera cluster's `clustercheck`; the answers here are
`roles.py`'s. Where all nodes take writes, one does at a time, and the others are in reserve.

Sources: HAProxy's configuration manual: `option httpchk`, `default-server`, `backup`,
`on-marked-down shutdown-sessions`, `on-marked-up shutdown-backup-sessions`, and in its management
guide `show stat`.
"""

from __future__ import annotations

import csv
import io
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.experiment.types import HAPROXY
from dbdyno.hosts.base import Host
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.routers.base import Ask, Backend, Front, Program, RouterKind, found

FILE, STATS = "haproxy.cfg", "stats"
PROXY = "primary"
CONNECTIONS_MAX = 4096  # else as many as files may be open, with memory for all of them
FALL, RISE = 2, 1  # checks in a row until a node is down, and up again
CHECK_TIMEOUT_S = 3  # a node that hangs is waited for 2 s
CONNECT_TIMEOUT_S = 2
STATS_TIMEOUT_S = 2.0
STATS_BYTES_MAX = 1 << 20


class HaProxy(RouterKind):
    """See the module."""

    kind = HAPROXY
    title = "HAProxy"
    package = "haproxy"
    about = "TCP to the node that takes writes, which HTTP health checks find"
    stop_signal = signal.SIGTERM  # at once
    asks_roles = True

    def find(self, host: Host, account: str) -> Program:
        return found(self, host, account, "haproxy", r"version (\d[\d.]*\d)", "-v")

    def files(self, front: Front) -> Mapping[str, str]:
        check_ms = round(front.router.check_s * 1000)
        end = "on-marked-up shutdown-backup-sessions" if front.members else ""
        lines = [
            "global",
            f"    stats socket {front.directory / STATS} mode 600 level operator",
            f"    maxconn {CONNECTIONS_MAX}",
            "    log stderr format raw local0 notice",
            "defaults",
            "    mode tcp",
            "    log global",
            f"    timeout connect {CONNECT_TIMEOUT_S}s",
            f"    timeout check {CHECK_TIMEOUT_S}s",
            "    timeout client 1d",
            "    timeout server 1d",
            f"listen {PROXY}",
            f"    bind {LOOPBACK}:{front.port}",
            "    option httpchk OPTIONS /primary",
            "    http-check expect status 200",
            f"    default-server inter {check_ms}ms fall {FALL} rise {RISE}"
            " on-marked-down shutdown-sessions",
            *(_server(front, each, end) for each in front.backends),
        ]
        return {FILE: "\n".join(lines) + "\n"}

    def command(self, program: Program, front: Front) -> Sequence[str | Path]:
        return [program.path, "-db", "-f", front.directory / FILE]

    def lacking(self, front: Front, ask: Ask) -> str:
        """Servers are up until their first checks have failed."""
        found = states(_stat(front.directory / STATS))
        up = {name for name, state in found.items() if state.startswith("UP")}
        wanted = {each.name for each in front.backends} if front.members else {front.leader}
        said = (f"{name} is {state}" for name, state in found.items())
        return "" if up == wanted else "; ".join(said) or "it has no server"


def _server(front: Front, each: Backend, end: str) -> str:
    """A line for a node. Of members the one that leads comes before the others, and ends their
    sessions when it is back."""
    reserve = front.members and each.name != front.leader
    more = "backup" if reserve else end
    line = f"    server {each.name} {LOOPBACK}:{each.port} check port {each.role_port} {more}"
    return line.rstrip()


def states(text: str) -> dict[str, str]:
    """`UP`, `DOWN`, `UP 1/2` and the like of each server in the answer to `show stat`."""
    rows = csv.DictReader(io.StringIO(text.removeprefix("# ")))
    return {
        str(row["svname"]): str(row["status"])
        for row in rows
        if row["pxname"] == PROXY and row["svname"] not in ("FRONTEND", "BACKEND")
    }


def _stat(path: Path) -> str:
    """The answer to `show stat`."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(STATS_TIMEOUT_S)
        connection.connect(str(path))
        connection.sendall(b"show stat\n")
        answer = b""
        while len(answer) < STATS_BYTES_MAX and (part := connection.recv(65536)):
            answer += part
    return answer.decode(errors="replace")


ROUTER = HaProxy()
