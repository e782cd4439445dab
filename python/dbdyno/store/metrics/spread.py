"""How evenly a trial went: its throughput second by second, in addition to the mean. Pure.

A system that commits as much in every second is worth more than one with the same mean and seconds
in which nothing happens.
"""

from __future__ import annotations

import numpy as np

from dbdyno.store.metrics.stalls import of_trace, shortest_s
from dbdyno.store.metrics.timeseries import TICK_S, Floats, Trace

TICKS = round(1 / TICK_S)  # a second
SECONDS_MIN = 5  # fewer say nothing about how they differ
# A 20th of the seconds needs at least so many to be one of them.
P5_SECONDS_MIN = 20
SEEN_S = 1.0


def seconds(trace: Trace, group: str | None = None) -> Floats:
    """Commits of each whole second of the measured phase, of one group or all; shape (n,)."""
    measured = trace.measured()
    counts = measured.total if group is None else measured.commits.get(group, np.zeros(0))
    whole = len(counts) // TICKS
    return np.asarray(counts[: whole * TICKS].reshape(whole, TICKS).sum(axis=1))


def spread(per_s: Floats) -> float | None:
    """Standard deviation of one-second throughput over its mean; None of fewer than 5 seconds, or
    where nothing was committed."""
    mean = float(per_s.mean()) if len(per_s) else 0.0
    if len(per_s) < SECONDS_MIN or not mean > 0.0:
        return None
    return float(np.std(per_s, ddof=1)) / mean


def of_group(trace: Trace, group: str) -> dict[str, float]:
    """Metrics of a group from its seconds: as many as there are seconds enough for."""
    per_s = seconds(trace, group)
    found = spread(per_s)
    if found is None:
        return {}
    metrics = {"transactions_spread": found, "transactions_per_s_min": float(per_s.min())}
    if len(per_s) >= P5_SECONDS_MIN:
        metrics["transactions_per_s_p5"] = float(np.quantile(per_s, 0.05))
    return metrics


def of_stalls(trace: Trace) -> dict[str, float]:
    """Metrics of a trial from its stalls, all groups together; shares of the time that has ticks.

    None without ticks, nor where commits are so few that a full stop of `SEEN_S` could be chance:
    that none was seen would say nothing.
    """
    total = trace.measured().total
    seen_s = min(trace.measured_s, TICK_S * len(total))
    if not seen_s > 0.0 or not np.any(total):
        return {}
    dips = of_trace(trace)
    least_s = shortest_s(float(total.sum()) / seen_s, seen_s)
    if not dips and (least_s is None or least_s > SEEN_S):
        return {}
    return {
        "stalled_share": min(1.0, sum(dip.length_s for dip in dips) / seen_s),
        "stalls_per_min": 60.0 * len(dips) / seen_s,
    }
