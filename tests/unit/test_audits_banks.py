"""Sums of banks, and what tables are set back to and read as."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest

from dbdyno.audit.histories import bank, log, tables
from dbdyno.audit.histories.bank import Bank, BankNode
from dbdyno.audit.outcomes import ACKNOWLEDGED, FAILED, UNKNOWN
from fixtures import histories

BANK = Bank(3, 100)
EVEN = {0: 90, 1: 110, 2: 100}


def read(
    session: int, total: int, least: int = 50, count: int = 3, outcome: int = ACKNOWLEDGED
) -> Any:
    return (session, 0, outcome, log.READ, 4, 10, 2_000_000_000, 0, 0, 1, total, least, count)


def transfer(outcome: int) -> Any:
    return (5, 0, outcome, log.WRITE, 1, 10, 20, 2, 0, 1, 95, 0, 0)


def check(*rows: Any, nodes: Sequence[BankNode] = (BankNode(EVEN),)) -> bank.Findings:
    return bank.check(histories.history(rows), [0], BANK, nodes)


def test_reads_of_the_whole_sum_are_right() -> None:
    found = check(read(0, 300), transfer(ACKNOWLEDGED), transfer(UNKNOWN), read(1, 300))
    assert found.counts == {"wrong_sums": 0, "negative": 0, "diverged": 0}
    assert (found.judged, found.unknown) == (3, 1), "the node is a read, too"


def test_a_wrong_sum_has_an_example() -> None:
    found = check(read(0, 300), read(1, 295), read(2, 200, count=2), read(3, 0, outcome=FAILED))
    assert found.counts["wrong_sums"] == 2
    assert found.examples["wrong_sums"] == (
        "session 1, transaction 4 read 3 accounts with 295 together instead of 300, the smallest"
        " 50, at 2.000000 s"
    )


def test_negative_balances_and_nodes_that_differ() -> None:
    other = BankNode({0: -10, 1: 210, 2: 100})
    found = check(read(0, 300, least=-5), nodes=[BankNode(EVEN), other])
    assert found.counts == {"wrong_sums": 0, "negative": 2, "diverged": 2}
    unread = check(read(0, 300), nodes=[BankNode(EVEN), BankNode(None)])
    assert unread.counts["diverged"] is None


def test_a_sum_that_is_wrong_in_the_end() -> None:
    found = check(nodes=[BankNode({0: 100, 1: 100, 2: 99})])
    assert found.counts["wrong_sums"] == 1
    assert found.examples["wrong_sums"] == "after the load the sum is 299 instead of 300"


@pytest.mark.parametrize(
    ("check_", "create", "changed"),
    [
        ("register", "id TEXT, content TEXT", ("a", "0000000000000000017")),
        ("append", "id INTEGER, elements TEXT", (1, "17,")),
        ("bank", "id INTEGER, balance INTEGER", (1, 99)),
    ],
)
def test_tables_are_set_back(check_: str, create: str, changed: tuple[Any, Any]) -> None:
    name = {"register": tables.REGISTER, "append": tables.APPEND, "bank": tables.BANK}[check_]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE {name} ({create})")
    connection.execute(f"INSERT INTO {name} VALUES (?, ?)", changed)
    change, remaining = tables.reset(check_, balance=100)
    assert connection.execute(remaining).fetchone() == (1,)
    connection.execute(change)
    assert connection.execute(remaining).fetchone() == (0,)


def test_lists_are_read_in_pages() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE {tables.APPEND} (id INTEGER PRIMARY KEY, elements TEXT)")
    rows = [(number, f"{number},7," if number % 3 else "") for number in range(20)]
    connection.executemany(f"INSERT INTO {tables.APPEND} VALUES (?, ?)", rows)
    found = tables.lists(lambda sql: connection.execute(sql).fetchall(), page=4)
    assert {key: each.tolist() for key, each in found.items()} == {
        number: [number, 7] for number in range(20) if number % 3
    }
