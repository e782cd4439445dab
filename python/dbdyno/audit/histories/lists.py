"""Final lists, as nodes hold them after the load: the order of all versions that a list has had.

Nothing is ever removed from a list, so that what any read found is a beginning of the final list,
which its length and its digest identify.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Contents = Mapping[int, Ints]
"""Elements by list, those that are not empty."""

_MULTIPLIER, _MASK = 6_364_136_223_846_793_005, (1 << 64) - 1


def elements(text: str) -> Ints:
    """Those of a list as its row has them, each followed by a comma."""
    return np.array([int(part) for part in text.split(",")[:-1]], np.int64)


def digests(found: Sequence[int]) -> list[int]:
    """Digests of all beginnings of a list, the empty one first (`history.rs` of dyno-core)."""
    digest, made = 0, [0]
    for element in found:
        digest = (digest * _MULTIPLIER + element + 1) & _MASK
        made.append(digest)
    return made


def differing(nodes: Sequence[Contents]) -> int:
    """How many lists are not the same on all nodes."""
    if len(nodes) < 2:
        return 0
    keys = {key for node in nodes for key in node}
    none = np.empty(0, np.int64)
    return sum(
        any(not np.array_equal(nodes[0].get(key, none), node.get(key, none)) for node in nodes[1:])
        for key in keys
    )


@dataclass(frozen=True)
class Versions:
    """Final lists, one behind the other. List number i has its elements at `begin[i]` up to
    `begin[i + 1]`, and the digests of its beginnings at `begin[i] + i` on, the empty one first."""

    keys: Ints  # ascending
    begin: Ints
    elements: Ints
    digests: NDArray[np.uint64]

    @classmethod
    def of(cls, contents: Contents, touched: Ints) -> Versions:
        """Of a node's contents; lists of `touched` that it does not have are empty."""
        keys = np.unique(np.concatenate([touched, np.array([*contents], np.int64)]))
        none = np.empty(0, np.int64)
        parts = [contents.get(int(key), none) for key in keys]
        begin = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        every = [digest for part in parts for digest in digests(part.tolist())]
        joined = np.concatenate(parts) if parts else none
        return cls(keys, begin, joined, np.array(every, np.uint64))

    def number(self, keys: Ints) -> Ints:
        """Numbers of lists, which there must be."""
        return np.searchsorted(self.keys, keys).astype(np.int64)

    def is_beginning(
        self, number: Ints, count: Ints, digest: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Whether lists of so many elements and that digest are beginnings of the final ones."""
        length = self.begin[number + 1] - self.begin[number]
        fits = count <= length
        at = self.begin[number] + number + np.minimum(count, length)
        return fits & (self.digests[at] == digest)
