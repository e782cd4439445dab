"""Nodes of a target after a load: started again, together again, caught up, and then read.

They are read one after another, and a transaction whose client was cut off may be committed
meanwhile: its COMMIT still waits for a replica, or its server is slow. So open transactions are
waited for, and where nodes differ they are read again, once those that were open then have ended
(`read_settled`).
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import DOWN, INSTANCE, REPLICA, Node
from dbdyno.systems.process.managed import Managed

REJOIN_S = 60.0  # how long nodes that have left the others are waited for
CATCH_UP_S = 10.0  # how long replicas are waited for that receive nothing further
JOIN_S = 60.0  # how long a node is waited for that runs and cannot be read, such as a joining one
CATCH_UP_MAX_S = 600.0
OPEN_S = 15.0  # how long open transactions are waited for; a commit waits 10 s for a lost replica
READ_AGAIN_S = 60.0  # how long nodes that differ are read again
PAUSE_S = 1.0  # before that
POLL_S = 0.2
WHY_CHARS = 300

T = TypeVar("T")

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
        time.sleep(POLL_S)


def read_settled(
    deployment: Deployment,
    stores: Sequence[Sequence[Node]],
    mark: Mark,
    read: Callable[[], T],
    agrees: Callable[[T], bool],
    check: Callable[[], None],
    same: Callable[[T, T], bool] = operator.eq,
) -> T:
    """What `read` finds once the load's last transactions are over and nodes hold the same. Where
    it does not agree with itself it is done again, until it does, finds the `same` twice, or
    READ_AGAIN_S are over: the last time counts."""
    wait_for_open(deployment, check)
    given_up = time.monotonic() + READ_AGAIN_S
    equal = _equal(deployment, stores, mark, check)
    found = read()
    while not agrees(found) and time.monotonic() < given_up:
        before = found
        waited = wait_for_open(deployment, check)
        time.sleep(PAUSE_S)
        # What has not changed for CATCH_UP_S is waited for once more only if something was open.
        equal = _equal(deployment, stores if waited else equal, mark, check)
        found = read()
        if same(before, found):
            break
    return found


def _equal(
    deployment: Deployment,
    stores: Sequence[Sequence[Node]],
    mark: Mark,
    check: Callable[[], None],
) -> list[Sequence[Node]]:
    """Those of the stores whose nodes hold the same, once they do or do not change any more."""
    return [store for store in stores if wait_for_equal(deployment, store, mark, check)]


def wait_for_open(deployment: Deployment, check: Callable[[], None]) -> bool:
    """Waits until the transactions have ended that are open now on some node; whether there was
    any. Later ones are none of the load's."""
    first = _open(deployment)
    given_up = time.monotonic() + OPEN_S
    while first and first & _open(deployment) and time.monotonic() < given_up:
        check()
        time.sleep(POLL_S)
    return bool(first)


def _open(deployment: Deployment) -> frozenset[tuple[object, ...]]:
    """The open transactions of all nodes that can be asked."""
    sql = kinds.of(deployment.kind).open_transactions
    found: set[tuple[object, ...]] = set()
    for name, server in deployment.servers.items() if sql else ():
        try:
            rows = server.run(deployment.database, [sql])
        except Exception:  # it is down, or may not say it; each client library says how
            continue
        found.update((name, *map(str, row)) for row in rows)
    return frozenset(found)


def wait_for_equal(
    deployment: Deployment, store: Sequence[Node], mark: Mark, check: Callable[[], None]
) -> bool:
    """Waits until all nodes that run can be read and hold the same: for replicas as long as what
    they hold changes, for a node that joins the others again for a while. Whether they do."""
    seen: list[object] = []
    given_up = last = time.monotonic() + CATCH_UP_MAX_S
    while len(store) > 1 and time.monotonic() < min(given_up, last):
        check()
        marks = [_marked(deployment, node, mark) for node in store]
        joining = any(
            one is None and _runs(deployment, node) for one, node in zip(marks, store, strict=True)
        )
        if len({*marks} - {None}) <= 1 and not joining:
            return True
        if marks != seen:
            seen, given_up = marks, time.monotonic() + (JOIN_S if joining else CATCH_UP_S)
        time.sleep(POLL_S)
    return len(store) < 2


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
