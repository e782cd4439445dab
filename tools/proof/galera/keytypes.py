"""Which types of certification keys conflict, asked of real nodes.

A write-set of n1 is ordered while n2's applier is busy with a large one, so that n2 has not applied
it when a transaction there asks to commit: what becomes of that one is decided by the types of the
two keys alone. A foreign key makes a reference, another column an update, the key itself an
exclusive one (`dbdyno.models.cluster.conflicts.keys`).

A transaction that passes commits in its order, behind the large one: if it did not have to wait,
n2 had just finished, nothing was decided, and the pair is tried again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pymysql
from tools.proof.galera.conflicts import DEADLOCK
from tools.proof.galera.nodes import Node, Nodes, until

from dbdyno.models.cluster.conflicts.keys import EXCLUSIVE, REFERENCE, UPDATE, conflict

STATEMENTS = {
    REFERENCE: "INSERT INTO keytypes.child (parent) VALUES ({key})",
    UPDATE: "UPDATE keytypes.parent SET v = v + 1 WHERE id = {key}",
    EXCLUSIVE: "UPDATE keytypes.parent SET id = id + 100000 WHERE id = {key}",
}
ROWS = 60_000  # of the large write-set: a second or so to apply
KEYS = 1000
TRIES = 10
WAITED_S = 0.1  # longer than a commit without waits
SETTLED_S = 60.0


@dataclass(frozen=True)
class Pair:
    """Two transactions on one key from two nodes, in the order of their write-sets. `fails`: the
    second one does; `aborted`: its locks were taken by force, whether or not it was replayed."""

    first: str
    second: str
    fails: bool
    aborted: bool

    @property
    def as_predicted(self) -> bool:
        """Whether certification decided as the model does."""
        return self.fails == conflict(self.first, self.second)


def measure(cluster: Nodes) -> list[Pair]:
    """All pairs, with n1's write-set first. RuntimeError if n2 was never busy."""
    one, other, *_ = cluster.nodes.values()
    _prepare(one)
    keys = iter(range(1, KEYS))
    return [_pair(one, other, keys, *types) for types in itertools.product(STATEMENTS, repeat=2)]


def _prepare(node: Node) -> None:
    for statement in (
        "CREATE OR REPLACE DATABASE keytypes",
        "CREATE TABLE keytypes.parent (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
        "CREATE TABLE keytypes.child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT,"
        " FOREIGN KEY (parent) REFERENCES keytypes.parent (id)) ENGINE=InnoDB",
        "CREATE TABLE keytypes.large (id INT PRIMARY KEY, v INT, w CHAR(200)) ENGINE=InnoDB",
        f"INSERT INTO keytypes.parent SELECT seq, 0 FROM keytypes.seq_1_to_{KEYS}",
        f"INSERT INTO keytypes.large SELECT seq, 0, 'x' FROM keytypes.seq_1_to_{ROWS}",
    ):
        node.ask(statement, SETTLED_S)


def _pair(one: Node, other: Node, keys: Iterator[int], first: str, second: str) -> Pair:
    for key in itertools.islice(keys, TRIES):
        if not until(lambda: _idle(one, other), SETTLED_S):
            break
        before = _aborts(other)
        with other.connect(SETTLED_S) as session, session.cursor() as cursor:
            one.ask("UPDATE keytypes.large SET v = v + 1", SETTLED_S)
            one.ask(STATEMENTS[first].format(key=key))
            busy = _waiting(other)
            fails, begun = False, time.monotonic()
            try:
                cursor.execute(STATEMENTS[second].format(key=key))
            except pymysql.MySQLError as error:
                fails = error.args[0] == DEADLOCK
            has_waited = time.monotonic() - begun > WAITED_S
        time.sleep(0.2)  # counters follow
        if busy and (fails or has_waited):
            return Pair(first, second, fails, _aborts(other) > before)
    raise RuntimeError(f"{other.name} applied everything before it could be asked")


def _idle(one: Node, other: Node) -> bool:
    return not _waiting(other) and _last(other) >= _last(one)


def _waiting(node: Node) -> int:
    return int(node.status()["wsrep_local_recv_queue"])


def _last(node: Node) -> int:
    return int(node.status()["wsrep_last_committed"])


def _aborts(node: Node) -> int:
    return int(node.status()["wsrep_local_bf_aborts"])
