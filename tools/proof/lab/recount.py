"""What an audit shall find, by sets of tuples: from `audit.log`, and from what nodes hold.

Shares no code with `dbdyno.audit`. Layout of the log: `engine/generator/src/audit/log.rs`.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

ACKNOWLEDGED, FAILED, UNKNOWN = 1, 2, 3
RECORD = struct.Struct("<IHBBQQ")
Attempt = tuple[int, int, int]  # session, n, attempt
Node = tuple[set[Attempt], bool]  # its rows, and whether it takes writes


def outcomes(log: bytes) -> Mapping[int, set[Attempt]]:
    """Attempts by the outcome that their clients saw."""
    seen: dict[int, set[Attempt]] = {ACKNOWLEDGED: set(), FAILED: set(), UNKNOWN: set()}
    for at in range(RECORD.size, len(log) - RECORD.size + 1, RECORD.size):
        session, attempt, outcome, _, n, _ = RECORD.unpack_from(log, at)
        seen[outcome].add((session, n, attempt))
    return seen


def recount(log: bytes, stores: Sequence[Sequence[Node]]) -> dict[str, int]:
    """A store is a list of nodes that shall have the same rows."""
    seen = outcomes(log)
    anywhere: set[Attempt] = set()
    present: set[Attempt] = set()
    duplicated: set[tuple[int, int]] = set()
    diverged = 0
    for store in stores:
        rows = [each for each, _ in store]
        anywhere |= set.union(*rows)
        writers = [each for each, writes in store if writes]
        present |= _in_all(writers)
        diverged += len(set.union(*rows) - _in_all(rows))
        for each in rows:
            duplicated |= _twice(each)
    return {
        "acknowledged": len(seen[ACKNOWLEDGED]),
        "failed": len(seen[FAILED]),
        "unknown": len(seen[UNKNOWN]),
        "lost": len(seen[ACKNOWLEDGED] - present),
        "resurrected": len(seen[FAILED] & anywhere),
        "duplicated": len(duplicated),
        "diverged": diverged,
        "unknown_present": len(seen[UNKNOWN] & present),
        "unlogged": len(anywhere - seen[ACKNOWLEDGED] - seen[FAILED] - seen[UNKNOWN]),
    }


def _in_all(sets: Sequence[set[Attempt]]) -> set[Attempt]:
    return sets[0].intersection(*sets[1:]) if sets else set()


def _twice(rows: Iterable[Attempt]) -> set[tuple[int, int]]:
    counts = Counter((session, n) for session, n, _ in rows)
    return {one for one, count in counts.items() if count > 1}
