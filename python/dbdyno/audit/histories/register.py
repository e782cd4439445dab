"""Linearizability of registers: each key is one, and every value is written once.

A history is linearizable if each operation can be given an instant between its begin and its end,
so that every read finds what was written last (Herlihy and Wing, "Linearizability: a correctness
condition for concurrent objects", ACM TOPLAS 12, 1990; by their theorem of locality keys are judged
one by one). The algorithm, in time n log n: Gibbons and Korach, "Testing shared memories", SIAM
Journal on Computing 26 (1997). The write of a value and its reads are a cluster; its zone lies
between the first end and the last begin of them. Where the first end comes first, the register must
hold the value throughout (a forward zone); otherwise one instant suffices (a backward zone). The
history is linearizable if no read ends before its write begins, no two forward zones overlap, and
no backward zone lies within a forward zone.

A compare-and-set that succeeded comes right after the cluster of the value that it expected. The
clusters that it joins are one unit, whose operations must have instants in the clusters' order;
units have zones as clusters have. Why that is exact: `docs/decisions/audits-of-histories.md`; tests
compare it with a search over all orders.

What is not certain is no evidence. A write without a known outcome counts from its begin on if its
value was seen, and otherwise not at all; a compare-and-set that found another value is not used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.histories.findings import Findings
from dbdyno.audit.histories.linearizable import Operations, judge
from dbdyno.audit.histories.log import (
    INITIAL,
    READ,
    SWAP,
    WRITE,
    History,
    Records,
    named,
    writer,
)
from dbdyno.audit.histories.staleness import ages
from dbdyno.audit.outcomes import ACKNOWLEDGED, FAILED, UNKNOWN

PART_RECORDS = 4_000_000  # judged at a time, about
COUNTS = (
    *("not_linearizable", "stale_reads", "own_write_misses", "lost_update", "dirty_reads"),
    "unwritten_reads",
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def check(history: History, groups: Collection[int]) -> Findings:
    """Judges all keys, some at a time: each is alone in what it must satisfy."""
    total = _Found()
    for number, of in history.parts_by_key(PART_RECORDS):
        total.add(_Part(history, history.part(groups, number, of)).found())
    counts = {name: total.counts[name] for name in COUNTS}
    return Findings(
        check="register",
        judged=total.judged,
        unknown=total.unknown,
        counts=counts,
        stale_read_max_s=total.oldest_s,
        examples=total.examples,
    )


@dataclass
class _Found:
    judged: int = 0
    unknown: int = 0
    oldest_s: float = 0.0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, part: _Found) -> None:
        """Adds keys; of stale reads the oldest is the example."""
        self.judged += part.judged
        self.unknown += part.unknown
        if part.oldest_s > self.oldest_s:
            self.oldest_s = part.oldest_s
            self.examples.pop("stale_reads", None)
        for name in COUNTS:
            self.counts[name] += part.counts[name]
        for name, text in part.examples.items():
            self.examples.setdefault(name, text)


class _Part:
    """The history of some keys. Operations are numbers of records."""

    def __init__(self, history: History, records: Records) -> None:
        self._history = history
        self._records = records
        self._key = records["key"].astype(np.int64)
        self._start = self._times("start_ns")
        self._end = self._times("end_ns")
        verb, outcome = records["verb"], records["outcome"]
        self._reads = np.flatnonzero((outcome == ACKNOWLEDGED) & (verb == READ))
        writes = np.flatnonzero((verb == WRITE) | (verb == SWAP))
        self._failed = writes[outcome[writes] == FAILED]
        self._writes = self._effective(writes[outcome[writes] != FAILED])
        self._swaps = verb[self._writes] == SWAP
        # The write of each key's value before the load comes first.
        self._keys = np.unique(self._key[np.concatenate([self._reads, self._writes])])
        identity = np.concatenate([_identity(self._keys), records["value"][self._writes]])
        # A value is written once: its first write stands for its cluster.
        self._values, self._first, self._of_write = np.unique(
            identity, return_index=True, return_inverse=True
        )
        self._key_of = np.concatenate([self._keys, self._key[self._writes]])[self._first]
        attempts = outcome[records["place"] == 0]
        self._found = _Found(unknown=int((attempts == UNKNOWN).sum()))

    def _times(self, name: str) -> Floats:
        """Nanoseconds since measuring began: exact in a float, which those of the clock are not."""
        return (self._records[name].astype(np.int64) - self._history.measure_ns).astype(np.float64)

    def _effective(self, writes: Ints) -> Ints:
        """Of writes those that took effect: acknowledged, or their value has been seen."""
        records = self._records
        value, seen = records["value"][writes], records["seen"][writes]
        is_swap = records["verb"][writes] == SWAP
        took = records["outcome"][writes] == ACKNOWLEDGED
        took |= np.isin(value, records["seen"][self._reads])
        while True:  # what an effective compare-and-set expected was there
            more = took | np.isin(value, seen[took & is_swap])
            if (more == took).all():
                return writes[took]
            took = more

    def found(self) -> _Found:
        """Judges."""
        if not len(self._keys):
            return self._found
        records, found = self._records, self._found
        cluster = self._cluster(self._reads)
        known = cluster >= 0
        strange = self._reads[~known]
        dirty = np.isin(records["seen"][strange], records["value"][self._failed])
        self._strange("dirty_reads", strange[dirty], "which was rolled back")
        self._strange("unwritten_reads", strange[~dirty], "which no session wrote to it")
        reads, cluster = self._reads[known], cluster[known]
        bad, twice = self._judge(reads, cluster)
        self._twice(twice)
        there = self._there(reads, cluster)
        self._stale("stale_reads", reads, self._ages(reads, there, own=False))
        self._stale("own_write_misses", reads, self._ages(reads, there, own=True))
        bad = np.unique(np.concatenate([bad, self._key[strange]]))
        found.counts["not_linearizable"] = len(bad)
        if len(bad):
            found.examples["not_linearizable"] = (
                f"register {bad[0]}: no order of its operations explains all that was read"
            )
        done = records["outcome"][self._writes] == ACKNOWLEDGED
        found.judged = len(self._reads) + int(done.sum())
        return found

    def _cluster(self, operations: Ints) -> Ints:
        """The cluster of the value that each has seen; -1: it was never written to that key."""
        key, seen = self._key[operations], self._records["seen"][operations]
        identity = np.where(seen == INITIAL, _identity(key), seen)
        at = np.minimum(np.searchsorted(self._values, identity), len(self._values) - 1)
        return np.where((self._values[at] == identity) & (self._key_of[at] == key), at, -1)

    def _judge(self, reads: Ints, cluster: Ints) -> tuple[Ints, Ints]:
        """Keys that are not linearizable, and compare-and-sets whose expected value another had
        replaced."""
        before, writes = len(self._keys), self._writes
        after = np.full(before + len(writes) + len(reads), -1, np.int64)
        expected = self._cluster(writes[self._swaps])
        after[before : before + len(writes)][self._swaps] = expected
        operations = Operations(
            cluster=np.concatenate([self._of_write, cluster]).astype(np.int64),
            start=self._with_load(self._start, reads),
            end=self._with_load(self._write_end(), reads),
            is_read=np.arange(len(after)) >= before + len(writes),
            after=after,
        )
        verdict = judge(operations, self._key_of)
        unexplained = self._key[writes[self._swaps][expected < 0]]
        return np.concatenate([verdict.bad, unexplained]), writes[verdict.twice - before]

    def _with_load(self, times: Floats, reads: Ints) -> Floats:
        """Times of all operations; the load was before all."""
        load = np.full(len(self._keys), -np.inf)
        return np.concatenate([load, times[self._writes], times[reads]])

    def _write_end(self) -> Floats:
        """Ends; those that are not known are never."""
        return np.where(self._records["outcome"] == UNKNOWN, np.inf, self._end)

    def _there(self, reads: Ints, cluster: Ints) -> Floats:
        """When the value of each read was certainly written: the first end in its cluster."""
        first = np.full(len(self._values), np.inf)
        np.minimum.at(first, self._of_write, self._with_load(self._write_end(), reads[:0]))
        np.minimum.at(first, cluster, self._end[reads])
        return first[cluster]

    def _ages(self, reads: Ints, there: Floats, own: bool) -> Floats:
        """By the writes of a read's own session, or by all."""
        writes = self._writes[self._records["outcome"][self._writes] == ACKNOWLEDGED]
        return ages(
            *(self._group(reads, own), self._start[reads], there),
            *(self._group(writes, own), self._start[writes], self._end[writes]),
        )

    def _group(self, operations: Ints, own: bool) -> Ints:
        key = self._key[operations]
        return key << 32 | self._records["session"][operations] if own else key

    # --- counts and examples --------------------------------------------------------------------

    def _strange(self, name: str, reads: Ints, why: str) -> None:
        self._found.counts[name] = len(reads)
        if len(reads):
            self._found.examples[name] = f"{self._read(reads[0])}, {why}"

    def _twice(self, swaps: Ints) -> None:
        self._found.counts["lost_update"] = len(swaps)
        if len(swaps):
            record = self._records[swaps[0]]
            self._found.examples["lost_update"] = (
                f"register {record['key']}: {self._who(swaps[0])} {self._when(swaps[0])} replaced"
                f" the value of {self._writer(int(record['seen']))}, as another compare-and-set did"
            )

    def _stale(self, name: str, reads: Ints, age: Floats) -> None:
        self._found.counts[name] = int((age > 0).sum())
        if not self._found.counts[name]:
            return
        worst = int(np.argmax(age))
        read = int(reads[worst])
        later = self._replacing(read, float(age[worst]), own=name == "own_write_misses")
        self._found.oldest_s = max(self._found.oldest_s, float(age[worst]) / 1e9)
        self._found.examples[name] = (
            f"{self._read(read)}, although {self._who(later)} had replaced it by"
            f" {self._end[later] / 1e9:.6f} s: {age[worst] / 1e9:.6f} s too old"
        )

    def _replacing(self, read: int, age: float, own: bool) -> int:
        """The write whose end makes a read as old as that."""
        writes = self._writes[self._group(self._writes, own) == self._group(np.array([read]), own)]
        away = np.abs(self._end[writes] - (self._start[read] - age))
        return int(writes[np.argmin(away)])

    def _read(self, read: int) -> str:
        record = self._records[read]
        return (
            f"register {record['key']}: {self._who(read)} read {self._when(read)} the value of"
            f" {self._writer(int(record['seen']))}"
        )

    def _writer(self, value: int) -> str:
        """Who wrote a value, as its record says: those of an open loop name no session."""
        verb = self._records["verb"]
        wrote = ((verb == WRITE) | (verb == SWAP)) & (self._records["value"] == value)
        return self._who(int(np.argmax(wrote))) if wrote.any() else writer(value)

    def _when(self, operation: int) -> str:
        start_s, end_s = self._start[operation] / 1e9, self._end[operation] / 1e9
        return f"from {start_s:.6f} s to {end_s:.6f} s"

    def _who(self, operation: int) -> str:
        record = self._records[operation]
        return named(int(record["session"]), int(record["n"]), int(record["attempt"]))


def _identity(keys: Ints) -> Ints:
    """Numbers for the values of keys before the load, which are all the same, and so of none."""
    return -2 - keys
