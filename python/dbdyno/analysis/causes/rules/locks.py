"""Sessions wait for locks on tables or rows that somebody else holds."""

from __future__ import annotations

import re
from typing import NamedTuple

from dbdyno.analysis.causes.evidence import STALL, Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule
from dbdyno.analysis.causes.rules import disk, network

SHARE_MIN = 0.5  # of the sessions
MORE_MIN = 0.25  # than otherwise
SURE = 0.75  # this share of the sessions leaves little else
# Who waits for a disk or a lost packet holds locks, so that others wait for those; but not all of
# them.
BESIDE_ANOTHER_WAIT = 0.6
ROW_LOCKS, LOCKS = "row locks", "locks"  # counted, not seen as the state of a session

_LOCK = re.compile(r"waiting: .*lock", re.IGNORECASE)
_NOT_DATA = re.compile(r"lwlock|mutex|rwlock|rw-lock|latch|query cache|spinlock", re.IGNORECASE)


def look(seen: Evidence) -> Match | None:
    """By state, by InnoDB's waiting transactions, or by the time that these have waited."""
    if not seen.sessions:
        return None
    found = [share for share in (_by_state(seen), _by_count(seen), _by_time(seen)) if share]
    during, otherwise, metric, what, all_of_them = max(found, default=NOBODY)
    if during < SHARE_MIN or during - otherwise < MORE_MIN:
        return None
    confidence = 0.9 * min(1.0, during / SURE)
    held_up = disk.slower(seen) or network.packets(seen) is not None
    if held_up and not (all_of_them and during >= SURE):
        confidence *= BESIDE_ANOTHER_WAIT
    n = seen.sessions
    return Match(
        confidence,
        metric,
        {"during": during * n, "otherwise": otherwise * n, "sessions": n, "what": what},
    )


class Share(NamedTuple):
    """Of the sessions, who waited. `all_of_them`: in one sample all did, so that none of them can
    hold the lock and wait for something else."""

    during: float
    otherwise: float
    metric: str
    what: str  # the locks that they wait for, or the state
    all_of_them: bool


NOBODY = Share(0.0, 0.0, "", "", False)


def _by_state(seen: Evidence) -> Share | None:
    during = otherwise = peak = 0.0
    most, metric, what = 0.0, "", ""
    for state, moved in seen.states():
        if _LOCK.match(state) and not _NOT_DATA.search(state):
            during += moved.during
            otherwise += moved.otherwise
            peak = max(peak, moved.peak)
            if moved.during > most:
                most, metric = moved.during, moved.metric
                what = state.partition(": ")[2]
    n = seen.sessions
    return Share(during / n, otherwise / n, metric, what, peak >= n) if metric else None


def _by_count(seen: Evidence) -> Share | None:
    for name in ("status.Innodb_row_lock_current_waits", "status.pg_locks.waiting"):
        moved = seen.get(name)
        if moved is not None:
            n, what = seen.sessions, ROW_LOCKS if "row" in name else LOCKS
            during, otherwise = (min(1.0, value / n) for value in (moved.during, moved.otherwise))
            return Share(during, otherwise, moved.metric, what, moved.peak >= n)
    return None


def _by_time(seen: Evidence) -> Share | None:
    """InnoDB counts a wait when it is over, in milliseconds."""
    moved = seen.get("status.Innodb_row_lock_time")
    if moved is None or seen.question != STALL or not seen.length_s > 0:
        return None
    all_ms = seen.length_s * seen.sessions * 1000
    during, otherwise = (min(1.0, ms / all_ms) for ms in (moved.gained, moved.expected))
    return Share(during, otherwise, moved.metric, ROW_LOCKS, False)


RULES = (Rule("lock_waits", ANY, look),)
