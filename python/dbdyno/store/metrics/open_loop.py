"""An open loop's totals, reduced: response, backlog, what was left, and how well the rate was
sustained.

Response counts from when a transaction was due. Arrivals that were given up or left are in its
histogram with their age (`latency`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.experiment import workloads
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.plan.types import GroupPlan
from dbdyno.store.metrics.latency import Times, times

# By how much arrivals that are due and not finished may grow: by a share of those due, the meter's
# grain (5 ms in 5 s), and by standard deviations of what arrivals and completions do by chance.
GROWTH_GRAIN = 0.001
GROWTH_EVEN = 0.25  # exceeded in half of the trials at exactly the capacity
GROWTH_SURE = 2.0  # exceeded in 2 of 100 trials at exactly the capacity
_PART = 0.2  # of the measured time: the lowest in its first part is compared with its last
LAG_MAX = 0.10  # of the median response, by the generator's own lateness: the error bar of both
LAG_LEAST_US = 20.0  # below, a median is that of a null driver and its lag irrelevant
SESSIONS_BUSY = ("the only session", "all")  # beginning of the sentence about it
BUSY_MIN = 0.95  # of the sessions' time: all of them were at work


Interval = tuple[float, Mapping[str, Any]]  # its end on the trial's clock, a group's counts


def reduce_open(
    group: Mapping[str, Any],
    intervals: Iterable[Interval],
    measured_s: float,
) -> Times:
    """Metrics from a group's total and its `intervals`, each with its end on the clock of the
    measured time."""
    total = group["open"]
    metrics = {
        "unfinished_growth": _growth(group, intervals, measured_s),
        "due_per_s": total["due"] / measured_s,
        "backlog_max": float(total["backlog_max"]),
        "backlog_end": float(total["backlog_end"]),
        "left": float(total["left"]),
        "drain_s": float(total["drain_s"]),
    }
    if total["due"]:
        metrics["failed_share"] = total["failed"] / total["due"]
    response = times("response", total.get("response"), total.get("response_at_least_ns"))
    metrics |= response.metrics
    lag = total.get("dispatch_lag")
    if lag and lag.get("p99_ns") is not None:
        metrics["dispatch_lag_us_p99"] = lag["p99_ns"] / 1e3
    bounds = {**response.bounds, **({"drain_s": AT_LEAST} if total["left"] else {})}
    return Times(metrics, bounds)


def _growth(
    group: Mapping[str, Any],
    intervals: Iterable[Interval],
    measured_s: float,
) -> float:
    """By how many arrivals those that were due and not finished grew.

    Waiting ones and those in flight together: how many sessions there are then makes no difference.
    The least of the last fifth of the time less the least of the first one: a stall near the end
    that is worked off is no growth.
    """
    unfinished, marks = 0, [(0.0, 0)]
    for until_s, one in intervals:
        unfinished += one["open"]["due"] - one["transactions"] - one["failed"]
        marks.append((until_s, unfinished))
    end = group["open"]["due"] - group["transactions"] - group["failed"]
    edge_s = _PART * measured_s * (1 + 1e-3)  # intervals are read a little late
    late = min(n for t_s, n in [*marks, (measured_s, end)] if t_s >= measured_s - edge_s)
    return float(late - min(n for t_s, n in marks if t_s <= edge_s))


def held(growth: float, due: float) -> bool:
    """Whether an open loop rather kept up with `due` arrivals than not. `growth`: the metric
    `unfinished_growth`.

    Driven at exactly its capacity, a queue with Poisson arrivals and exponential service exceeds
    this growth in half of the trials, so the rate that half of them sustain is the capacity.
    docs/decisions/finding-a-rate.md has the arithmetic.
    """
    return growth <= _growth_by_chance(due, GROWTH_EVEN)


def overloaded(growth: float, due: float) -> bool:
    """Whether it is shown that an open loop did not keep up: what a report may say."""
    return growth > _growth_by_chance(due, GROWTH_SURE)


def _growth_by_chance(due: float, deviations: float) -> float:
    return GROWTH_GRAIN * due + deviations * math.sqrt(2 * due)


def warnings(
    group: GroupPlan, total: Mapping[str, Any], growth: float, measured_s: float
) -> Iterable[str]:
    """What a reader of an open loop's numbers must know. `total` is that of the group; `growth`
    its metric `unfinished_growth`."""
    of_loop = total["open"]
    if overloaded(growth, of_loop["due"]):
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
            f" next to a median response of {median_ns / 1e3:,.0f} µs: response times may be that"
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
    """Little's law the other way: N busy sessions do N / service, whatever the server could; with a
    pipeline, as many times that as it is long. Empty if they were not all busy."""
    latency = total.get("latency") or {"mean_ns": 0.0, "count": 0}
    mean_s = latency["mean_ns"] / 1e9
    in_flight = group.sessions * workloads.pipeline(group.workload, group.options)
    if not mean_s or latency["count"] * mean_s < BUSY_MIN * in_flight * measured_s:
        return ""
    one = group.sessions == 1
    busy = (
        f"{SESSIONS_BUSY[0]} was" if one else f"{SESSIONS_BUSY[1]} {group.sessions:,} sessions were"
    )
    return (
        f"{busy} busy: at a mean service time of {mean_s * 1e3:,.3g} ms {'it' if one else 'they'}"
        f" can do {in_flight / mean_s:,.0f}/s at most; only more sessions can tell whether the"
        " server could do more"
    )
