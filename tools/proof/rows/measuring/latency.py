"""Whether latencies are true: exactly under simulated time, and on the wire against a server that
writes down how long each request was there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tools.proof import cargo, wire
from tools.proof.row import Effort, Outcome, Row, Table
from tools.proof.wire import Pair

from dbdyno.store.metrics.histogram import Histogram, bounds, merge

CRATE = "dyno-generator"
# Each drives the real worker under simulated time against scripted answers.
EXACT = (
    "closed::a_transaction_lasts_from_its_first_request_to_the_answer_to_its_commit",
    "closed::a_retry_is_the_same_transaction_on_the_first_attempts_clock",
    "closed::a_slow_client_pauses_before_each_operation_within_its_transaction",
    "open::a_rate_is_kept_by_all_sessions_together",
    "open::a_frozen_server_shows_in_the_response_as_arithmetic_predicts",
    "open::one_session_hides_the_freeze_from_service_time_and_not_from_response_time",
    "open::a_retried_arrival_responds_once_from_its_due_time",
)
DELAYS = ("constant:200ms", "exponential:20ms", "bimodal:20ms,200ms,5%")
# Shown, not judged: a bucket of it is finer than how much wake-ups of idle CPUs differ.
FINE = "constant:10ms"
AT_ONCE = "constant:0us"
PAUSE_S = 0.02  # so that both ends sleep between requests, with a delay or without
QUANTILES = (0.50, 0.99)
REPETITIONS = 5
LENGTH_S, QUICK_S = 12.0, 0.3
FLOOR_PART = 1 / 3  # of a run's length, for the run that gives its floor
BUCKETS_MAX = 1


def measure(effort: Effort) -> Outcome:
    """Both halves."""
    exact, failed = _exact(effort)
    rows, worst = _wire(effort)
    passed = len(EXACT) - failed
    return Outcome(
        measured=(
            f"under simulated time {passed} of {len(EXACT)} tests pass"
            if exact
            else "the tests under simulated time were not run"
        )
        + f"; on the wire at most {worst} bucket{'s' * (worst != 1)} apart",
        met=None if effort.quick or not exact else failed == 0 and worst <= BUCKETS_MAX,
        tables=(
            Table(
                "Exact under simulated time (`cargo test -p dyno-generator simulation`)",
                ("test", "result"),
                tuple((f"`{name}`", exact.get(name, "not run")) for name in EXACT),
            ),
            Table(
                "On the wire, ms",
                (
                    "delay",
                    "run",
                    "requests",
                    "quantile",
                    "ours",
                    "floor",
                    "less floor",
                    "record",
                    "buckets",
                ),
                tuple(rows),
            ),
        ),
        notes=(
            "The floor is what wire and kernels cost: the median service time less the median"
            " of the record, both of a run against the same server without delay, just before,"
            f" at the same pace ({wire.SESSIONS} sessions that pause for {PAUSE_S * 1e3:g} ms on"
            " average). It is subtracted from ours at either quantile. A bucket is less than 1 %"
            " wide.",
            "All runs of a delay are judged together: one has so few requests above its p99 that"
            " a single answer which the kernel brought late moves it by a bucket or two.",
            f"{FINE} is shown and not judged: above its median there is nothing but the time in"
            " which idle CPUs wake up, on either side of the server's record. That differs from"
            " request to request by more than a bucket of 10 ms (80 us), so no one floor takes it"
            " off at p99.",
        ),
    )


def _exact(effort: Effort) -> tuple[dict[str, str], int]:
    """Result by test, and how many did not pass; nothing where they cannot be built."""
    if effort.quick:
        return {}, 0
    passed = cargo.exact(CRATE, [f"simulation::{name}" for name in EXACT])
    found = dict(zip(EXACT, ("exact" if ok else "failed" for ok in passed.values()), strict=False))
    return found, sum(result != "exact" for result in found.values())


def _wire(effort: Effort) -> tuple[list[tuple[str, ...]], int]:
    """A row for each delay and quantile, of each run and of all together; the largest distance in
    buckets of all together."""
    rows, worst = [], 0
    length_s = QUICK_S if effort.quick else LENGTH_S
    for delay in (*DELAYS, FINE):
        seen: list[tuple[Pair, Pair]] = []
        for number in range(1 if effort.quick else REPETITIONS):
            floor = wire.pair(effort, AT_ONCE, PAUSE_S, length_s * FLOOR_PART)
            seen.append((floor, wire.pair(effort, delay, PAUSE_S, length_s)))
            found = _distances(*seen[-1])
            rows += [(delay, str(number + 1), *row) for row in found]
            effort.say(f"    {delay}, run {number + 1}: {found[0][-1]} and {found[1][-1]} apart")
        floors, runs = zip(*seen, strict=True)
        found = _distances(_together(floors), _together(runs))
        rows += [(delay, "all", *row) for row in found]
        if delay != FINE:
            worst = max(worst, *(int(row[-1]) for row in found))
    return rows, worst


def _together(pairs: Sequence[Pair]) -> Pair:
    return Pair(merge(one.ours for one in pairs), merge(one.record for one in pairs))


def _distances(floor: Pair, seen: Pair) -> list[tuple[str, ...]]:
    """The cells of a row for each quantile; the last: how many buckets apart."""
    floor_ns = _at(floor.ours, 0.5) - _at(floor.record, 0.5)
    rows = []
    for q in QUANTILES:
        ours_ns, record_ns = _at(seen.ours, q), _at(seen.record, q)
        net_ns = max(0, ours_ns - floor_ns)
        times = [_ms(ns) for ns in (ours_ns, floor_ns, net_ns, record_ns)]
        count, apart = seen.record.count, abs(_bucket(net_ns) - _bucket(record_ns))
        rows.append((str(count), f"p{q * 100:g}", *times, str(apart)))
    return rows


def _at(histogram: Histogram, q: float) -> int:
    """The quantile's value in ns, as the middle of its bucket."""
    top = histogram.quantile_ns(q)
    assert top is not None, "nothing was measured"
    low, high = bounds()
    index = _bucket(top)
    return int(low[index] + high[index]) // 2


def _bucket(value_ns: int) -> int:
    return int(np.searchsorted(bounds()[0], value_ns, side="right")) - 1


def _ms(value_ns: int) -> str:
    return f"{value_ns / 1e6:.3f}"


ROW = Row(
    name="latency",
    claim="Latencies are true",
    how=(
        "Under simulated time the real load threads, sessions and recorders meet scripted answers,"
        " and what they record is what arithmetic says. On the wire the null server holds answers"
        " back and writes down for each request the time from its receive to its send; the engine's"
        " histogram of the same requests, less the floor, must be that record."
    ),
    bar="all tests exact; within one bucket at p50 and p99 of each delay",
    measure=measure,
    timed=True,
)
