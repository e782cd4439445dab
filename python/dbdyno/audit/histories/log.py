"""`history.log`: accesses of attempts, as the engine records them.

Layout: `engine/generator/src/audit/history.rs`; of values that are written:
`engine/core/src/workload/history.rs`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dbdyno.audit.outcomes import ACKNOWLEDGED, FAILED, GROUP_BITS, UNKNOWN
from dbdyno.errors import DynoError

LOG = "history.log"
MAGIC = b"dynohis1"
READ, WRITE, SWAP, MISS = 1, 2, 3, 4
INITIAL, MISSING = 0, -1  # a key's value before the load; what a read found that found no row
RECORD = np.dtype(
    [
        *(("session", "<u4"), ("attempt", "<u2"), ("outcome", "u1"), ("verb", "u1")),
        *(("n", "<u8"), ("start_ns", "<u8"), ("end_ns", "<u8"), ("key", "<u4")),
        *(("place", "u1"), ("of", "u1"), ("zero", "<u2")),
        *(("value", "<i8"), ("seen", "<i8"), ("count", "<u4"), ("zeros", "<u4")),
    ]
)
_SESSION_BITS, _GROUP_BITS, _WRITE_BITS, _ATTEMPT_BITS = 13, 5, 3, 6

Records = NDArray[np.void]


@dataclass(frozen=True)
class History:
    """The log of a trial; measuring began at `measure_ns` of its clock. The records stay on disk
    until they are asked for."""

    records: Records
    measure_ns: int

    def of(self, groups: Collection[int]) -> Records:
        """Those of the groups (their numbers in the cell), in memory."""
        return self.records[np.isin(self.records["session"] >> GROUP_BITS, list(groups))]

    def count(self, groups: Collection[int], at_once: int = 1 << 20) -> int:
        """How many those of the groups are."""
        sessions, wanted = self.records["session"], list(groups)
        return sum(
            int(np.isin(sessions[begin : begin + at_once] >> GROUP_BITS, wanted).sum())
            for begin in range(0, len(sessions), at_once)
        )

    def parts_by_key(self, most: int) -> list[tuple[int, int]]:
        """(number, of) of parts by key, so that each has about `most` records on average."""
        of = max(1, -(-len(self.records) // most))
        return [(number, of) for number in range(of)]

    def part(self, groups: Collection[int], number: int, of: int) -> Records:
        """One of the parts: all records of its keys."""
        mine = self.records["key"] % of == number if of > 1 else slice(None)
        return History(self.records[mine], self.measure_ns).of(groups)

    def slices(self, groups: Collection[int], most: int) -> Iterator[Records]:
        """Those of the groups, at most `most` at a time, in their order."""
        for begin in range(0, len(self.records), most):
            yield History(self.records[begin : begin + most], self.measure_ns).of(groups)

    def t_s(self, ns: float) -> float:
        """A time on the trial's clock, seconds since measuring began."""
        return (float(ns) - self.measure_ns) / 1e9


def read(directory: Path) -> History:
    """The log in a trial's directory. DynoError if it is damaged."""
    path = directory / LOG
    size = path.stat().st_size if path.exists() else 0
    if size < RECORD.itemsize:
        raise _damaged(path)
    with path.open("rb") as file:
        head = file.read(RECORD.itemsize)
    if not head.startswith(MAGIC):
        raise _damaged(path)
    count = size // RECORD.itemsize - 1
    records = (
        np.memmap(path, RECORD, "r", offset=RECORD.itemsize, shape=(count,))
        if count
        else np.empty(0, RECORD)
    )
    known = np.isin(records["outcome"], (ACKNOWLEDGED, FAILED, UNKNOWN))
    if not (known & np.isin(records["verb"], (READ, WRITE, SWAP, MISS))).all():
        raise _damaged(path)
    return History(records, int.from_bytes(head[8:16], "little"))


def _damaged(path: Path) -> DynoError:
    return DynoError(
        f"{path} is no history",
        cause="the engine was killed before the load began, or the file was changed",
        fix="run the trial again",
    )


def writer(value: int) -> str:
    """Who wrote a value, in words."""
    if value == INITIAL:
        return "the load"
    if value == MISSING:
        return "no session"
    session = value & ((1 << _SESSION_BITS) - 1)
    value >>= _SESSION_BITS
    group = value & ((1 << _GROUP_BITS) - 1)
    value >>= _GROUP_BITS + _WRITE_BITS
    attempt = value & ((1 << _ATTEMPT_BITS) - 1)
    return named(group << GROUP_BITS | session, (value >> _ATTEMPT_BITS) - 1, attempt)


def named(session: int, n: int, attempt: int) -> str:
    """An attempt at a transaction, in words."""
    group, number = session >> GROUP_BITS, session & ((1 << GROUP_BITS) - 1)
    who = f"session {number}" if group == 0 else f"session {number} of group {group + 1}"
    return f"{who}, transaction {n}" + (f", attempt {attempt}" if attempt else "")
