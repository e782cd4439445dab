"""One hot row, written by sessions of one node or of several: what the servers count."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pymysql
from tools.proof.galera.nodes import Node, Nodes

SESSIONS = 2  # of each node
DEADLOCK = 1213
ANSWER_S = 20.0
COUNTERS = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")


@dataclass(frozen=True)
class Counted:
    """Of all writers together. `errors`: 1213 that clients saw; `execute_s`, `commit_s`: medians of
    the statement and of COMMIT where they succeeded."""

    committed: int
    errors: int
    certification_failures: int
    aborts_at_apply: int
    execute_s: float
    commit_s: float
    length_s: float

    @property
    def victims(self) -> int:
        """By the servers' counters."""
        return self.certification_failures + self.aborts_at_apply


def together(rounds: Sequence[Counted]) -> Counted:
    """Of several times of the same writers."""
    return Counted(
        sum(one.committed for one in rounds),
        sum(one.errors for one in rounds),
        sum(one.certification_failures for one in rounds),
        sum(one.aborts_at_apply for one in rounds),
        statistics.median(one.execute_s for one in rounds),
        statistics.median(one.commit_s for one in rounds),
        sum(one.length_s for one in rounds),
    )


def prepare(node: Node) -> None:
    """The row."""
    node.ask("CREATE DATABASE IF NOT EXISTS watched")
    node.ask("CREATE TABLE watched.hot (id INT PRIMARY KEY, n BIGINT NOT NULL)")
    node.ask("INSERT INTO watched.hot VALUES (1, 0)")


def measure(nodes: Nodes, writers: Sequence[str], length_s: float) -> Counted:
    """Transactions of one UPDATE, one after the other in each session, for a time."""
    before = [_counters(nodes[name]) for name in writers]
    end = time.monotonic() + length_s
    spent: list[tuple[float, float]] = []
    errors: list[int] = []

    def write(node: Node) -> None:
        with node.connect(ANSWER_S) as session, session.cursor() as cursor:
            while time.monotonic() < end:
                begun = time.monotonic()
                try:
                    cursor.execute("BEGIN")
                    cursor.execute("UPDATE watched.hot SET n = n + 1 WHERE id = 1")
                    between = time.monotonic()
                    cursor.execute("COMMIT")
                except pymysql.MySQLError as error:
                    errors.append(int(error.args[0]))
                    cursor.execute("ROLLBACK")
                    continue
                spent.append((between - begun, time.monotonic() - between))

    threads = [
        threading.Thread(target=write, args=(nodes[name],), daemon=True)
        for name in writers
        for _ in range(SESSIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(length_s + ANSWER_S)
    after = [_counters(nodes[name]) for name in writers]
    failures, aborts = (
        sum(b[i] - a[i] for a, b in zip(before, after, strict=True)) for i in range(2)
    )
    return Counted(
        len(spent),
        sum(code == DEADLOCK for code in errors),
        failures,
        aborts,
        statistics.median(one[0] for one in spent) if spent else 0.0,
        statistics.median(one[1] for one in spent) if spent else 0.0,
        length_s,
    )


def _counters(node: Node) -> tuple[int, int]:
    status = node.status()
    failures, aborts = (int(status[name]) for name in COUNTERS)
    return failures, aborts
