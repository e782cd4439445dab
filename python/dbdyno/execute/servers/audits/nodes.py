"""Nodes of a target after a load: started again, together again, caught up, and then read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import DOWN, INSTANCE, REPLICA, Node
from dbdyno.systems.process.managed import Managed

REJOIN_S = 60.0  # how long nodes that have left the others are waited for
CATCH_UP_S = 10.0  # how long replicas are waited for that receive nothing further
CARRIED_OUT_S = 10.0  # how long statements are waited for that the load had sent when it ended
JOIN_S = 60.0  # how long a node is waited for that runs and cannot be read, such as a joining one
CATCH_UP_MAX_S = 600.0
WHY_CHARS = 300

Mark = Callable[[Deployment, Node], object]
"""What a node holds, in short: equal on nodes that hold the same. Raises if it cannot be read."""


def writers(roles: Mapping[str, str]) -> set[str]:
    """The nodes that take writes, where clients look. One that is down does not, as long as
    another does: a member that has left its group may be readable, and lacks what came later."""
    found = {name for name, role in roles.items() if role not in (REPLICA, DOWN)}
    return found or {name for name, role in roles.items() if role != REPLICA}


def revived(deployment: Deployment, name: str) -> bool:
    """Starts a managed server that is down; whether it was. One that does not come back cannot
    be read, which `_read` then says."""
    server = deployment.servers[name]
    if not isinstance(server, Managed) or server.alive():
        return False
    try:
        server.kill()
        server.start_again()
    except Exception:  # each client library has errors of its own
        return False
    return True


def stores(deployment: Deployment) -> list[Sequence[Node]]:
    """Nodes that shall have the same data, those that take writes first."""
    nodes = deployment.target.nodes
    if all(node.role == INSTANCE for node in nodes):
        return [[node] for node in nodes]
    found = [nodes] if deployment.cluster is None else deployment.cluster.stores()
    return [sorted(store, key=lambda node: node.role == REPLICA) for store in found]


def wait_until_together(deployment: Deployment, check: Callable[[], None]) -> None:
    """Waits for nodes of a topology that have left the others, as after a partition."""
    cluster, given_up = deployment.cluster, time.monotonic() + REJOIN_S
    while cluster is not None and not cluster.together() and time.monotonic() < given_up:
        check()
        time.sleep(0.2)


def wait_until_carried_out(deployment: Deployment, check: Callable[[], None]) -> None:
    """Waits for what servers still work on of a load that has ended: on a busy disk a commit takes
    its time, and a node that is read before it lacks what another one has by then."""
    given_up = time.monotonic() + CARRIED_OUT_S
    servers = deployment.servers.values()
    while any(map(_works, servers)) and time.monotonic() < given_up:
        check()
        time.sleep(0.05)


def _works(server: object) -> bool:
    try:
        return isinstance(server, Managed) and server.sessions_at_work() > 0
    except Exception:  # who reads it says why
        return False


def wait_for_equal(
    deployment: Deployment, store: Sequence[Node], mark: Mark, check: Callable[[], None]
) -> None:
    """Waits until all nodes that run can be read and hold the same: for replicas as long as what
    they hold changes, for a node that joins the others again for a while."""
    seen: list[object] = []
    given_up = last = time.monotonic() + CATCH_UP_MAX_S
    while len(store) > 1 and time.monotonic() < min(given_up, last):
        check()
        marks = [_marked(deployment, node, mark) for node in store]
        joining = any(
            one is None and _runs(deployment, node) for one, node in zip(marks, store, strict=True)
        )
        if len({*marks} - {None}) <= 1 and not joining:
            return
        if marks != seen:
            seen, given_up = marks, time.monotonic() + (JOIN_S if joining else CATCH_UP_S)
        time.sleep(0.2)


def _runs(deployment: Deployment, node: Node) -> bool:
    server = deployment.servers[node.name]
    return isinstance(server, Managed) and server.process.alive()


def _marked(deployment: Deployment, node: Node, mark: Mark) -> object:
    try:
        return mark(deployment, node)
    except Exception:  # who reads it says why
        return None


def why(error: Exception) -> str:
    """Why a node could not be read: each client library says it in its way."""
    said = error.what if isinstance(error, DynoError) else str(error) or type(error).__name__
    return said[:WHY_CHARS]
