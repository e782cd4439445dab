"""Whether latencies are true: exactly under simulated time, and on the wire against a server that
writes down how long each request was there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
from tools.proof import wire
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.store.histogram import Histogram, bounds

ROOT = Path(__file__).resolve().parents[3]
CRATE = "dyno-load"
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
LENGTH_S, QUICK_S = 6.0, 0.3
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
                "Exact under simulated time (`cargo test -p dyno-load simulation`)",
                ("test", "result"),
                tuple((f"`{name}`", exact.get(name, "not run")) for name in EXACT),
            ),
            Table(
                "On the wire, ms",
                ("delay", "run", "quantile", "ours", "floor", "ours - floor", "record", "buckets"),
                tuple(rows),
            ),
        ),
        notes=(
            "The floor is what wire and kernels cost: the median service time less the median"
            " of the record, both of a run against the same server without delay, just before,"
            f" at the same pace ({wire.SESSIONS} sessions that pause for {PAUSE_S * 1e3:g} ms on"
            " average). It is subtracted from ours at either quantile. A bucket is less than 1 %"
            " wide.",
            f"{FINE} is shown and not judged: above its median there is nothing but the time in"
            " which idle CPUs wake up, on either side of the server's record. That differs from"
            " request to request by more than a bucket of 10 ms (80 us), so no one floor takes it"
            " off at p99.",
        ),
    )


def _exact(effort: Effort) -> tuple[dict[str, str], int]:
    """Result by test, and how many did not pass; nothing where they cannot be built."""
    if effort.quick or shutil.which("cargo") is None:
        return {}, 0
    command = ["cargo", "test", "--release", "-q", "-p", CRATE, "--lib", "--"]
    names = [f"simulation::{name}" for name in EXACT]
    found = {}
    for name, full in zip(EXACT, names, strict=True):
        done = subprocess.run(
            [*command, "--exact", full], cwd=ROOT, capture_output=True, text=True, check=False
        )
        passed = done.returncode == 0 and "1 passed" in done.stdout
        found[name] = "exact" if passed else "failed"
    return found, sum(result != "exact" for result in found.values())


def _wire(effort: Effort) -> tuple[list[tuple[str, ...]], int]:
    """A row for each delay, repetition and quantile; the largest distance in buckets."""
    rows, worst = [], 0
    length_s = QUICK_S if effort.quick else LENGTH_S
    for delay in (*DELAYS, FINE):
        for number in range(1 if effort.quick else REPETITIONS):
            alone = wire.pair(effort, AT_ONCE, PAUSE_S, length_s)
            floor_ns = _at(alone.ours, 0.5) - _at(alone.record, 0.5)
            seen = wire.pair(effort, delay, PAUSE_S, length_s)
            for q in QUANTILES:
                ours_ns, record_ns = _at(seen.ours, q), _at(seen.record, q)
                net_ns = max(0, ours_ns - floor_ns)
                apart = abs(_bucket(net_ns) - _bucket(record_ns))
                worst = worst if delay == FINE else max(worst, apart)
                times = [_ms(ns) for ns in (ours_ns, floor_ns, net_ns, record_ns)]
                rows.append((delay, str(number + 1), f"p{q * 100:g}", *times, str(apart)))
            effort.say(f"    {delay}, run {number + 1}: {rows[-2][-1]} and {rows[-1][-1]} apart")
    return rows, worst


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
    bar="all tests exact; within one bucket at p50 and p99 in every run",
    measure=measure,
    timed=True,
)
