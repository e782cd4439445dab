"""An open loop's totals, reduced: response, backlog, what was left, and how well the rate was held.

Response counts from when a transaction was due. Arrivals that were given up or left stand in its
histogram with their age (`latency`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.plan.types import GroupPlan
from dbdyno.spec.bounds import AT_LEAST
from dbdyno.store.latency import Times, times

BACKLOG_MAX = 0.01  # of all arrivals, at the end: more means that the rate was not held
LAG_MAX = 0.10  # of the median response, by the generator's own lateness: the error bar of both
LAG_LEAST_US = 20.0  # below, a median is that of a null driver and its lag nobody's concern
SESSIONS_BUSY = ("the only session", "all")  # how the sentence begins that says so
BUSY_MIN = 0.95  # of the sessions' time: all of them were at work


def reduce_open(total: Mapping[str, Any], measured_s: float) -> Times:
    """Metrics from a group's `open` total."""
    metrics = {
        "due_per_s": total["due"] / measured_s,
        "backlog_max": float(total["backlog_max"]),
        "backlog_end": float(total["backlog_end"]),
        "left": float(total["left"]),
        "drain_s": float(total["drain_s"]),
    }
    response = times("response", total.get("response"), total.get("response_at_least_ns"))
    metrics |= response.metrics
    lag = total.get("dispatch_lag")
    if lag and lag.get("p99_ns") is not None:
        metrics["dispatch_lag_us_p99"] = lag["p99_ns"] / 1e3
    bounds = {**response.bounds, **({"drain_s": AT_LEAST} if total["left"] else {})}
    return Times(metrics, bounds)


def held(backlog_end: float, due: float, sessions: int) -> bool:
    """Whether an open loop kept up: of `due` arrivals no more were waiting at the end of the
    measured time than a moment's chance explains, be it one for each session."""
    return backlog_end <= max(sessions, BACKLOG_MAX * due)


def warnings(group: GroupPlan, total: Mapping[str, Any], measured_s: float) -> Iterable[str]:
    """What a reader of an open loop's numbers must know. `total` is that of the group."""
    of_loop = total["open"]
    if not held(of_loop["backlog_end"], of_loop["due"], group.sessions):
        yield _not_held(total, measured_s)
        if limit := _sessions_busy(group, total, measured_s):
            yield limit
    elif of_loop["left"]:
        yield (
            f"{of_loop['left']:,} arrivals had no answer when the drain was over:"
            " the longest response times are lower bounds"
        )
    lag_ns = (of_loop.get("dispatch_lag") or {}).get("p99_ns")
    median_ns = (of_loop.get("response") or {}).get("p50_ns")
    if lag_ns and median_ns and lag_ns > max(LAG_MAX * median_ns, LAG_LEAST_US * 1e3):
        yield (
            f"the generator itself began 1 % of the arrivals {lag_ns / 1e3:,.0f} µs late or more,"
            f" beside a median response of {median_ns / 1e3:,.0f} µs: response times may be that"
            " much too high"
        )


def _not_held(total: Mapping[str, Any], measured_s: float) -> str:
    """The sentence that answers the question before any other number is read."""
    of_loop = total["open"]
    text = (
        f"the system could not hold the rate: {total['transactions'] / measured_s:,.1f} of"
        f" {of_loop['due'] / measured_s:,.1f}/s were achieved, and"
        f" {of_loop['backlog_end']:,} arrivals were waiting at the end"
    )
    left = of_loop["left"]
    return f"{text}, {left:,} of them left after the drain" if left else text


def _sessions_busy(group: GroupPlan, total: Mapping[str, Any], measured_s: float) -> str:
    """Little's law the other way: N busy sessions do N / service, whatever the server could.
    Empty if they were not all busy."""
    latency = total.get("latency") or {"mean_ns": 0.0, "count": 0}
    mean_s = latency["mean_ns"] / 1e9
    if not mean_s or latency["count"] * mean_s < BUSY_MIN * group.sessions * measured_s:
        return ""
    one = group.sessions == 1
    busy = (
        f"{SESSIONS_BUSY[0]} was" if one else f"{SESSIONS_BUSY[1]} {group.sessions:,} sessions were"
    )
    return (
        f"{busy} busy: at a mean service time of {mean_s * 1e3:,.3g} ms {'it' if one else 'they'}"
        f" can do {group.sessions / mean_s:,.0f}/s at most; only more sessions can tell whether the"
        " server could do more"
    )
