"""Transactions, what their steps cost, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.models.cluster.conflicts.keys import conflict

TRANSACTIONS_MAX = 200_000


@dataclass(frozen=True)
class Transaction:
    """One line of a log. `keys`: key -> type; `start_s`: when it asks for its rows; `commit_s`:
    when it asks to commit, were it alone."""

    node: str
    start_s: float
    commit_s: float
    keys: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.commit_s >= self.start_s >= 0:
            raise ValueError("a transaction commits after it starts, and starts at 0 or later")
        for kind in self.keys.values():
            conflict(kind, kind)


@dataclass(frozen=True)
class Costs:
    """Of the cluster, in seconds. `order_s`: from the request to commit until the write-set is
    ordered and delivered everywhere, one round trip of the group; `commit_s`: from there until the
    rows are free and the client has its answer; `apply_s`: of a write-set on another node;
    `backoff_s`: from an error to the next attempt's request for its rows, with the client's
    ROLLBACK and BEGIN. `statement_s`: between two statements of a transaction; a victim that runs
    learns with the next one, 0: at once. `retries`: of a transaction, before it is given up.
    `doubling_s`: a wait before the first retry besides `backoff_s`, which is twice as long before
    each further one, up to `doubling_max_s`."""

    order_s: float = 0.0005
    apply_s: float = 0.0002
    backoff_s: float = 0.0
    retries: int = 1000
    commit_s: float = 0.0
    statement_s: float = 0.0
    doubling_s: float = 0.0
    doubling_max_s: float = 0.0

    def again_s(self, tries: int) -> float:
        """From the error of an attempt, the first, the second..., to the next one."""
        doubled_s = self.doubling_s * 2.0 ** min(tries - 1, 60)
        return self.backoff_s + min(doubled_s, self.doubling_max_s)


@dataclass(frozen=True)
class Outcome:
    """What became of the transactions; latencies in s, from the start to the commit, retries
    included. `attempts` = committed + both kinds of failure. `rows_taken`: attempts that lost rows
    to an applier, in whatever state: the server's wsrep_local_bf_aborts. Most of those that fail
    certification are among them."""

    committed: int
    certification_failures: int
    aborts_at_apply: int
    given_up: int
    mean_s: float
    p99_s: float
    length_s: float
    rows_taken: int = 0

    @property
    def victims(self) -> int:
        """Attempts that failed."""
        return self.certification_failures + self.aborts_at_apply

    @property
    def attempts(self) -> int:
        """All attempts."""
        return self.committed + self.victims

    @property
    def victim_share(self) -> float:
        """Of all attempts."""
        return self.victims / self.attempts if self.attempts else 0.0
