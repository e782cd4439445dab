"""Cycles of dependencies, which no serial order explains.

Strongly connected components by Tarjan's algorithm as improved by Pearce ("An improved algorithm
for finding the strongly connected components of a directed graph", technical report, 2005), in
scipy.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.histories.dependencies import Edges

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STEPS_MAX = 200_000  # of a search for an example


def components(count: int, edges: Edges) -> Ints:
    """The strongly connected component of each of `count` attempts."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(edges.source), np.int32)
    graph = coo_array((ones, (edges.source, edges.target)), shape=(count, count)).tocsr()
    _, labels = connected_components(graph, directed=True, connection="strong")
    return np.asarray(labels, np.int64)


def closing(count: int, forward: Edges, back: Edges, when: Ints) -> Bools:
    """Which edges of `back` close a cycle with edges of `forward` alone. `when` orders attempts
    about as `forward` does, which keeps searches short; any numbers are right.

    Components of `forward` are put in a topological order, as near to `when` as can be; the source
    of an edge is then searched for from its target, among what lies between the two.
    """
    label = components(count, forward)
    size = int(label.max()) + 1 if count else 0
    time = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(time, label, when)
    follow = _followers(size, label[forward.source], label[forward.target])
    rank = _topological(follow, time)
    source, target = label[back.source], label[back.target]
    found = source == target
    known: dict[tuple[int, int], bool] = {}
    ranks = rank.tolist()
    for place in np.flatnonzero(~found & (rank[target] < rank[source])).tolist():
        ends = int(target[place]), int(source[place])
        if ends not in known:
            known[ends] = _reaches(follow, ranks, *ends)
        found[place] = known[ends]
    return found


def _followers(size: int, source: Ints, target: Ints) -> list[list[int]]:
    follow: list[list[int]] = [[] for _ in range(size)]
    between = source != target
    pairs = np.unique(np.stack([source[between], target[between]]), axis=1)
    for one, other in zip(pairs[0].tolist(), pairs[1].tolist(), strict=True):
        follow[one].append(other)
    return follow


def _topological(follow: Sequence[Sequence[int]], time: Ints) -> Ints:
    """Ranks by Kahn's algorithm; of those that may come next the earliest does."""
    waits = np.zeros(len(follow), np.int64)
    for after in follow:
        waits[after] += 1
    ready = [(int(time[one]), one) for one in np.flatnonzero(waits == 0).tolist()]
    heapq.heapify(ready)
    rank, number = np.zeros(len(follow), np.int64), 0
    while ready:
        _, one = heapq.heappop(ready)
        rank[one], number = number, number + 1
        for other in follow[one]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (int(time[other]), other))
    return rank


def _reaches(follow: Sequence[Sequence[int]], rank: Sequence[int], start: int, end: int) -> bool:
    seen, left = {start}, [start]
    last = rank[end]
    while left:
        for other in follow[left.pop()]:
            if other == end:
                return True
            if other not in seen and rank[other] < last:
                seen.add(other)
                left.append(other)
    return False


def path(edges: Edges, start: int, end: int) -> list[int]:
    """A shortest way from one attempt to another, as numbers of edges; empty if none is found in
    `STEPS_MAX` steps."""
    order = np.argsort(edges.source, kind="stable")
    sources = edges.source[order]
    came: dict[int, int] = {start: -1}
    left, steps = deque([start]), 0
    while left and steps < STEPS_MAX:
        one = left.popleft()
        low, high = np.searchsorted(sources, [one, one + 1])
        for edge in order[low:high].tolist():
            steps += 1
            other = int(edges.target[edge])
            if other in came:
                continue
            came[other] = edge
            if other == end:
                return _way(edges, came, start, end)
            left.append(other)
    return []


def _way(edges: Edges, came: dict[int, int], start: int, end: int) -> list[int]:
    way: list[int] = []
    while end != start:
        way.append(came[end])
        end = int(edges.source[came[end]])
    return way[::-1]
