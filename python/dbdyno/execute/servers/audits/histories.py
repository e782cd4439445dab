"""Audits the history of a trial: tables are set back before it, lists and accounts read after it.

Registers need no look at the nodes: their history alone says whether it is linearizable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dbdyno import kinds
from dbdyno.audit.histories import append, bank, findings, log, register, tables
from dbdyno.audit.histories.findings import Findings, HistoryNode
from dbdyno.execute.servers.audits import nodes
from dbdyno.execute.servers.audits.permits import permits
from dbdyno.execute.servers.audits.set_back import set_back, values_of
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.experiment import workloads
from dbdyno.experiment.audit import level_of_sessions, recorded
from dbdyno.experiment.types import Node
from dbdyno.plan.data import REUSE
from dbdyno.plan.types import Cell
from dbdyno.store.record import TrialRecord

T = TypeVar("T")


class Histories:
    """Of one load, in which some group's history is recorded."""

    def __init__(self, pool: ServerPool, cell: Cell, check: Callable[[], None]) -> None:
        """`check` is called while nodes are waited for, and raises to end that."""
        self._pool = pool
        self._check = check
        self._cell = cell
        self._groups: dict[str, list[int]] = {}  # numbers of recorded groups, by their target
        for number, group in enumerate(cell.groups):
            if recorded(cell.audit, group.workload):
                self._groups.setdefault(group.target, []).append(number)

    def prepare(self) -> None:
        """Sets back what an earlier trial wrote on the same data. DynoError if a server refuses."""
        for deployment in self._deployments():
            if kinds.of(deployment.target.kind).speaks_sql or self._cell.state.data == REUSE:
                values = values_of(deployment, self._audit, self._bank(deployment).balance)
                set_back(deployment, values, self._check)

    def audited(self, record: TrialRecord, directory: Path) -> TrialRecord:
        """The record with what the check of the history found. `directory`: where the engine left
        its log."""
        history = log.read(directory)
        found = {
            deployment.target.name: self._judged(deployment, history)
            for deployment in self._deployments()
        }
        return record.replace(
            metrics={**record.metrics, **findings.metrics(found.values())},
            histories=found,
        )

    @property
    def _audit(self) -> str:
        return str(self._cell.audit)

    def _deployments(self) -> Iterable[Deployment]:
        return [self._pool.deployments[target] for target in self._groups]

    def _bank(self, deployment: Deployment) -> bank.Bank:
        """What the load of a bank began with."""
        number = self._groups[deployment.target.name][0]
        group = self._cell.groups[number]
        full = workloads.effective(group.workload, group.options)
        return bank.Bank(int(full.get("accounts", 0)), int(full.get("balance", 0)))

    def _judged(self, deployment: Deployment, history: log.History) -> Findings:
        kind = kinds.of(deployment.target.kind)
        isolation = level_of_sessions(deployment.target) or kind.default_isolation
        found = self._checked(deployment, history)
        groups = [self._cell.groups[at] for at in self._groups[deployment.target.name]]
        permitted = permits(deployment.target, groups, self._audit, isolation)
        return replace(
            found,
            isolation=isolation,
            permitted=permitted.anomalies,
            grounds=permitted.grounds,
        )

    def _checked(self, deployment: Deployment, history: log.History) -> Findings:
        groups = self._groups[deployment.target.name]
        if self._audit == "register":
            return register.check(history, groups)
        if self._audit == "append":
            read = self._nodes(deployment, tables.lists, _lists)
            writers = nodes.writers(deployment.roles())
            lists = [append.ListNode(held, node.name in writers) for node, held in read]
            return replace(append.check(history, groups, lists), nodes=_said(read))
        held = self._nodes(deployment, tables.balances, _balances)
        balances = [bank.BankNode(each) for _, each in held]
        found = bank.check(history, groups, self._bank(deployment), balances)
        return replace(found, nodes=_said(held))

    def _nodes(
        self, deployment: Deployment, read: Callable[[tables.Ask], T], mark: nodes.Mark
    ) -> list[tuple[HistoryNode, T | None]]:
        """What each node holds, once they are together and hold the same or no longer change."""
        (store,) = nodes.stores(deployment)
        restarted = {node.name: nodes.revived(deployment, node.name) for node in store}
        nodes.wait_until_together(deployment, self._check)
        nodes.wait_until_carried_out(deployment, self._check)
        nodes.wait_for_equal(deployment, store, mark, self._check)
        found: list[tuple[HistoryNode, T | None]] = []
        for node in store:
            was_down = restarted[node.name]
            try:
                held = read(_ask(deployment, node))
            except Exception as error:  # a server that is down, as each client library says it
                found.append((HistoryNode(node.name, False, nodes.why(error), was_down), None))
            else:
                found.append((HistoryNode(node.name, True, "", was_down), held))
        return found


def _said(read: Sequence[tuple[HistoryNode, object]]) -> tuple[HistoryNode, ...]:
    return tuple(node for node, _ in read)


def _ask(deployment: Deployment, node: Node) -> tables.Ask:
    def ask(sql: str) -> Sequence[Sequence[Any]]:
        return deployment.servers[node.name].run(deployment.database, [sql])

    return ask


def _lists(deployment: Deployment, node: Node) -> object:
    """How long all lists together are."""
    sql = f"SELECT sum(length(elements)) FROM {tables.APPEND}"
    return str(deployment.servers[node.name].run(deployment.database, [sql])[0][0])


def _balances(deployment: Deployment, node: Node) -> object:
    return tuple(sorted(tables.balances(_ask(deployment, node)).items()))
