"""Values before a load are those of the loaded data: what an earlier trial wrote on the same data
is set back, on all nodes. A value of that trial, read in this one, would be one that nobody wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dbdyno import kinds
from dbdyno.audit.histories import tables
from dbdyno.errors import DynoError
from dbdyno.execute.servers.audits import nodes
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import Node

RESET_S = 60.0  # how long replicas are waited for until they hold the values before a load
POLL_S = 0.1


class Values(Protocol):
    """What is set back."""

    def set_back(self, node: Node) -> None:
        """All of them, at a node that takes writes. DynoError if its server refuses."""

    def left(self, node: Node) -> int:
        """How many are not set back on a node."""


def set_back(deployment: Deployment, values: Values, check: Callable[[], None]) -> None:
    """Sets values back and waits until all nodes have them. `check` is called meanwhile, and raises
    to end that. DynoError if a node does not get them."""
    for store in nodes.stores(deployment):
        values.set_back(store[0])
        given_up = time.monotonic() + RESET_S
        while behind := [node.name for node in store if values.left(node)]:
            check()
            if time.monotonic() > given_up:
                raise DynoError(
                    f"{', '.join(behind)} did not get the values before the load within"
                    f" {RESET_S:.0f} s",
                    cause="replication has stopped, or is far behind",
                    fix="look at the server's log, and run the trial again",
                )
            time.sleep(POLL_S)


def values_of(deployment: Deployment, audit: str, balance: int) -> Values:
    """Those of an audit's workload; `balance`: of each account of a bank."""
    if kinds.of(deployment.target.kind).speaks_sql:
        return _Rows(deployment, *tables.reset(audit, balance))
    return _Records(deployment)


class _Rows:
    """Of a table."""

    def __init__(self, deployment: Deployment, change: str, remaining: str) -> None:
        self._deployment = deployment
        self._change = change
        self._remaining = remaining

    def set_back(self, node: Node) -> None:
        self._run(node, self._change)

    def left(self, node: Node) -> int:
        return int(self._run(node, self._remaining)[0][0])

    def _run(self, node: Node, sql: str) -> Sequence[Sequence[Any]]:
        server: Any = self._deployment.servers[node.name]
        rows: Sequence[Sequence[Any]] = server.run(self._deployment.database, [sql])
        return rows


class _Records:
    """Registers of a server without SQL; a node of a cluster has a part of them."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def set_back(self, node: Node) -> None:
        server: Any = self._deployment.servers[node.name]
        server.set_records(self._deployment.database, tables.REGISTER, tables.ZERO)

    def left(self, node: Node) -> int:
        server: Any = self._deployment.servers[node.name]
        database = self._deployment.database
        return int(server.records_unlike(database, tables.REGISTER, tables.ZERO))
