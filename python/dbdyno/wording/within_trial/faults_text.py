"""What was done to servers in mid-load, and what clients saw of it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dbdyno.store.metrics.timeseries import TICK_S
from dbdyno.store.rolelog import QUORUM_LOST, QUORUM_REGAINED
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count

ENDS = {
    "kill": "started again",
    "stop": "started again",
    "power_cut": "started again",
    "pause": "resumed",
    "limit": "lifted",
    "fsync_error": "mended",
    "partition": "healed",
    "link": "line restored",
    "detach": "follows again",
    "clock": "clock put right",
}

# Changes of roles in a chart.
MARKED = ("promoted", "elected", "chosen", "returned", QUORUM_LOST, QUORUM_REGAINED)

RESOLUTION = (
    "From commits counted every 100 ms: outages and failovers are right to within 0.1 s. Clients"
    " that lost their connection try again after 10 ms, then after up to a second. A brown-out"
    " counts whole seconds below 80 % of the median second before the first fault."
)


def mark(do: str, node: str) -> str:
    """A fault in a chart."""
    return f"{do} {node}"


def undone(do: str) -> str:
    """Its end in a chart."""
    return ENDS.get(do, "undone")


def when(begun_s: Sequence[float]) -> str:
    """When it was begun in several trials."""
    return _range(begun_s, "s")


def lasted(seconds: Sequence[float]) -> str:
    """How long it was in force in several trials; empty where nothing had to be undone."""
    return _range(seconds, "s") if seconds else ""


def took(seconds: Sequence[float]) -> str:
    """How long a statement took in several trials; empty where it never was answered."""
    return f"took {_range(seconds, 's')}" if seconds else ""


def effect(metric: str, values: Sequence[float], trials: int, cut: int) -> str:
    """A sentence on `outage_s`, `failover_s`, `promotion_s`, `quorum_lost_s` or `brownout_s` of so
    many `trials`, of which `values` are those that have it and `cut` of them are lower bounds."""
    if not values:
        return "No outage followed a fault." if metric == "failover_s" else ""
    missing = trials - len(values)
    middle, spread = f"{sig3(median(values))} s", ""
    if len(values) > 1 and min(values) != max(values):
        spread = f" (median of {count(len(values), 'trial')}: {_range(values, 's')})"
    least = "at least " if cut else ""
    if metric == "outage_s":
        text = f"No commit for {least}{middle}{spread}."
        return "A commit in each 100 ms." if max(values) <= TICK_S else text
    if metric == "failover_s":
        text = f"The first commit came {least}{middle} after the fault{spread}"
        return text + (f"; no outage in {count(missing, 'trial')}." if missing else ".")
    if metric == "promotion_s":
        text = f"Another node had taken over {middle} after the fault{spread}"
        return text + (f"; none did in {count(missing, 'trial')}." if missing else ".")
    if metric == "quorum_lost_s":
        text = f"A node was without a quorum for {least}{middle}{spread}"
        return text + (f"; none was in {count(missing, 'trial')}." if missing else ".")
    if not max(values):
        return "Throughput was back at 80 % of that before within the second."
    return f"Throughput was below 80 % of that before for {middle}{spread}, the outage included."


def drilled(metric: str, values: Sequence[float]) -> str:
    """A sentence on `rto_s`, `audit.lost` or `backup_age_s` of trials with a restore."""
    if not values:
        return ""
    if metric == "audit.lost":
        low, high = round(min(values)), round(max(values))
        lost = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"RPO: {lost} acknowledged transactions were lost."
    if metric == "backup_age_s":
        return f"The backup was {_middle(values)} old."
    return f"RTO: the server was restored and open to clients after {_middle(values)}."


def step_took(seconds: Sequence[float]) -> str:
    """The time of a step in several trials."""
    return _middle(seconds)


def _middle(values: Sequence[float]) -> str:
    middle = f"{sig3(median(values))} s"
    if len(values) > 1 and min(values) != max(values):
        return f"{middle} (median of {count(len(values), 'trial')}: {_range(values, 's')})"
    return middle


def _range(values: Sequence[float], unit: str) -> str:
    low, high = (sig3(value) for value in (min(values), max(values)))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
