"""Hot rows, written by sessions of one node or of several: what clients and servers count."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from tools.proof.galera.nodes import Node, Nodes
from tools.proof.galera.session import ANSWER_S, Session, packet

SESSIONS = 2  # of each node
ROWS_MAX = 100
DEADLOCK = 1213
COUNTERS = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
BEGIN, COMMIT, ROLLBACK = packet("BEGIN"), packet("COMMIT"), packet("ROLLBACK")
ROLLED_BACK = 10  # of transactions that nobody else's touch, one in so many


@dataclass(frozen=True)
class Steps:
    """Mean times of a client's statements on rows without other writers, in s."""

    begin_s: float
    update_s: float
    commit_s: float
    rollback_s: float


@dataclass(frozen=True)
class Counted:
    """Of all writers together. `errors`: 1213 that clients saw; the others: servers' counters."""

    committed: int
    errors: int
    certification_failures: int
    aborts_at_apply: int
    length_s: float


def together(rounds: Sequence[Counted]) -> Counted:
    """Of several times of the same writers."""
    return Counted(
        sum(one.committed for one in rounds),
        sum(one.errors for one in rounds),
        sum(one.certification_failures for one in rounds),
        sum(one.aborts_at_apply for one in rounds),
        sum(one.length_s for one in rounds),
    )


def mean(rounds: Sequence[Steps]) -> Steps:
    """Of several times of the same writers."""
    names = ("begin_s", "update_s", "commit_s", "rollback_s")
    return Steps(*(fmean(getattr(one, name) for one in rounds) for name in names))


def prepare(node: Node) -> None:
    """The rows: hot ones from 1 on, and one of its own for each session."""
    rows = ",".join(f"({row},0)" for row in range(1, 2 * ROWS_MAX))
    node.ask("CREATE DATABASE IF NOT EXISTS watched")
    node.ask("CREATE TABLE watched.hot (id INT PRIMARY KEY, n BIGINT NOT NULL)")
    node.ask(f"INSERT INTO watched.hot VALUES {rows}")


def measure(nodes: Nodes, writers: Sequence[str], length_s: float, rows: int = 1) -> Counted:
    """Transactions of one UPDATE of one of so many rows, one after the other in each session; one
    that fails begins again at once, until it is committed."""
    updates = [_update(row) for row in range(1, rows + 1)]
    committed: list[int] = []
    errors: list[int] = []

    def write(session: Session, number: int, end_s: float) -> None:
        draw = random.Random(number)
        done, update = 0, draw.choice(updates)
        while time.monotonic() < end_s:
            for statement in (BEGIN, update, COMMIT):
                if code := session.ask(statement):
                    errors.append(code)
                    session.ask(ROLLBACK)
                    break
            else:
                done, update = done + 1, draw.choice(updates)
        committed.append(done)

    before = [_counters(nodes[name]) for name in writers]
    _in_sessions(nodes, writers, length_s, write)
    after = [_counters(nodes[name]) for name in writers]
    failures, aborts = (
        sum(b[i] - a[i] for a, b in zip(before, after, strict=True)) for i in range(2)
    )
    deadlocks = sum(code == DEADLOCK for code in errors)
    return Counted(sum(committed), deadlocks, failures, aborts, length_s)


def steps(nodes: Nodes, writers: Sequence[str], length_s: float) -> Steps:
    """The same sessions, each with a row of its own: no lock waits, no failures."""
    spent: dict[bytes, list[float]] = {BEGIN: [], COMMIT: [], ROLLBACK: [], b"": []}

    def write(session: Session, number: int, end_s: float) -> None:
        update, turn = _update(ROWS_MAX + number), 0
        while turn < 2 or time.monotonic() < end_s:
            for statement in (BEGIN, update, COMMIT if turn % ROLLED_BACK else ROLLBACK):
                begun = time.monotonic()
                if code := session.ask(statement):
                    raise RuntimeError(f"error {code} on a row that nobody else writes")
                spent[statement if statement in spent else b""].append(time.monotonic() - begun)
            turn += 1

    _in_sessions(nodes, writers, length_s, write)
    return Steps(*(fmean(spent[statement]) for statement in (BEGIN, b"", COMMIT, ROLLBACK)))


def _in_sessions(
    nodes: Nodes,
    writers: Sequence[str],
    length_s: float,
    write: Callable[[Session, int, float], None],
) -> None:
    """Runs it in a thread for each session, all from one moment on."""
    begun = threading.Barrier(SESSIONS * len(writers))

    def run(node: Node, number: int) -> None:
        with Session(node) as session:
            begun.wait(ANSWER_S)
            write(session, number, time.monotonic() + length_s)

    threads = [
        threading.Thread(target=run, args=(node, number), daemon=True)
        for number, node in enumerate(_nodes_of(nodes, writers))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(length_s + ANSWER_S)


def _nodes_of(nodes: Nodes, writers: Sequence[str]) -> Iterator[Node]:
    for name in writers:
        yield from [nodes[name]] * SESSIONS


def _update(row: int) -> bytes:
    return packet(f"UPDATE watched.hot SET n = n + 1 WHERE id = {row}")


def _counters(node: Node) -> tuple[int, int]:
    status = node.status()
    failures, aborts = (int(status[name]) for name in COUNTERS)
    return failures, aborts
