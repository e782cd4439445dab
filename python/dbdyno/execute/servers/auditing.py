"""Audits the commits of a trial: makes the tables of identities, reads all nodes after the load.

Nodes are those of the target: instances each have data of their own; a primary and its replicas
have the same. A managed server that is down after the load is started again to be read, so that
what counts is what its recovery brings back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dbdyno import kinds
from dbdyno.audit import findings, identities, lists, outcomes
from dbdyno.audit.compare import NodeRows, compare
from dbdyno.audit.findings import Audit
from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.experiment import workloads
from dbdyno.experiment.types import DOWN, INSTANCE, REPLICA, Node
from dbdyno.plan.types import Cell
from dbdyno.store.record import TrialRecord
from dbdyno.systems.process.managed import Managed

REJOIN_S = 60.0  # how long nodes that have left the others are waited for
CATCH_UP_S = 10.0  # how long replicas are waited for that receive no further row
JOIN_S = 60.0  # how long a node is waited for that runs and cannot be read, such as a joining one
CATCH_UP_MAX_S = 600.0
WHY_CHARS = 300


class Auditing:
    """Of one load. Does nothing in a cell without an audit, or with groups that only read."""

    def __init__(self, pool: ServerPool, cell: Cell, check: Callable[[], None]) -> None:
        """`check` is called while nodes are waited for, and raises to end that."""
        self._pool = pool
        self._check = check
        self._cell = cell
        self._groups: dict[str, list[int]] = {}  # numbers of groups that write, by their target
        for number, group in enumerate(cell.groups if cell.audit else ()):
            if workloads.changes_data(group.workload, group.options):
                self._groups.setdefault(group.target, []).append(number)

    def prepare(self) -> None:
        """Makes the tables, empty. DynoError if a server refuses."""
        for deployment in self._deployments():
            for store in _stores(deployment):
                _rows(deployment, store[0]).clear()

    def audited(self, record: TrialRecord, directory: Path) -> TrialRecord:
        """The record with what the audit found. `directory`: where the engine left its log."""
        if not self._groups:
            return record
        seen = outcomes.read(directory)
        found = {
            deployment.target.name: self._audit(deployment, seen)
            for deployment in self._deployments()
        }
        return record.replace(
            metrics={**record.metrics, **findings.metrics(found)},
            audit=found,
        )

    def _deployments(self) -> Iterable[Deployment]:
        return [self._pool.deployments[target] for target in self._groups]

    def _audit(self, deployment: Deployment, seen: outcomes.Outcomes) -> Audit:
        stores = []
        revived = {node.name: _revived(deployment, node.name) for node in deployment.target.nodes}
        _wait_until_together(deployment, self._check)
        for store in _stores(deployment):
            restarted = [revived[node.name] for node in store]
            _wait_for_equal_counts(deployment, store, self._check)
            writers = _writers(deployment.roles())
            stores.append(
                [
                    _read(deployment, node, node.name in writers, was_down)
                    for node, was_down in zip(store, restarted, strict=True)
                ]
            )
        return compare(seen, self._groups[deployment.target.name], stores)


def _writers(roles: Mapping[str, str]) -> set[str]:
    """The nodes that take writes, where clients look. One that is down does not, as long as
    another does: a member that has left its group may be readable, and lacks what came later."""
    found = {name for name, role in roles.items() if role not in (REPLICA, DOWN)}
    return found or {name for name, role in roles.items() if role != REPLICA}


def _revived(deployment: Deployment, name: str) -> bool:
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


def _stores(deployment: Deployment) -> list[Sequence[Node]]:
    """Nodes that shall have the same data, those that take writes first."""
    nodes = deployment.target.nodes
    if all(node.role == INSTANCE for node in nodes):
        return [[node] for node in nodes]
    stores = [nodes] if deployment.cluster is None else deployment.cluster.stores()
    return [sorted(store, key=lambda node: node.role == REPLICA) for store in stores]


def _wait_until_together(deployment: Deployment, check: Callable[[], None]) -> None:
    """Waits for nodes of a topology that have left the others, as after a partition."""
    cluster, given_up = deployment.cluster, time.monotonic() + REJOIN_S
    while cluster is not None and not cluster.together() and time.monotonic() < given_up:
        check()
        time.sleep(0.2)


def _wait_for_equal_counts(
    deployment: Deployment, store: Sequence[Node], check: Callable[[], None]
) -> None:
    """Waits until all nodes that run can be read and have as many rows: for replicas as long as
    their rows become more, for a node that joins the others again for a while."""
    seen: list[int | None] = []
    given_up = last = time.monotonic() + CATCH_UP_MAX_S
    while len(store) > 1 and time.monotonic() < min(given_up, last):
        check()
        counts = [_count(deployment, node) for node in store]
        joining = any(
            count is None and _runs(deployment, node)
            for count, node in zip(counts, store, strict=True)
        )
        if len({*counts} - {None}) <= 1 and not joining:
            return
        if counts != seen:
            seen, given_up = counts, time.monotonic() + (JOIN_S if joining else CATCH_UP_S)
        time.sleep(0.2)


def _runs(deployment: Deployment, node: Node) -> bool:
    server = deployment.servers[node.name]
    return isinstance(server, Managed) and server.process.alive()


def _count(deployment: Deployment, node: Node) -> int | None:
    try:
        return _rows(deployment, node).count()
    except Exception:  # `_read` says why
        return None


def _read(deployment: Deployment, node: Node, takes_writes: bool, restarted: bool) -> NodeRows:
    try:
        rows = _rows(deployment, node).read()
    except Exception as error:  # a server that is down, which each client library says in its way
        why = error.what if isinstance(error, DynoError) else str(error) or type(error).__name__
        return NodeRows(node.name, None, takes_writes, why[:WHY_CHARS], restarted)
    return NodeRows(node.name, rows, takes_writes, "", restarted)


class _Rows(Protocol):
    """Where a node keeps identities."""

    def clear(self) -> None:
        """Makes the place, empty."""

    def count(self) -> int:
        """How many there are."""

    def read(self) -> identities.Identities:
        """All of them."""


def _rows(deployment: Deployment, node: Node) -> _Rows:
    server: Any = deployment.servers[node.name]
    if kinds.of(deployment.target.kind).speaks_sql:
        return _Table(server, deployment.database)
    return _Lists(server, deployment.database)


class _Table(_Rows):
    """A table."""

    def __init__(self, server: Any, database: str) -> None:
        self._server, self._database = server, database

    def clear(self) -> None:
        self._server.run(self._database, identities.CREATE)

    def count(self) -> int:
        return int(self._ask(identities.COUNT)[0][0])

    def read(self) -> identities.Identities:
        return identities.read(self._ask)

    def _ask(self, sql: str) -> Sequence[Sequence[Any]]:
        rows: Sequence[Sequence[Any]] = self._server.run(self._database, [sql])
        return rows


class _Lists(_Rows):
    """Lists of a server without SQL."""

    def __init__(self, server: Any, database: str) -> None:
        self._server, self._database = server, database

    def clear(self) -> None:
        self._server.clear_identities(self._database)

    def count(self) -> int:
        return int(self._server.count_identities(self._database))

    def read(self) -> identities.Identities:
        return lists.read(self._server.identities(self._database))
