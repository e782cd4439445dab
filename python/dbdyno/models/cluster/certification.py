"""Transactions that write the same rows on several nodes: who fails, where, and what it costs.

A transaction runs on its node with ordinary row locks, then its write-set is sent, ordered and
certified everywhere. It fails certification if, for one of its keys, a conflicting write-set from
another node was ordered before it and had not been applied on its node when it was sent, or if more
than `CERT_WINDOW` write-sets were ordered since what it had seen. Before it is sent it can be the
victim of a write-set that is applied and needs its row: an abort at apply. Both give the client
error 1213; the server counts them as wsrep_local_cert_failures and wsrep_local_bf_aborts.
Transactions of one node never conflict: they wait for each other's locks
(https://galeracluster.com/library/documentation/certification-based-replication.html).

A discrete-event simulation, a pure function of its arguments. A row is locked from the begin of
the transaction that writes it; order and delivery take `order_s` after the request to commit,
everywhere at the same moment; a write-set holds its rows for `apply_s` on the other nodes. Held
against real nodes (`make proof ROWS=cluster`), it says of one hot row on two nodes 1.3 to 1.5
times the commits, 0.6 to 1.3 times the aborts at apply and 2.3 to 3.4 times the certification
failures: an order of magnitude, no count.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from dbdyno.models.cluster.keys import UPDATE, collide, conflict, is_shared

CERT_WINDOW = 16_384
TRANSACTIONS_MAX = 200_000
_DONE, _FAILED_CERTIFICATION, _ABORTED = "committed", "certification", "apply"


@dataclass(frozen=True)
class Transaction:
    """One line of a log. `keys`: key -> type; `commit_s`: when it asks to commit, were it alone."""

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
    ordered and delivered; `apply_s`: of a write-set on another node; `backoff_s`: from an error to
    the next attempt. `retries`: of a transaction, before it is given up."""

    order_s: float = 0.0005
    apply_s: float = 0.0002
    backoff_s: float = 0.0
    retries: int = 1000


@dataclass(frozen=True)
class Outcome:
    """What became of the transactions; latencies in s, from the start to the commit, retries
    included. `attempts` = committed + both kinds of failure."""

    committed: int
    certification_failures: int
    aborts_at_apply: int
    given_up: int
    mean_s: float
    p99_s: float
    length_s: float

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


def of_log(log: Sequence[Transaction], costs: Costs | None = None) -> Outcome:
    """Runs a log: each transaction starts when the log says, whatever became of others."""
    if len(log) > TRANSACTIONS_MAX:
        raise ValueError(f"at most {TRANSACTIONS_MAX:,} transactions")
    run = _Run(costs or Costs())
    for one in log:
        run.begin_at(one.start_s, one)
    return run.finish()


def of_sessions(
    sessions: Mapping[str, int],
    draw: Callable[[random.Random], Mapping[str, str]],
    execute_s: float,
    length_s: float,
    costs: Costs | None = None,
    seed: int = 0,
) -> Outcome:
    """Closed loops: so many sessions on each node, each with one transaction after the other for a
    time. `draw` gives the keys of the next one."""
    rng = random.Random(seed)
    run = _Run(costs or Costs())

    def next_one(node: str, now_s: float) -> None:
        if now_s < length_s:
            length = rng.expovariate(1 / execute_s) if execute_s else 0.0
            run.begin_at(now_s, Transaction(node, now_s, now_s + length, draw(rng)))

    run.when_done = next_one
    for node, count in sessions.items():
        for _ in range(count):
            next_one(node, 0.0)
    return run.finish()


def poisson_log(
    rates: Mapping[str, float],
    draw: Callable[[random.Random], Mapping[str, str]],
    execute_s: float,
    length_s: float,
    seed: int = 0,
) -> list[Transaction]:
    """Arrivals at a rate on each node, for a time; each runs for an exponential time."""
    rng = random.Random(seed)
    log: list[Transaction] = []
    for node, rate in rates.items():
        now = 0.0
        while rate > 0 and (now := now + rng.expovariate(rate)) < length_s:
            length = rng.expovariate(1 / execute_s) if execute_s else 0.0
            log.append(Transaction(node, now, now + length, draw(rng)))
    return sorted(log, key=lambda one: one.start_s)


def hot_rows(rows: int, share: float) -> Callable[[random.Random], Mapping[str, str]]:
    """One row a transaction: with that probability one of `rows` hot ones, else one of its own."""
    own = itertools.count()

    def draw(rng: random.Random) -> Mapping[str, str]:
        hot = rng.random() < share
        return {f"hot{rng.randrange(rows)}" if hot else f"own{next(own)}": UPDATE}

    return draw


def single_writer(log: Iterable[Transaction]) -> list[Transaction]:
    """The same transactions, all on one node."""
    return [Transaction("writer", one.start_s, one.commit_s, one.keys) for one in log]


@dataclass(eq=False)
class _Attempt:
    """One try of a transaction: running, waiting for a lock, or sent."""

    what: Transaction
    since_s: float  # of the first try
    tries: int = 0
    held: set[str] = field(default_factory=set)
    sent: bool = False
    ended: bool = False
    saw: int = 0  # number of the last write-set applied on its node when it was sent


class _Run:
    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.when_done: Callable[[str, float], None] = lambda node, now_s: None
        self._queue: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = itertools.count()
        self._ordered = self._seen = 0
        # (node, key) -> who has the lock, and who waits for it; an applied write-set is None
        self._locks: dict[tuple[str, str], _Attempt | None] = {}
        self._sharers: dict[tuple[str, str], list[_Attempt]] = {}
        self._waiting: dict[tuple[str, str], deque[_Attempt]] = defaultdict(deque)
        # key -> (number, node, type) of the newest write-sets, and when each was applied elsewhere
        self._index: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self._applied_until: list[tuple[float, int]] = []
        self._counts = {_DONE: 0, _FAILED_CERTIFICATION: 0, _ABORTED: 0}
        self._given_up = 0
        self._latencies: list[float] = []
        self._last_s = 0.0

    def begin_at(self, now_s: float, what: Transaction) -> None:
        """A transaction that starts then."""
        one = _Attempt(what, now_s)
        self._at(now_s, lambda t: self._begin(one, t))

    def finish(self) -> Outcome:
        """Runs until nothing is left to do."""
        while self._queue:
            now_s, _, act = heapq.heappop(self._queue)
            self._last_s = now_s
            act(now_s)
        spent = sorted(self._latencies)
        return Outcome(
            self._counts[_DONE],
            self._counts[_FAILED_CERTIFICATION],
            self._counts[_ABORTED],
            self._given_up,
            fmean(spent) if spent else 0.0,
            spent[min(len(spent) - 1, int(0.99 * len(spent)))] if spent else 0.0,
            self._last_s,
        )

    def _at(self, moment_s: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._queue, (moment_s, next(self._order), act))

    def _begin(self, one: _Attempt, now_s: float) -> None:
        one.tries += 1
        self._lock(one, now_s)

    def _lock(self, one: _Attempt, now_s: float) -> None:
        """Takes its rows in order; waits for the first that is taken, then goes on."""
        if one.ended:
            return
        for key in sorted(one.what.keys):
            place = one.what.node, key
            if key in one.held:
                continue
            if not self._take(place, one):
                self._waiting[place].append(one)
                return
        length = one.what.commit_s - one.what.start_s
        self._at(now_s + length, lambda t: self._send(one, t))

    def _take(self, place: tuple[str, str], one: _Attempt) -> bool:
        """Whether it gets the lock of a row, shared or alone."""
        if place in self._locks:
            return False
        if is_shared(one.what.keys[place[1]]):
            self._sharers.setdefault(place, []).append(one)
        elif place in self._sharers:
            return False
        else:
            self._locks[place] = one
        one.held.add(place[1])
        return True

    def _send(self, one: _Attempt, now_s: float) -> None:
        if one.ended:
            return
        one.sent = True
        one.saw = self._applied(now_s)
        self._at(now_s + self.costs.order_s, lambda t: self._certify(one, t))

    def _applied(self, now_s: float) -> int:
        """The last write-set of which all before it have been applied too."""
        while self._applied_until and self._applied_until[0][0] <= now_s:
            self._seen = heapq.heappop(self._applied_until)[1]
        return self._seen

    def _certify(self, one: _Attempt, now_s: float) -> None:
        """Ordered now: it passes, and everybody applies it, or it fails."""
        self._ordered += 1
        number, node = self._ordered, one.what.node
        too_old = number - one.saw > CERT_WINDOW
        if too_old or any(self._newer(key, kind, one) for key, kind in one.what.keys.items()):
            self._fail(one, now_s, _FAILED_CERTIFICATION)
            return
        for key, kind in one.what.keys.items():
            entries = self._index[key]
            entries[:] = [
                e for e in entries if number - e[0] <= CERT_WINDOW and e[1:] != (node, kind)
            ]
            entries.append((number, node, kind))
        self._apply_elsewhere(one, number, now_s)
        one.ended = True
        self._counts[_DONE] += 1
        self._latencies.append(now_s - one.since_s)
        self._release(one, now_s)
        self.when_done(node, now_s)

    def _newer(self, key: str, kind: str, one: _Attempt) -> bool:
        """Whether a conflicting entry from another node is newer than what it had seen."""
        return any(
            number > one.saw and node != one.what.node and conflict(kind, other)
            for number, node, other in self._index.get(key, ())
        )

    def _apply_elsewhere(self, one: _Attempt, number: int, now_s: float) -> None:
        """Its rows are taken on the other nodes, by force from those that have not been sent."""
        done_s = now_s + self.costs.apply_s
        heapq.heappush(self._applied_until, (done_s, number))
        places = {*self._locks, *self._sharers}
        for place in sorted(p for p in places if p[1] in one.what.keys and p[0] != one.what.node):
            kind = one.what.keys[place[1]]
            holders = [*self._sharers.get(place, ()), self._locks.get(place)]
            victims = [
                holder
                for holder in holders
                if holder is not None
                and not holder.sent
                and collide(kind, holder.what.keys[place[1]])
            ]
            for holder in victims:
                self._fail(holder, now_s, _ABORTED)
            free = place not in self._locks and place not in self._sharers
            if victims and free and self.costs.apply_s and not is_shared(kind):
                self._locks[place] = None
                self._at(done_s, lambda t, p=place: self._free(p, t))  # type: ignore[misc]

    def _fail(self, one: _Attempt, now_s: float, where: str) -> None:
        self._counts[where] += 1
        one.ended = True
        self._release(one, now_s)
        if one.tries > self.costs.retries:
            self._given_up += 1
            self.when_done(one.what.node, now_s)
            return
        again = _Attempt(one.what, one.since_s, one.tries)
        self._at(now_s + self.costs.backoff_s, lambda t: self._begin(again, t))

    def _release(self, one: _Attempt, now_s: float) -> None:
        held, one.held = sorted(one.held), set()
        for key in held:
            place = one.what.node, key
            sharers = self._sharers.get(place, [])
            if one in sharers:
                sharers.remove(one)
                if not sharers:
                    del self._sharers[place]
                    self._wake(place, now_s)
            else:
                self._free(place, now_s)

    def _free(self, place: tuple[str, str], now_s: float) -> None:
        self._locks.pop(place, None)
        self._wake(place, now_s)

    def _wake(self, place: tuple[str, str], now_s: float) -> None:
        """Those that wait get the lock in their order, at once: nobody may slip in between."""
        waiting = deque(one for one in self._waiting.pop(place, ()) if not one.ended)
        while waiting and self._take(place, waiting[0]):
            first = waiting.popleft()
            self._at(now_s, lambda t, one=first: self._lock(one, t))  # type: ignore[misc]
        if waiting:
            self._waiting[place] = waiting
