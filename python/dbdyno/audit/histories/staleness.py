"""Stale reads: of a value that had certainly been replaced before they began.

A value was certainly there when the first operation on it had ended, its write or a read. A write
that began later and was acknowledged has replaced it, and since values are written once it does not
come back. How old a read is, at least: the time from the first such acknowledgement to its begin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def ages(
    read_group: Ints,
    read_start: Floats,
    there: Floats,
    write_group: Ints,
    write_start: Floats,
    write_end: Floats,
) -> Floats:
    """Ages of reads, 0 of those that are not stale. `there`: when each read's value was certainly
    written. Groups: keys, or keys and sessions; reads are compared with writes of their own group.
    Writes are acknowledged ones."""
    age = np.zeros(len(read_start))
    if not len(write_start):
        return age
    times = np.concatenate([read_start, there, write_start, write_end])
    moments, ranks = np.unique(times, return_inverse=True)
    count, reads, writes = len(times) + 1, len(read_start), len(write_start)
    parts = np.split(ranks.astype(np.int64), [reads, 2 * reads, 2 * reads + writes])
    groups, number = np.unique(write_group, return_inverse=True)
    order = np.lexsort((write_start, number))
    begins = parts[2][order] + number[order] * count
    # The earliest end among a write and the later ones of its group; groups are apart by `count`.
    ends = np.minimum.accumulate((parts[3][order] + number[order] * count)[::-1])[::-1]
    mine = np.minimum(np.searchsorted(groups, read_group), len(groups) - 1)
    at = np.searchsorted(begins, parts[1] + mine * count, "right")
    there_is = (groups[mine] == read_group) & (at < len(begins))
    at = np.minimum(at, len(begins) - 1)
    end = ends[at] - mine * count
    stale = there_is & (number[order][at] == mine) & (end < parts[0])
    age[stale] = read_start[stale] - moments[end[stale]]
    return age
