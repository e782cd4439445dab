"""Dependencies between transactions that append to lists and read them.

Adya, Liskov and O'Neil, "Generalized isolation level definitions", ICDE 2000; inferred as by
Kingsbury and Alvaro, "Elle: inferring isolation anomalies from experimental observations", PVLDB 14
(2020): a list's final order is the order of its versions, a read shows the version that it found.

- ww: a transaction appended the element before another's;
- wr: a transaction appended the last element that another read;
- rw: a transaction read a list without an element, which another appended next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.histories.lists import Versions
from dbdyno.audit.histories.log import READ, WRITE, Records
from dbdyno.audit.outcomes import ACKNOWLEDGED, FAILED

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
WW, WR, RW = 0, 1, 2


@dataclass(frozen=True)
class Edges:
    """Dependencies, `source` before `target` (numbers of attempts), by which list (its number).
    None of an attempt on itself."""

    source: Ints
    target: Ints
    kind: Ints
    list: Ints

    def at(self, which: Bools | Ints) -> Edges:
        """Some of them."""
        return Edges(self.source[which], self.target[which], self.kind[which], self.list[which])


class Attempts:
    """The attempts of a history. Appends and reads are records' numbers."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.of = np.cumsum(records["place"] == 0) - 1  # the attempt of each record
        self.first = np.flatnonzero(records["place"] == 0)
        self.outcome = records["outcome"][self.first]
        self.appends = np.flatnonzero(records["verb"] == WRITE)
        done = records["outcome"] == ACKNOWLEDGED
        self.reads = np.flatnonzero(done & (records["verb"] == READ))
        self._value_order = self.appends[np.argsort(records["value"][self.appends])]
        self._values = records["value"][self._value_order]

    def append_of(self, elements: Ints) -> Ints:
        """The append (a record) of each element; -1: no attempt is known to have appended it."""
        if not len(self._values):
            return np.full(len(elements), -1, np.int64)
        at = np.minimum(np.searchsorted(self._values, elements), len(self._values) - 1)
        return np.where(self._values[at] == elements, self._value_order[at], -1)

    def own_append(self, reads: Ints, last: bool = False) -> Ints:
        """The place in the attempt of the first (or last) append of a read's own attempt to the
        list that it read; -1: it appended nothing to it."""
        pairs = self._pairs(self.appends)
        place = self.records["place"].astype(np.int64)
        order = np.lexsort((-place[self.appends] if last else place[self.appends], pairs))
        found, first = np.unique(pairs[order], return_index=True)
        if not len(found):
            return np.full(len(reads), -1, np.int64)
        wanted = self._pairs(reads)
        at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
        return np.where(found[at] == wanted, place[self.appends[order[first]]][at], -1)

    def is_external(self, reads: Ints) -> Bools:
        """Whether reads come before any append of their own attempt to the list that they read."""
        own = self.own_append(reads)
        return (own < 0) | (own > self.records["place"][reads])

    def _pairs(self, which: Ints) -> Ints:
        """(attempt, list) of records, as one number."""
        return self.of[which] << 32 | self.records["key"][which].astype(np.int64)


@dataclass(frozen=True)
class Reads:
    """Committed reads of beginnings of final lists: records, numbers of their lists, how many
    elements they found."""

    record: Ints
    list: Ints
    count: Ints


def edges(attempts: Attempts, versions: Versions, reads: Reads) -> Edges:
    """All dependencies. Elements of attempts that failed, and those of no known attempt
    appended, are no versions: the order goes on behind them."""
    append = attempts.append_of(versions.elements)
    outcome = np.where(append >= 0, attempts.records["outcome"][append], FAILED)
    effective = outcome != FAILED
    # The writers of versions, one list behind the other, and where each list begins.
    writer = attempts.of[append[effective]]
    before = np.concatenate([[0], np.cumsum(effective)])
    begin = before[versions.begin]
    of_list = np.repeat(np.arange(len(versions.keys)), np.diff(begin))
    parts = [
        _write_write(writer, of_list),
        *_of_reads(attempts, versions, reads, before, begin, writer),
    ]
    return _distinct(
        Edges(*(np.concatenate(each) for each in zip(*map(_fields, parts), strict=True)))
    )


def _fields(edges: Edges) -> tuple[Ints, Ints, Ints, Ints]:
    return edges.source, edges.target, edges.kind, edges.list


def _distinct(edges: Edges) -> Edges:
    """Each once, and none of an attempt on itself."""
    edges = edges.at(edges.source != edges.target)
    ordered = edges.at(np.lexsort(_fields(edges)))
    changes = [np.diff(field, prepend=-1) != 0 for field in _fields(ordered)]
    return ordered.at(np.logical_or.reduce(changes))


def _write_write(writer: Ints, of_list: Ints) -> Edges:
    same = of_list[1:] == of_list[:-1]
    source, target = writer[:-1][same], writer[1:][same]
    return Edges(source, target, np.full(len(source), WW), of_list[1:][same])


def _of_reads(
    attempts: Attempts, versions: Versions, reads: Reads, before: Ints, begin: Ints, writer: Ints
) -> tuple[Edges, Edges]:
    at = before[versions.begin[reads.list] + reads.count]  # the version after the one found
    reader = attempts.of[reads.record]
    found = at > begin[reads.list]
    wr = Edges(
        writer[at[found] - 1], reader[found], np.full(int(found.sum()), WR), reads.list[found]
    )
    external = attempts.is_external(reads.record)
    behind = external & (at < begin[reads.list + 1])
    rw = Edges(
        reader[behind], writer[at[behind]], np.full(int(behind.sum()), RW), reads.list[behind]
    )
    return wr, rw
