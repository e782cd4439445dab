"""What nodes of Redis have in common in any topology: one password, roles, replicas that follow.

Sources: Redis documentation, "Redis replication", and the pages of ROLE, REPLICAOF and INFO.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, Node
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.account import account_for, private_directory
from dbdyno.topology.base import LOOK_TIMEOUT_S

ACCOUNT = "redis"
MASTER = "master"
LOG = "aof_enabled"
# A replica that asks for all data gets it at once. By default the primary waits 5 s for more of
# them to ask.
AT_ONCE = {"repl_diskless_sync_delay": "0"}
POLL_S = 0.05
SYNC_TIMEOUT_S = 120.0


def check_target(target: TargetPlan) -> None:
    """DynoError for a target whose nodes could not be reached after a failover, or by clients that
    follow redirections."""
    assert target.topology is not None
    if target.tls not in ("prefer", "off"):
        raise DynoError(
            f"target `{target.name}`: `tls: {target.tls}` is not possible with `topology:"
            f" {target.topology.kind}`",
            cause="its nodes name their ports without TLS to clients",
            fix="write `tls: off`, or remove it",
        )


def wanted(target: TargetPlan) -> dict[str, str]:
    """Settings of all nodes, except for those of the user's `config`."""
    given = {name.replace("-", "_").lower() for name in target.config}
    return {name: value for name, value in AT_ONCE.items() if name not in given}


def empty(directory: Path) -> None:
    """Has a node start without data: it gets all of its primary's."""
    data = directory / "data"
    shutil.rmtree(data)
    private_directory(data, account_for(ACCOUNT))


def role(server: Any) -> str:
    """PRIMARY or REPLICA, as a server says. May raise what its client does."""
    return PRIMARY if server.look(LOOK_TIMEOUT_S, "ROLE")[0] == MASTER else REPLICA


def is_following(server: Any, port: int) -> bool:
    """Whether a replica has all of the data of the primary at a port, and gets what is new."""
    found = server.info("replication")
    return (
        found.get("role") != MASTER
        and found.get("master_port") == str(port)
        and found.get("master_link_status") == "up"
    )


def await_following(
    servers: dict[str, Any], ports: dict[str, int], check: Callable[[], None]
) -> None:
    """Returns once each replica follows the primary at its port. DynoError if one does not."""
    deadline = time.monotonic() + SYNC_TIMEOUT_S
    for name, port in ports.items():
        while not is_following(servers[name], port):
            check()
            if time.monotonic() > deadline:
                raise DynoError(
                    f"{name} did not get the data of its primary within {SYNC_TIMEOUT_S:.0f} s",
                    cause="a very busy machine, or a primary that refuses it",
                    fix=f"its log ends:\n{servers[name].log_tail()}",
                )
            time.sleep(POLL_S)


def names(nodes: tuple[Node, ...]) -> str:
    """In a sentence."""
    return ", ".join(node.name for node in nodes)
