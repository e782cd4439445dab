"""How fast the transactions of a log came: as a closed loop or an open one, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from dbdyno.digest.document import Document, Timeline
from dbdyno.digest.workload.profile import Shape

BUSY_SHARE = 0.5  # of the sessions' time spent in statements, from which on the server set the pace
DURATION_MIN_S = 1.0
DURATION_MAX_S = 3600.0  # a longer schedule would be no experiment
DURATION_S = 30.0
WHOLE = 0.9995  # of the transactions, from which on they are all
EVEN, BURSTS = 0.5, 2.0  # variance by mean of units a second; 1: by chance
STEPS_MAX = 60
SESSIONS_MAX = 10_000


@dataclass(frozen=True)
class Pace:
    """`rates`: of all units that are carried over, (seconds, rate a second) one after the other;
    None: closed. `why`: sentences."""

    sessions: int
    rates: Sequence[tuple[float, float]] | None
    arrivals: str
    duration_s: float
    why: Sequence[str]


def pace(document: Document, shape: Shape, units: int) -> Pace:
    """The pace of a log of which so many units are carried over."""
    sessions, why = _sessions(document, shape)
    length_s = shape.duration_s
    if length_s < DURATION_MIN_S:
        why.append("Closed loop: the log is too short, or has no times, for a rate.")
        return Pace(sessions, None, "", DURATION_S, why)
    timed = document.overall.query_time
    busy = document.overall.time_s / (sessions * length_s)
    spent = f"statements took {busy:.1%} of the sessions' time"
    if timed is None or not timed.count:
        why.append(
            "Open loop: the log has no query times, so it does not show whether clients or"
            " the server set the pace."
        )
    elif busy >= BUSY_SHARE:
        why.append(
            f"Closed loop: {spent}, so the server set the pace. For the log's own pace write"
            f" `rate: {_rate(units / length_s)}/s`."
        )
        return Pace(sessions, None, "", DURATION_S, why)
    else:
        why.append(f"Open loop: {spent}, so it was not the server that set the pace.")
    why.append("Remove `rate` and `arrivals` to send as fast as answers come.")
    sent = sum(unit.count for unit in shape.units) + shape.units_dropped
    if sent and units < sent * WHOLE:
        why.append(
            f"The rate is of what is carried over: {units / sent:.1%} of the log's transactions."
        )
    steady = [(DURATION_S, units / length_s)]
    if shape.dispersion is None:
        why.append("Arrivals by chance (poisson): the log is too short to detect bursts.")
        return Pace(sessions, steady, "poisson", DURATION_S, why)
    told = f"transactions a second vary {shape.dispersion:.3g} times as much as by chance"
    if shape.dispersion < EVEN:
        why.append(f"Even arrivals: {told}.")
        return Pace(sessions, steady, "uniform", DURATION_S, why)
    if shape.dispersion <= BURSTS:
        why.append(f"Arrivals by chance (poisson): {told}.")
        return Pace(sessions, steady, "poisson", DURATION_S, why)
    if document.timeline is None or length_s > DURATION_MAX_S or not sum(document.timeline.count):
        why.append(f"Bursts are not carried over, though {told}: the log is longer than an hour.")
        return Pace(sessions, steady, "poisson", DURATION_S, why)
    steps = _steps(document.timeline, units)
    why.append(f"Bursts as a schedule of {len(steps)} steps over the log's time: {told}.")
    return Pace(sessions, steps, "poisson", sum(step[0] for step in steps), why)


def _sessions(document: Document, shape: Shape) -> tuple[int, list[str]]:
    """A connection runs one statement at a time, so connections are believed before statements."""
    concurrency, busiest = document.told_concurrency, _busiest(document)
    if shape.sessions_at_once:
        found = shape.sessions_at_once
        seen = f"{found:,} of {shape.sessions:,} connections were there at once"
        seen = seen if shape.sessions > 1 else "the log has one connection"
    elif concurrency is not None and concurrency.max > 1:
        found, seen = concurrency.max, f"{concurrency.max:,} statements ran at once"
    elif busiest > 1:
        found, seen = busiest, f"{busiest:,} statements at once in the busiest stretch, on average"
    else:
        found, seen = 1, "the log does not identify connections"
    kept = max(1, min(SESSIONS_MAX, found))
    return kept, [f"Sessions: {seen}{'' if kept == found else f'; at most {SESSIONS_MAX:,} here'}."]


def _busiest(document: Document) -> int:
    """How many statements ran at once in the busiest stretch of the timeline, on average."""
    timeline = document.timeline
    return math.ceil(max(timeline.time_s, default=0.0) / timeline.bucket_s) if timeline else 0


def _steps(timeline: Timeline, units: int) -> list[tuple[float, float]]:
    """The timeline's buckets, at least a second and at most `STEPS_MAX` of them, as rates; those
    of one rate together."""
    # Before the first end the log does not show the rate of statements.
    began = next(i for i, count in enumerate(timeline.count) if count)
    counts = timeline.count[began:]
    wide = max(1, -(-len(counts) // STEPS_MAX))
    while wide * timeline.bucket_s < 1 and wide < len(counts):
        wide += 1
    edges = [*range(0, len(counts), wide), len(counts)]
    each = units / sum(counts)
    steps = [
        ((end - begin) * timeline.bucket_s,
         each * sum(counts[begin:end]) / ((end - begin) * timeline.bucket_s))
        for begin, end in pairwise(edges)
    ]  # fmt: skip
    alike = groupby(steps, key=lambda step: step[1])
    return [(sum(length_s for length_s, _ in group), rate) for rate, group in alike]


def _rate(per_s: float) -> str:
    return f"{per_s:.4g}" if per_s < 1000 else f"{per_s:.0f}"
