"""When nodes are read after a load: again, as long as they differ and that may be a matter of the
moment. The nodes are scripted: what they hold changes from one reading to the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno import kinds
from dbdyno.audit import identities
from dbdyno.audit.findings import Audit
from dbdyno.audit.histories import tables
from dbdyno.execute.servers.audits import nodes
from dbdyno.execute.servers.audits.commits import Commits
from dbdyno.execute.servers.audits.histories import Histories
from dbdyno.experiment.types import INSTANCE, PRIMARY, REPLICA, Node
from fixtures.audits import ACKNOWLEDGED, UNKNOWN, Attempt, node, write_log

FIRST, LATE = (0, 0, 0), (0, 1, 0)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAUSE_S", "POLL_S", "CATCH_UP_S"):
        monkeypatch.setattr(nodes, name, 0.0)


class Scripted:
    """A server. `readings`: what it holds each time that its rows are read, the last one for ever;
    `is_open`: the open transactions each time that it is asked for them, then none."""

    kind = "mariadb"

    def __init__(
        self, *readings: Sequence[Any], is_open: Sequence[Sequence[Sequence[object]]] = ()
    ) -> None:
        self.readings = list(readings)
        self.is_open = list(is_open)
        self.reads = 0
        self.asked: list[str] = []

    def run(self, database: str, statements: Sequence[str]) -> Any:
        [sql] = statements
        if sql == kinds.of("mariadb").open_transactions:
            self.asked.append("open")
            return self.is_open.pop(0) if self.is_open else []
        if sql == identities.COUNT or "sum(" in sql:
            return [[1]]  # as the others: it is between two looks that something changes
        self.asked.append("read")
        held = self.readings[min(self.reads, len(self.readings) - 1)]
        self.reads += 1
        return self.rows(sql, held)

    def rows(self, sql: str, held: Sequence[Attempt]) -> Any:
        return node(held)(sql)


class OfLists(Scripted):
    """The same with lists: rows of (id, elements)."""

    def rows(self, sql: str, held: Sequence[Any]) -> Any:
        return held


def pool(*servers: Scripted, alone: bool = False) -> Any:
    roles = (INSTANCE,) if alone else (PRIMARY, REPLICA, REPLICA)
    found = [Node(f"db.{n}" if n > 1 else "db", role) for n, role in enumerate(roles, 1)]
    found = found[: len(servers)]
    target = SimpleNamespace(name="db", kind="mariadb", nodes=found)
    deployment = SimpleNamespace(
        target=target,
        kind="mariadb",
        cluster=None,
        database="d",
        servers={each.name: server for each, server in zip(found, servers, strict=True)},
        roles=lambda: {each.name: each.role for each in found},
    )
    return SimpleNamespace(deployments={"db": deployment})


def audited(directory: Path, log: Sequence[tuple[Attempt, int]], made: Any) -> Audit:
    group = SimpleNamespace(workload="oltp", options={"preset": "write_only"}, target="db")
    cell: Any = SimpleNamespace(audit="commits", groups=[group])
    write_log(directory, [(attempt, outcome, 1.0) for attempt, outcome in log])
    record: Any = SimpleNamespace(metrics={}, replace=lambda **more: SimpleNamespace(**more))
    found = Commits(made, cell, lambda: None).audited(record, directory).audit["db"]
    assert isinstance(found, Audit)
    return found


def test_what_is_committed_between_two_nodes_has_not_diverged(tmp_path: Path) -> None:
    primary, replica = Scripted([FIRST], [FIRST, LATE]), Scripted([FIRST, LATE])
    log = [(FIRST, ACKNOWLEDGED), (LATE, UNKNOWN)]
    found = audited(tmp_path, log, pool(primary, replica))
    assert (found.lost, found.diverged, found.unknown_present) == (0, 0, 1)
    assert (primary.reads, replica.reads) == (2, 2)


def test_an_open_transaction_is_waited_for_before_nodes_are_read_again(tmp_path: Path) -> None:
    waits = [[7, "12:00:00"]]
    primary = Scripted([FIRST], [FIRST, LATE], is_open=[[], waits, waits, waits])
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted([FIRST, LATE])))
    assert found.diverged == 0
    assert primary.asked == ["open", "read", "open", "open", "open", "open", "read"]


def test_what_the_load_sent_last_is_waited_for_before_nodes_are_read(tmp_path: Path) -> None:
    waits = [[7, "12:00:00"]]
    primary = Scripted([FIRST], is_open=[waits, waits])
    audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted([FIRST])))
    assert primary.asked == ["open", "open", "open", "read"]


def test_transactions_that_begin_later_are_not_waited_for(tmp_path: Path) -> None:
    others = [[[number, "12:00:00"]] for number in range(50)]
    primary = Scripted([FIRST], [FIRST, LATE], is_open=others)
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted([FIRST, LATE])))
    assert found.diverged == 0
    assert primary.asked == ["open", "open", "read", "open", "open", "read"]


def test_nodes_that_differ_twice_in_the_same_way_have_diverged(tmp_path: Path) -> None:
    primary, replica = Scripted([FIRST]), Scripted([FIRST, LATE])
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, replica))
    assert (found.diverged, primary.reads, replica.reads) == (1, 2, 2)


def test_nodes_are_read_until_what_differs_stays_the_same(tmp_path: Path) -> None:
    more = [(0, n, 0) for n in range(4)]
    primary = Scripted(*(more[:n] for n in (1, 2, 3, 4)))
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted(more)))
    assert (found.diverged, primary.reads) == (0, 4)


def test_reading_again_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "READ_AGAIN_S", 0.0)
    primary = Scripted([], [FIRST])
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted([FIRST])))
    assert (found.diverged, found.lost, primary.reads) == (1, 1, 1)


def test_an_open_transaction_is_not_waited_for_longer_than_a_commit_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "OPEN_S", 0.0)
    primary = Scripted([FIRST], is_open=[[[7, "12:00:00"]]] * 50)
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, Scripted([FIRST, LATE])))
    assert (found.diverged, primary.asked.count("open")) == (1, 2 * 2)


def test_what_seems_lost_is_looked_for_again(tmp_path: Path) -> None:
    alone = Scripted([], [FIRST])
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(alone, alone=True))
    assert (found.lost, alone.reads) == (0, 2)
    gone = Scripted([])
    assert audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(gone, alone=True)).lost == 1


def test_nodes_that_agree_are_read_once(tmp_path: Path) -> None:
    primary, replica = Scripted([FIRST], []), Scripted([FIRST], [])
    found = audited(tmp_path, [(FIRST, ACKNOWLEDGED)], pool(primary, replica))
    assert (found.lost, found.diverged) == (0, 0)
    assert primary.asked == ["open", "read"]


def test_lists_are_read_again_too(tmp_path: Path) -> None:
    whole, part = [(1, "5,6,")], [(1, "5,")]
    primary, replica = OfLists(part, whole), OfLists(whole)
    cell: Any = SimpleNamespace(audit="append", groups=[])
    made = pool(primary, replica)
    audit = Histories(made, cell, lambda: None)
    deployment = made.deployments["db"]

    def read() -> list[list[int]]:
        found = audit._nodes(deployment, tables.lists, lambda *_: 1, _same)
        return [[*contents[1]] for _, contents in found if contents]

    assert read() == [[5, 6], [5, 6]]
    assert (primary.reads, replica.reads) == (2, 2)
    primary.readings = [part]
    assert read() == [[5], [5, 6]]
    assert (primary.reads, replica.reads) == (4, 4)


def _same(one: Any, other: Any) -> bool:
    return [*one[1]] == [*other[1]]
