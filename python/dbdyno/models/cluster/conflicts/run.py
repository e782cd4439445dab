"""A discrete-event simulation of write-sets that are ordered, certified and applied.

A transaction takes its rows on its node with ordinary locks, first come, first served. Its request
to commit sends the write-set, which is ordered and delivered everywhere `order_s` later. There it
fails certification if for one of its keys a conflicting write-set of another node is newer than
the last that its own node had committed when it was sent, or if more than `CERT_WINDOW` write-sets
lie between. If it passes, each node commits it in the order of the group: its own after `commit_s`,
another one when its applier, one write-set after the other, has had the rows for `apply_s`.

The applier takes rows by force. Who waits for one fails at once; who holds one loses it at once,
and learns with the next statement; who has sent its write-set learns when that is ordered, behind
the one that it conflicts with, and has failed certification. A transaction that loses its rows and
passes (locks collide, keys do not) is replayed: it commits.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from statistics import fmean

from dbdyno.models.cluster.conflicts.keys import conflict, is_shared
from dbdyno.models.cluster.conflicts.locks import Locks
from dbdyno.models.cluster.conflicts.transaction import Costs, Outcome, Transaction

CERT_WINDOW = 16_384


class _State(Enum):
    WAITS = auto()  # for its rows
    RUNS = auto()
    SENT = auto()
    ORDERED = auto()  # and certified
    ENDED = auto()


@dataclass(eq=False)
class _Attempt:
    """One try of a transaction."""

    what: Transaction
    since_s: float  # of the first try
    tries: int = 1
    state: _State = _State.WAITS
    lacks: list[str] = field(default_factory=list)  # rows that it has not asked for yet
    has_s: float = 0.0  # when it had all of them
    saw: int = 0  # number of the last write-set committed on its node when it was sent
    is_victim: bool = False


@dataclass(eq=False)
class _Turn:
    """Place of a write-set in the order of commits of a node; `own`: the attempt that made it."""

    number: int
    keys: Mapping[str, str]
    own: _Attempt | None = None
    lacks: int = 0  # rows that the applier waits for
    is_ready: bool = False


@dataclass(eq=False)
class _Node:
    """What one node knows."""

    locks: Locks[_Attempt | _Turn] = field(default_factory=Locks)
    turns: deque[_Turn] = field(default_factory=deque)
    received: deque[_Turn] = field(default_factory=deque)  # the applier works on the first
    seen: int = 0  # number of the last that was committed here


class Run:
    """Transactions come by `begin_at`, before or (`when_done`) while it runs."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.when_done: Callable[[str, float], None] = lambda node, now_s: None
        self._queue: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = itertools.count()
        self._nodes: dict[str, _Node] = {}
        self._ordered = 0
        # key -> (number, node, type) of the newest write-sets
        self._index: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self._failures = self._aborts = self._taken = self._given_up = 0
        self._latencies: list[float] = []
        self._last_s = 0.0

    def begin_at(self, now_s: float, what: Transaction) -> None:
        """A transaction that asks for its rows then."""
        self._nodes.setdefault(what.node, _Node())  # which applies what others write
        self._at(now_s, lambda t: self._begin(_Attempt(what, t), t))

    def finish(self) -> Outcome:
        """Runs until nothing is left to do."""
        while self._queue:
            now_s, _, act = heapq.heappop(self._queue)
            self._last_s = now_s
            act(now_s)
        spent = sorted(self._latencies)
        return Outcome(
            len(spent),
            self._failures,
            self._aborts,
            self._given_up,
            fmean(spent) if spent else 0.0,
            spent[min(len(spent) - 1, int(0.99 * len(spent)))] if spent else 0.0,
            self._last_s,
            self._taken,
        )

    def _at(self, moment_s: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._queue, (moment_s, next(self._order), act))

    # On its node, until it is sent.

    def _begin(self, one: _Attempt, now_s: float) -> None:
        one.lacks = sorted(one.what.keys, reverse=True)
        self._lock(one, now_s)

    def _lock(self, one: _Attempt, now_s: float) -> None:
        """Takes its rows in order; waits for the first that is taken, then goes on."""
        locks = self._nodes[one.what.node].locks
        while one.lacks:
            key = one.lacks.pop()
            if not locks.ask(one, key, is_shared(one.what.keys[key])):
                return
        one.state, one.has_s = _State.RUNS, now_s
        self._at(now_s + one.what.commit_s - one.what.start_s, lambda t: self._send(one, t))

    def _send(self, one: _Attempt, now_s: float) -> None:
        if one.state is not _State.RUNS:
            return
        if one.is_victim:
            self._fail(one, now_s)
            return
        one.state, one.saw = _State.SENT, self._nodes[one.what.node].seen
        self._at(now_s + self.costs.order_s, lambda t: self._certify(one, t))

    def _fail(self, one: _Attempt, now_s: float) -> None:
        """The client has its error; it tries again, or the transaction is given up."""
        was_sent = one.state is _State.SENT
        self._failures, self._aborts = self._failures + was_sent, self._aborts + (not was_sent)
        one.state = _State.ENDED
        self._free(self._nodes[one.what.node], one, now_s)
        if one.tries > self.costs.retries:
            self._given_up += 1
            self.when_done(one.what.node, now_s)
            return
        again = _Attempt(one.what, one.since_s, one.tries + 1)
        self._at(now_s + self.costs.again_s(one.tries), lambda t: self._begin(again, t))

    def _free(self, node: _Node, owner: _Attempt | _Turn, now_s: float) -> None:
        """It has no rows any more; those behind it go on."""
        for other in node.locks.leave(owner):
            if isinstance(other, _Attempt):
                self._lock(other, now_s)
            else:
                other.lacks -= 1
                if not other.lacks:
                    self._write(node, other, now_s)

    # In the order of the group.

    def _certify(self, one: _Attempt, now_s: float) -> None:
        """Ordered now: it passes, and every node commits it, or it fails."""
        self._ordered += 1
        number, home = self._ordered, one.what.node
        too_old = number - one.saw > CERT_WINDOW
        if too_old or any(self._newer(key, kind, one) for key, kind in one.what.keys.items()):
            self._fail(one, now_s)
            return
        for key, kind in one.what.keys.items():
            entries = self._index[key]
            entries[:] = [
                e for e in entries if number - e[0] <= CERT_WINDOW and e[1:] != (home, kind)
            ]
            entries.append((number, home, kind))
        one.state = _State.ORDERED
        for name, node in self._nodes.items():
            if name != home:
                self._receive(node, _Turn(number, one.what.keys), now_s)
        own, turn = self._nodes[home], _Turn(number, one.what.keys, one)
        own.turns.append(turn)
        self._at(now_s + self.costs.commit_s, lambda t: self._ready(own, turn, t))

    def _newer(self, key: str, kind: str, one: _Attempt) -> bool:
        """Whether a conflicting entry from another node is newer than what it had seen."""
        return any(
            number > one.saw and node != one.what.node and conflict(kind, other)
            for number, node, other in self._index.get(key, ())
        )

    # On every node, in that order.

    def _receive(self, node: _Node, turn: _Turn, now_s: float) -> None:
        node.turns.append(turn)
        node.received.append(turn)
        if node.received[0] is turn:
            self._apply(node, turn, now_s)

    def _apply(self, node: _Node, turn: _Turn, now_s: float) -> None:
        """The applier turns to it, and takes its rows from all that are not ordered yet."""
        wanted = [(key, is_shared(kind)) for key, kind in sorted(turn.keys.items())]
        turn.lacks = sum([not node.locks.ask(turn, *each, first=True) for each in wanted])
        if not turn.lacks:
            self._write(node, turn, now_s)
        for each in wanted:
            for other in node.locks.against(*each):
                if isinstance(other, _Attempt) and other.state is not _State.ORDERED:
                    self._lose(node, other, now_s)

    def _lose(self, node: _Node, one: _Attempt, now_s: float) -> None:
        """A victim has no rows any more; when its client learns depends on what it does."""
        one.is_victim = True
        self._taken += 1
        if one.state is _State.WAITS:
            self._fail(one, now_s)
            return
        self._free(node, one, now_s)
        step_s = self.costs.statement_s
        if one.state is _State.RUNS:
            steps = math.ceil((now_s - one.has_s) / step_s) if step_s else 0
            self._at(max(now_s, one.has_s + steps * step_s), lambda t: self._learn(one, t))

    def _learn(self, one: _Attempt, now_s: float) -> None:
        if one.state is _State.RUNS:
            self._fail(one, now_s)

    def _write(self, node: _Node, turn: _Turn, now_s: float) -> None:
        self._at(now_s + self.costs.apply_s, lambda t: self._ready(node, turn, t))

    def _ready(self, node: _Node, turn: _Turn, now_s: float) -> None:
        """Commits it and those behind it that are ready, if all before it have been."""
        turn.is_ready = True
        while node.turns and node.turns[0].is_ready:
            self._commit(node, node.turns.popleft(), now_s)

    def _commit(self, node: _Node, turn: _Turn, now_s: float) -> None:
        node.seen = turn.number
        if turn.own is not None:
            turn.own.state = _State.ENDED
            self._latencies.append(now_s - turn.own.since_s)
            self._free(node, turn.own, now_s)
            self.when_done(turn.own.what.node, now_s)
            return
        self._free(node, turn, now_s)
        node.received.popleft()
        if node.received:
            self._apply(node, node.received[0], now_s)
