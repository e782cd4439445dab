"""`audit.log`: the outcome of every attempt at a transaction, as its client saw it.

Layout: `engine/generator/src/audit/log.rs`. Attempts of one session are numbers, `n << 16 |
attempt`, in ascending order: so are those that a node holds (`identities`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dbdyno.errors import DynoError

LOG = "audit.log"
MAGIC = b"dynoaud1"
ACKNOWLEDGED, FAILED, UNKNOWN = 1, 2, 3
ATTEMPT_BITS = 16
GROUP_BITS = 24  # of a session's number, those below its group's
RECORD = np.dtype(
    [
        *(("session", "<u4"), ("attempt", "<u2"), ("outcome", "u1"), ("zero", "u1")),
        *(("n", "<u8"), ("t_ns", "<u8")),
    ]
)

Attempts = NDArray[np.uint64]


@dataclass(frozen=True)
class SessionOutcomes:
    """Attempts of one session by outcome; `acknowledged_s` says when, on the trial's clock."""

    acknowledged: Attempts
    acknowledged_s: NDArray[np.float64]
    failed: Attempts
    unknown: Attempts


class Outcomes:
    """The log of a trial, by session."""

    def __init__(self, records: NDArray[np.void], measure_ns: int) -> None:
        """`records` as in the log, without its first; measuring began at `measure_ns`."""
        self._measure_ns = measure_ns
        self._records = records[np.argsort(records["session"], kind="stable")]
        numbers, starts = np.unique(self._records["session"], return_index=True)
        ends = [*starts[1:], len(records)][: len(starts)]
        self._parts = {
            int(number): (int(start), int(end))
            for number, start, end in zip(numbers, starts, ends, strict=True)
        }

    def sessions(self, groups: Collection[int]) -> Iterator[int]:
        """Numbers of the sessions of these groups (their numbers in the cell), ascending."""
        return (number for number in self._parts if number >> GROUP_BITS in groups)

    def of(self, session: int) -> SessionOutcomes:
        """Those of a session; empty if it has none."""
        start, end = self._parts.get(session, (0, 0))
        records = self._records[start:end]
        attempts = packed(records["n"], records["attempt"])
        order = np.argsort(attempts, kind="stable")
        attempts, outcome = attempts[order], records["outcome"][order]
        t_s = (records["t_ns"][order].astype(np.float64) - self._measure_ns) / 1e9
        acknowledged = outcome == ACKNOWLEDGED
        return SessionOutcomes(
            attempts[acknowledged],
            t_s[acknowledged],
            attempts[outcome == FAILED],
            attempts[outcome == UNKNOWN],
        )


def packed(n: NDArray[np.integer], attempt: NDArray[np.integer]) -> Attempts:
    """Attempts as numbers."""
    return n.astype(np.uint64) << np.uint64(ATTEMPT_BITS) | attempt.astype(np.uint64)


def transactions(attempts: Attempts) -> Attempts:
    """Their transactions' numbers, `n`."""
    return attempts >> np.uint64(ATTEMPT_BITS)


def read(directory: Path) -> Outcomes:
    """The log in a trial's directory; without a transaction that wrote there may be no record.
    DynoError if it is damaged."""
    path = directory / LOG
    if not path.exists():
        return Outcomes(np.empty(0, RECORD), 0)
    data = np.fromfile(path, np.uint8)
    size = RECORD.itemsize
    head = data[:size].tobytes()
    records = data[size : len(data) - len(data) % size].view(RECORD)
    known = np.isin(records["outcome"], (ACKNOWLEDGED, FAILED, UNKNOWN))
    if len(head) < size or not head.startswith(MAGIC) or not known.all():
        raise DynoError(
            f"{path} is no log of an audit",
            cause="the engine was killed before the load began, or the file was changed",
            fix="run the trial again",
        )
    return Outcomes(records, int.from_bytes(head[8:16], "little"))
