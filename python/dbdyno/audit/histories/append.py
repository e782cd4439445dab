"""Anomalies of isolation in transactions that append to lists and read them.

- `lost_update`: transactions that appended to a list which another had changed since they read it
  (Elle: lost update).
- `read_skew`: reads of the state before a transaction whose effects the reader has seen otherwise
  (G-single), except for lost updates.
- `write_skew`: other reads in cycles of transactions that each read before the next one wrote
  (G2-item).
- `dirty_reads`: reads of what was rolled back, or lost by a crash before it was acknowledged (G1a).
- `intermediate_reads`: reads of an append that was not its writer's last to that list (G1b).
- `circular_information`: transactions that have seen each other's appends (G1c).
- `g0`: transactions that each appended after the other (G0).
- `incompatible_orders`: reads that are no beginning of the final list.
- `lost_reads`: of these, the ones that end with an acknowledged append which is absent afterwards:
  what a failover lost is counted in `lost`, and convicts no level of isolation again.

Only reads of committed transactions count; a transaction whose outcome is not known took effect if
the final lists have its elements. Sources: `dependencies`, `cycles`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.histories.cycles import closing, components, path
from dbdyno.audit.histories.dependencies import RW, WR, WW, Attempts, Edges, Reads, edges
from dbdyno.audit.histories.findings import LOST_READS, Findings
from dbdyno.audit.histories.lists import Contents, Versions, differing
from dbdyno.audit.histories.log import History, named
from dbdyno.audit.outcomes import ACKNOWLEDGED, FAILED, UNKNOWN

RECORDS_MAX = 20_000_000  # 1.3 GB in memory, and as much again for what is made of them
ISOLATION = (
    *("lost_update", "read_skew", "write_skew", "dirty_reads", "intermediate_reads"),
    *("circular_information", "g0", "incompatible_orders", LOST_READS),
)
CONTENTS = ("lost", "resurrected", "diverged")
COUNTS = (*ISOLATION, *CONTENTS)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ListNode:
    """What a node holds. None: it could not be read."""

    contents: Contents | None
    takes_writes: bool = True


def check(history: History, groups: Collection[int], nodes: Sequence[ListNode]) -> Findings:
    """Judges by the lists of the first node that takes writes and could be read."""
    accesses = history.count(groups)
    if accesses > RECORDS_MAX:
        why = f"it has {accesses:,} accesses, more than the {RECORDS_MAX:,} that fit"
        return Findings("append", 0, 0, dict.fromkeys(COUNTS), why=why)
    records = history.of(groups)
    attempts = Attempts(records)
    judged = int((attempts.outcome == ACKNOWLEDGED).sum())
    unknown = int((attempts.outcome == UNKNOWN).sum())
    counts: dict[str, int | None] = dict.fromkeys(COUNTS)
    writers = (node.contents for node in nodes if node.takes_writes)
    final = next((held for held in writers if held is not None), None)
    if final is None:
        why = "no node that takes writes could be read, so the order of appends is not known"
        return Findings("append", judged, unknown, counts, why=why)
    found = _Anomalies(attempts, Versions.of(final, records["key"].astype(np.int64)))
    found.judge()
    readable = [node.contents for node in nodes if node.contents is not None]
    found.counts["diverged"] = differing(readable)
    counts = {name: found.counts[name] for name in COUNTS}
    if len(readable) < len(nodes) and not counts["diverged"]:
        counts["diverged"] = None
    return Findings("append", judged, unknown, counts, examples=found.examples)


@dataclass
class _Anomalies:
    """Those of a history with its final lists."""

    attempts: Attempts
    versions: Versions
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    examples: dict[str, str] = field(default_factory=dict)

    def judge(self) -> None:
        if not len(self.attempts.first):
            return
        self._contents()
        reads = self._reads()
        self._intermediate(reads)
        updates = self._lost_updates(reads)
        self._cycles(edges(self.attempts, self.versions, reads), updates)

    # --- what lists hold ------------------------------------------------------------------------

    def _contents(self) -> None:
        """Acknowledged appends that are absent, and attempts that failed and are present."""
        records, appends = self.attempts.records, self.attempts.appends
        outcome = records["outcome"][appends]
        present = np.isin(records["value"][appends], self.versions.elements)
        lost = appends[(outcome == ACKNOWLEDGED) & ~present]
        risen = appends[(outcome == FAILED) & present]
        for name, which in (("lost", lost), ("resurrected", risen)):
            self.counts[name] = len(np.unique(self.attempts.of[which]))
            if len(which):
                key, who = records["key"][which[0]], self._of_record(which[0])
                self.examples[name] = f"list {key}: what {who} appended"

    # --- reads ----------------------------------------------------------------------------------

    def _reads(self) -> Reads:
        """Those that found beginnings of final lists; counts the others."""
        records, record = self.attempts.records, self.attempts.reads
        number = self.versions.number(records["key"][record].astype(np.int64))
        count = records["count"][record].astype(np.int64)
        digest = records["value"][record].astype(np.int64).view(np.uint64)
        fits = self.versions.is_beginning(number, count, digest)
        dirty = self._is_dirty(records["seen"][record]) & (count > 0)
        dirty |= fits & self._has_failed(number, count)
        lost = self._is_lost(records["seen"][record]) & (count > 0) & ~fits & ~dirty
        strange = ~fits & ~dirty & ~lost
        self._read(LOST_READS, record[lost], "the last of which was acknowledged and is lost")
        self._read("dirty_reads", record[dirty], "of which something did not last")
        self._read(
            "incompatible_orders", record[strange], "which is no beginning of what it became"
        )
        return Reads(record[fits], number[fits], count[fits])

    def _is_dirty(self, elements: Ints) -> Bools:
        """Whether elements are of attempts that did not take effect."""
        append = self.attempts.append_of(elements)
        outcome = np.where(append >= 0, self.attempts.records["outcome"][append], ACKNOWLEDGED)
        absent = ~np.isin(elements, self.versions.elements)
        return (outcome == FAILED) | ((outcome == UNKNOWN) & absent)

    def _is_lost(self, elements: Ints) -> Bools:
        """Whether elements are of attempts that were acknowledged, and are absent."""
        append = self.attempts.append_of(elements)
        acknowledged = self.attempts.records["outcome"][append] == ACKNOWLEDGED
        return (append >= 0) & acknowledged & ~np.isin(elements, self.versions.elements)

    def _has_failed(self, number: Ints, count: Ints) -> Bools:
        """Whether beginnings of final lists contain an element of an attempt that failed."""
        failed = self._is_dirty(self.versions.elements)
        before = np.concatenate([[0], np.cumsum(failed)])
        begin = self.versions.begin[number]
        return before[np.minimum(begin + count, self.versions.begin[number + 1])] > before[begin]

    def _intermediate(self, reads: Reads) -> None:
        attempts, records = self.attempts, self.attempts.records
        append = attempts.append_of(records["seen"][reads.record])
        found = (append >= 0) & (reads.count > 0)
        record, append = reads.record[found], append[found]
        others = attempts.of[append] != attempts.of[record]
        later = attempts.own_append(append, last=True) > records["place"][append]
        self._read(
            "intermediate_reads", record[others & later], "to which its writer then appended more"
        )

    def _lost_updates(self, reads: Reads) -> set[tuple[int, int]]:
        """(attempt, list) of those that appended to a version which another attempt appended to."""
        own = self.attempts.own_append(reads.record, last=True)
        place = self.attempts.records["place"][reads.record].astype(np.int64)
        updating = self.attempts.is_external(reads.record) & (own > place)
        # What was lost, as by a failover, is counted there: it has updated no version.
        first = self.attempts.first[self.attempts.of[reads.record]]
        appended = self.attempts.records["value"][first + np.maximum(own, 0)]
        updating &= np.isin(appended, self.versions.elements)
        attempt = self.attempts.of[reads.record[updating]]
        rows = np.unique(
            np.stack([reads.list[updating], reads.count[updating], attempt], axis=1), axis=0
        )
        found: set[tuple[int, int]] = set()
        if not len(rows):
            return found
        new = np.any(np.diff(rows[:, :2], axis=0, prepend=-1) != 0, axis=1)
        for group in np.split(rows, np.flatnonzero(new)[1:]):
            if len(group) < 2:
                continue
            self.counts["lost_update"] += len(group) - 1
            found.update((int(attempt), int(group[0, 0])) for attempt in group[:, 2])
            self.examples.setdefault("lost_update", self._update(group))
        return found

    def _update(self, group: Ints) -> str:
        number, count = int(group[0, 0]), int(group[0, 1])
        first, second = (self._who(int(one)) for one in group[:2, 2])
        return (
            f"list {self.versions.keys[number]}: {first} and {second} both found its first {count}"
            " elements and appended to them"
        )

    # --- cycles ---------------------------------------------------------------------------------

    def _cycles(self, every: Edges, updates: set[tuple[int, int]]) -> None:
        count = len(self.attempts.first)
        label = components(count, every)
        inner = every.at(label[every.source] == label[every.target])
        if not len(inner.source):
            return
        writes, seen = inner.at(inner.kind == WW), inner.at(inner.kind != RW)
        dirty = self._circular("g0", count, writes)
        circular = self._circular("circular_information", count, seen)
        self.counts["circular_information"] = circular - dirty
        if circular == dirty:
            self.examples.pop("circular_information", None)
        unseen = inner.at(inner.kind == RW)
        when = self.attempts.records["end_ns"][self.attempts.first].astype(np.int64)
        single = closing(count, seen, unseen, when)
        update = np.array(
            [
                pair in updates
                for pair in zip(unseen.source.tolist(), unseen.list.tolist(), strict=True)
            ],
            np.bool_,
        )
        for name, which, within in (
            ("read_skew", single & ~update, seen),
            ("write_skew", ~single, inner),
        ):
            self.counts[name] = int(which.sum())
            if which.any():
                self._cycle(name, unseen, int(np.flatnonzero(which)[0]), within)

    def _circular(self, name: str, count: int, some: Edges) -> int:
        """How many attempts are on cycles of these edges."""
        if not len(some.source):
            return 0
        label = components(count, some)
        inside = np.flatnonzero(label[some.source] == label[some.target])
        if len(inside):
            self._cycle(name, some, int(inside[0]), some)
        size = np.bincount(label)
        self.counts[name] = int(size[size > 1].sum())
        return self.counts[name]

    def _cycle(self, name: str, some: Edges, first: int, within: Edges) -> None:
        """An example: the cycle of an edge and the shortest way back."""
        way = path(within, int(some.target[first]), int(some.source[first]))
        steps = [self._step(some, first), *(self._step(within, edge) for edge in way)]
        self.examples[name] = "; ".join(steps)

    def _step(self, some: Edges, edge: int) -> str:
        before, after = self._who(int(some.source[edge])), self._who(int(some.target[edge]))
        key, kind = self.versions.keys[some.list[edge]], some.kind[edge]
        if kind == RW:
            return f"{before} read list {key} without what {after} appended to it next"
        if kind == WR:
            return f"{after} read what {before} had appended to list {key}"
        return f"{after} appended to list {key} after {before}"

    # --- words ----------------------------------------------------------------------------------

    def _read(self, name: str, reads: Ints, why: str) -> None:
        self.counts[name] = len(reads)
        if len(reads):
            record = self.attempts.records[reads[0]]
            self.examples[name] = (
                f"list {record['key']}: {self._of_record(reads[0])} found {record['count']}"
                f" elements, {why}"
            )

    def _of_record(self, record: int) -> str:
        return self._who(int(self.attempts.of[record]))

    def _who(self, attempt: int) -> str:
        record = self.attempts.records[self.attempts.first[attempt]]
        return f"({named(int(record['session']), int(record['n']), int(record['attempt']))})"
