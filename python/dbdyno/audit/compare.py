"""Compares the outcomes that clients saw with what nodes hold. Pure.

Nodes form stores. All nodes of a store shall hold the same rows, as a primary and its replicas do;
each store has rows of its own, as instances do. A transaction is there if some store has it on all
of its nodes that take writes and could be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.findings import Audit, Lost, NodeCounts
from dbdyno.audit.identities import Identities
from dbdyno.audit.outcomes import ATTEMPT_BITS, Attempts, Outcomes, SessionOutcomes, transactions

EXAMPLES_MAX = 5


@dataclass(frozen=True)
class NodeRows:
    """One node: its rows, or why it could not be read."""

    name: str
    rows: Identities | None
    takes_writes: bool = True
    why: str = ""  # of one that could not be read
    restarted: bool = False  # whether it was down after the load, and was started to be read


Store = Sequence[NodeRows]


def compare(outcomes: Outcomes, groups: Collection[int], stores: Sequence[Store]) -> Audit:
    """The audit of the target that these groups (numbers in the cell) are sent to."""
    nodes = [node for store in stores for node in store]
    sessions = set(outcomes.sessions(groups))
    for node in nodes:
        sessions.update(node.rows or ())
    total: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    lost = _LostOnes()
    for session in sorted(sessions):
        seen = outcomes.of(session)
        found = _session(seen, session, stores)
        total.update(found.counts)
        missing.update(found.missing)
        lost.add(session, seen, found.lost)
    is_read = bool(stores) and all(_writers(store) for store in stores)
    complete = is_read and all(node.rows is not None for node in nodes)
    some = any(node.rows is not None for node in nodes)
    alone = len(stores) == 1

    def known(name: str, condition: bool) -> int | None:
        return total[name] if condition else None

    return Audit(
        acknowledged=total["acknowledged"],
        failed=total["failed"],
        unknown=total["unknown"],
        lost=known("lost", is_read),
        resurrected=known("resurrected", complete or (some and total["resurrected"] > 0)),
        duplicated=known("duplicated", complete or (some and total["duplicated"] > 0)),
        diverged=known("diverged", complete or (some and total["diverged"] > 0)),
        unknown_present=known("unknown_present", is_read),
        unlogged=known("unlogged", complete or (some and total["unlogged"] > 0)),
        nodes=tuple(_counts(node, missing[node.name] if alone else None) for node in nodes),
        first_lost=lost.first if is_read else None,
        last_lost=lost.last if is_read else None,
        lost_examples=tuple(lost.examples) if is_read else (),
    )


@dataclass
class _LostOnes:
    """The first and the last one by time, and the first few by session."""

    first: Lost | None = None
    last: Lost | None = None
    examples: list[Lost] = field(default_factory=list)

    def add(self, session: int, seen: SessionOutcomes, is_lost: NDArray[np.bool_]) -> None:
        attempts, when = seen.acknowledged[is_lost], seen.acknowledged_s[is_lost]
        if not len(attempts):
            return

        def at(place: int) -> Lost:
            n, attempt = divmod(int(attempts[place]), 1 << ATTEMPT_BITS)
            return Lost(session, n, attempt, float(when[place]))

        ends = [each for each in (self.first, self.last) if each]
        ends += [at(int(np.argmin(when))), at(int(np.argmax(when)))]
        self.first = min(ends, key=lambda one: one.t_s)
        self.last = max(ends, key=lambda one: one.t_s)
        self.examples += map(at, range(min(len(attempts), EXAMPLES_MAX - len(self.examples))))


@dataclass(frozen=True)
class _Session:
    """What was found of one session."""

    counts: Mapping[str, int]
    missing: Mapping[str, int]  # by node
    lost: NDArray[np.bool_]  # of the acknowledged ones


def _session(seen: SessionOutcomes, session: int, stores: Sequence[Store]) -> _Session:
    present = _union([_intersection(_of(_writers(store), session)) for store in stores])
    readable = [[node for node in store if node.rows is not None] for store in stores]
    held = [_of(store, session) for store in readable]
    anywhere = _union([rows for store in held for rows in store])
    lost = ~np.isin(seen.acknowledged, present)
    logged = _union([seen.acknowledged, seen.failed, seen.unknown])
    counts = {
        "acknowledged": len(seen.acknowledged),
        "failed": len(seen.failed),
        "unknown": len(seen.unknown),
        "lost": int(lost.sum()),
        "resurrected": len(np.intersect1d(seen.failed, anywhere)),
        "duplicated": len(_union([_twice(rows) for store in held for rows in store])),
        "diverged": sum(len(_union(store)) - len(_intersection(store)) for store in held),
        "unknown_present": len(np.intersect1d(seen.unknown, present)),
        "unlogged": len(np.setdiff1d(anywhere, logged)),
    }
    missing = {
        node.name: len(np.setdiff1d(seen.acknowledged, rows))
        for store, parts in zip(readable, held, strict=True)
        for node, rows in zip(store, parts, strict=True)
    }
    return _Session(counts, missing, lost)


def _writers(store: Store) -> list[NodeRows]:
    """Nodes that take writes and could be read."""
    return [node for node in store if node.takes_writes and node.rows is not None]


def _of(nodes: Iterable[NodeRows], session: int) -> list[Attempts]:
    none = np.empty(0, np.uint64)
    return [node.rows.get(session, none) for node in nodes if node.rows is not None]


def _union(parts: Sequence[Attempts]) -> Attempts:
    return reduce(np.union1d, parts, np.empty(0, np.uint64))


def _intersection(parts: Sequence[Attempts]) -> Attempts:
    return reduce(np.intersect1d, parts) if parts else np.empty(0, np.uint64)


def _twice(attempts: Attempts) -> Attempts:
    """Transactions with more than one attempt."""
    found, counts = np.unique(transactions(attempts), return_counts=True)
    return found[counts > 1]


def _counts(node: NodeRows, missing: int | None) -> NodeCounts:
    if node.rows is None:
        return NodeCounts(node.name, None, None, node.why, node.restarted)
    rows = sum(len(attempts) for attempts in node.rows.values())
    return NodeCounts(node.name, rows, missing, "", node.restarted)
