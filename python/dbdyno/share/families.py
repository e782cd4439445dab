"""The metrics that dbdyno gives to Prometheus: one list for the export and the live endpoint.

Counters go up over a whole trial and begin again with the next one, which has labels of its own;
rates and latencies are those of the last interval. Base units, as Prometheus asks: seconds, bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.share.exposition import COUNTER, GAUGE, INFO, Family

PERCENTILES = (("p50", "50"), ("p95", "95"), ("p99", "99"), ("p999", "99.9"))

# Of a run, live only.
RUN = Family("dbdyno_run", INFO, "the run that is under way: its directory's name and version")
PLANNED = Family("dbdyno_trials_planned", GAUGE, "trials of the plan")
DONE = Family("dbdyno_trials_done", GAUGE, "trials that are over, void ones included")
VOID = Family("dbdyno_attempts_void", GAUGE, "attempts at trials that were void")
POSITION = Family("dbdyno_trial_position", GAUGE, "place of the current trial in the run, from 1")
BLOCK = Family("dbdyno_trial_block", GAUGE, "block of the current trial, from 1")
STARTED = Family(
    "dbdyno_run_started_timestamp_seconds", GAUGE, "when this process began", "seconds"
)

# Of a group, an interval at a time.
PER_S = {
    key: Family(f"dbdyno_{key}_per_second", GAUGE, f"{about}, a second of the last interval")
    for key, about in (
        ("transactions", "committed transactions"),
        ("operations", "operations of committed transactions"),
        ("errors", "failed attempts, retried or not"),
        ("retries", "attempts begun again"),
    )
}
TOTALS = {
    key: Family(f"dbdyno_{key}", COUNTER, f"{about}, since the trial's load began")
    for key, about in (
        ("transactions", "committed transactions"),
        ("operations", "operations of committed transactions"),
        ("errors", "failed attempts, retried or not"),
        ("retries", "attempts begun again"),
    )
}
SESSIONS = Family("dbdyno_sessions", GAUGE, "connections of the group")
LOST = Family("dbdyno_sessions_lost", GAUGE, "sessions without a connection")
SERVICE = Family(
    "dbdyno_service_seconds", GAUGE, "service time of transactions, by percentile", "seconds"
)
SERVICE_MEAN = Family(
    "dbdyno_service_mean_seconds", GAUGE, "service time of transactions, mean", "seconds"
)
DUE = Family("dbdyno_due_per_second", GAUGE, "open loop: arrivals that were due, a second")
BACKLOG = Family("dbdyno_backlog", GAUGE, "open loop: arrivals due that have not begun")
RESPONSE = Family(
    "dbdyno_response_seconds", GAUGE, "open loop: response time, by percentile", "seconds"
)
RESPONSE_MEAN = Family(
    "dbdyno_response_mean_seconds", GAUGE, "open loop: response time, mean", "seconds"
)

# Of the load generator.
BUSY = Family("dbdyno_generator_busy_ratio", GAUGE, "busiest load thread, 0 to 1", "ratio")
LAG = Family(
    "dbdyno_generator_lag_seconds", GAUGE, "how long answers may have lain unread, p99", "seconds"
)

# Of samplers: names are open-ended, so they are labels. Export only.
SAMPLED = Family("dbdyno_sampled", GAUGE, "sampled during the load; its name has the unit")

OF_RUN = (RUN, PLANNED, DONE, VOID, POSITION, BLOCK, STARTED)
OF_GROUP = (
    *PER_S.values(),
    *TOTALS.values(),
    SESSIONS,
    LOST,
    SERVICE,
    SERVICE_MEAN,
    DUE,
    BACKLOG,
    RESPONSE,
    RESPONSE_MEAN,
)
OF_GENERATOR = (BUSY, LAG)
LIVE = (*OF_RUN, *OF_GROUP, *OF_GENERATOR)
EXPORTED = (*OF_GROUP, *OF_GENERATOR, SAMPLED)

Point = tuple[Family, Mapping[str, str], float]  # labels besides those of the trial


class Counts:
    """A trial's counters, as intervals come in."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], int] = {}

    def points(self, event: Mapping[str, Any], sessions: Mapping[str, int]) -> Iterator[Point]:
        """What an `interval` event says, as labelled values. One of an imported run says what its
        tool did and no more: what is not there gives no point."""
        length_s = event["length_s"]
        for name, group in event["groups"].items():
            labels = {"group": name, "phase": str(event["phase"])}
            whole = {"group": name}
            told = [key for key in TOTALS if key in group]
            for key in told:
                if length_s > 0:
                    yield PER_S[key], labels, group[key] / length_s
            for key in told:
                total = self._sums.get((name, key), 0) + group[key]
                self._sums[name, key] = total
                yield TOTALS[key], whole, total
            if name in sessions:
                yield SESSIONS, whole, sessions[name]
            if "lost" in group:
                yield LOST, whole, group["lost"]
            yield from _latency(SERVICE, SERVICE_MEAN, labels, group.get("latency"))
            if open_ := group.get("open"):
                if length_s > 0:
                    yield DUE, labels, open_["due"] / length_s
                yield BACKLOG, whole, open_["backlog"]
                yield from _latency(RESPONSE, RESPONSE_MEAN, labels, open_.get("response"))
        generator = event.get("generator", {})
        if generator.get("busy"):
            yield BUSY, {}, max(generator["busy"])
        if (lag_ns := generator.get("lag_p99_ns")) is not None:
            yield LAG, {}, lag_ns / 1e9


def _latency(
    family: Family, mean: Family, labels: Mapping[str, str], latency: Mapping[str, Any] | None
) -> Iterator[Point]:
    if not latency:
        return
    for short, percentile in PERCENTILES:
        if (value_ns := latency.get(f"{short}_ns")) is not None:
            yield family, {**labels, "percentile": percentile}, value_ns / 1e9
    if (mean_ns := latency.get("mean_ns")) is not None:
        yield mean, labels, mean_ns / 1e9
