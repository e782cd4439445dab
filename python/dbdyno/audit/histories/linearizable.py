"""Which registers have no linearization: Gibbons and Korach's algorithm, extended to
compare-and-sets. See `register`.

Times are floats, -inf before all; an operation precedes another if it ends before the other begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Operations:
    """Operations that took effect, each on the cluster (0 to n - 1) of the value that it wrote or
    read. `after`: of a compare-and-set the cluster of the value that it expected, else -1."""

    cluster: Ints
    start: Floats
    end: Floats
    is_read: Bools
    after: Ints


@dataclass(frozen=True)
class Verdict:
    """`bad`: keys without a linearization. `twice`: compare-and-sets (operations) that expected a
    value which another one had replaced."""

    bad: Ints
    twice: Ints


def judge(operations: Operations, keys: Ints) -> Verdict:
    """`keys`: the key of each cluster, in whose histories each cluster has one write."""
    units = _units(operations, len(keys))
    start, end, ranks = _ranks(operations)
    unit = units.of[operations.cluster]
    place = 2 * units.depth[operations.cluster] + operations.is_read
    wrong = units.is_wrong | _misordered(unit, place, start, end, ranks)
    bad = keys[operations.cluster[wrong]]
    first_end = np.full(len(keys), ranks, np.int64)
    last_start = np.zeros(len(keys), np.int64)
    np.minimum.at(first_end, unit, end)
    np.maximum.at(last_start, unit, start)
    used = np.unique(unit)
    zones = _overlapping(keys[used], first_end[used], last_start[used], ranks)
    return Verdict(np.unique(np.concatenate([bad, zones])), units.twice)


def _ranks(operations: Operations) -> tuple[Ints, Ints, int]:
    """Begins and ends as whole numbers in the same order, and how many there are."""
    times = np.concatenate([operations.start, operations.end])
    found, ranks = np.unique(times, return_inverse=True)
    count = len(operations.start)
    return ranks[:count].astype(np.int64), ranks[count:].astype(np.int64), len(found)


@dataclass(frozen=True)
class _Units:
    """Clusters that compare-and-sets join: the first of each cluster's unit, and how many come
    before it there. `is_wrong`: operations that no order explains."""

    of: Ints
    depth: Ints
    is_wrong: Bools
    twice: Ints


def _units(operations: Operations, clusters: int) -> _Units:
    swaps = np.flatnonzero(operations.after >= 0)
    _, firsts = np.unique(operations.after[swaps], return_index=True)
    linked = swaps[firsts]
    twice = np.setdiff1d(swaps, linked)
    own = np.arange(clusters)
    parent = own.copy()
    parent[operations.cluster[linked]] = operations.after[linked]
    root, depth = parent.copy(), (parent != own).astype(np.int64)
    for _ in range(clusters.bit_length()):
        depth, root = depth + depth[root], root[root]
    # Values that lead to each other: none of them can have been first.
    in_circle = parent[root] != root
    is_wrong = in_circle[operations.cluster] & (operations.after >= 0)
    is_wrong[twice] = True
    return _Units(np.where(in_circle, own, root), np.where(in_circle, 0, depth), is_wrong, twice)


def _misordered(unit: Ints, place: Ints, start: Ints, end: Ints, ranks: int) -> Bools:
    """Operations that end before one begins that has an earlier place in their unit."""
    order = np.lexsort((place, unit))
    unit, place = unit[order], place[order]
    new_unit = np.diff(unit, prepend=-1) != 0
    new_place = new_unit | (np.diff(place, prepend=-1) != 0)
    number = np.cumsum(new_unit)
    latest = np.maximum.accumulate(start[order] + number * ranks)
    # The latest begin at all earlier places: up to where this place begins.
    begin = np.flatnonzero(new_place)[np.cumsum(new_place) - 1]
    before = latest[np.maximum(begin - 1, 0)] - number * ranks
    found = np.zeros(len(order), np.bool_)
    found[order] = ~new_unit[begin] & (before > end[order])
    return found


def _overlapping(keys: Ints, first_end: Ints, last_start: Ints, ranks: int) -> Ints:
    """Keys with two forward zones that overlap, or a backward zone within a forward zone."""
    _, number = np.unique(keys, return_inverse=True)
    forward = np.flatnonzero(first_end < last_start)
    forward = forward[np.lexsort((first_end[forward], number[forward]))]
    if not len(forward):
        return keys[:0]
    begins = first_end[forward] + number[forward] * ranks
    ends = np.maximum.accumulate(last_start[forward] + number[forward] * ranks)
    overlap = np.concatenate([[False], ends[:-1] > begins[1:]])
    backward = np.flatnonzero(first_end >= last_start)
    low = last_start[backward] + number[backward] * ranks
    high = first_end[backward] + number[backward] * ranks
    before = np.searchsorted(begins, low, "left") - 1
    within = (before >= 0) & (ends[np.maximum(before, 0)] > high)
    return np.concatenate([keys[forward[overlap]], keys[backward[within]]])
