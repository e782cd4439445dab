"""Audits the commits of a trial: makes the tables of identities, reads all nodes after the load.

Nodes are those of the target: instances each have data of their own; a primary and its replicas
have the same. A managed server that is down after the load is started again to be read, so that
what counts is what its recovery brings back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from dbdyno import kinds
from dbdyno.audit import findings, identities, lists, outcomes
from dbdyno.audit.compare import NodeRows, compare
from dbdyno.audit.findings import Audit
from dbdyno.execute.servers.audits import nodes
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.experiment import workloads
from dbdyno.experiment.types import REPLICA, Node
from dbdyno.plan.types import Cell
from dbdyno.store.record import TrialRecord


class Commits:
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
        """Makes the tables, empty, and waits until all nodes that take writes have them. DynoError
        if a server refuses."""
        for deployment in self._deployments():
            for store in nodes.stores(deployment):
                _rows(deployment, store[0]).clear()
                # A member of a group applies it later than it was acknowledged.
                writers = [node for node in store if node.role != REPLICA]
                nodes.wait_for_equal(deployment, writers, _count, self._check)

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
        revived = {
            node.name: nodes.revived(deployment, node.name) for node in deployment.target.nodes
        }
        nodes.wait_until_together(deployment, self._check)
        stores, groups = nodes.stores(deployment), self._groups[deployment.target.name]

        def read() -> Audit:
            writers = nodes.writers(deployment.roles())
            return compare(
                seen,
                groups,
                [
                    [
                        _read(deployment, node, node.name in writers, revived[node.name])
                        for node in store
                    ]
                    for store in stores
                ],
            )

        return nodes.read_settled(deployment, stores, _count, read, _agrees, self._check)


def _agrees(found: Audit) -> bool:
    """Whether nodes hold the same, and what was acknowledged."""
    return not found.diverged and not found.lost


def _count(deployment: Deployment, node: Node) -> object:
    return _rows(deployment, node).count()


def _read(deployment: Deployment, node: Node, takes_writes: bool, restarted: bool) -> NodeRows:
    try:
        rows = _rows(deployment, node).read()
    except Exception as error:  # a server that is down, which each client library says in its way
        return NodeRows(node.name, None, takes_writes, nodes.why(error), restarted)
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
        return _Table(deployment, node)
    return _Lists(server, deployment.database)


class _Table(_Rows):
    """A table."""

    def __init__(self, deployment: Deployment, node: Node) -> None:
        self._deployment, self._node = deployment, node

    def clear(self) -> None:
        self._deployment.define(self._node.name, identities.CREATE)

    def count(self) -> int:
        return int(self._ask(identities.COUNT)[0][0])

    def read(self) -> identities.Identities:
        return identities.read(self._ask)

    def _ask(self, sql: str) -> Sequence[Sequence[Any]]:
        server: Any = self._deployment.servers[self._node.name]
        rows: Sequence[Sequence[Any]] = server.run(self._deployment.database, [sql])
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
