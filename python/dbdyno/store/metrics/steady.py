"""The steady part of a trial as if nothing else had been measured. Pure.

Cut at the ends of intervals, which the engine counts exactly: counts are sums over intervals,
latencies their merged histograms. What is known about the measured time as a whole only stays as it
is: which codes errors had, the longest transaction in flight at the end, how busy the generator was
at most, its lag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dbdyno.store.metrics.histogram import Tagged, merge
from dbdyno.store.metrics.latency import Censored

Event = Mapping[str, Any]
_COUNTS = ("transactions", "operations", "rows", "retries", "failed")


class Part(NamedTuple):
    """An `end` event of the part, when the part begins on the trial's clock, its intervals on a
    clock of its own (0 where it begins), and what of it is not known, in sentences."""

    end: dict[str, Any]
    from_s: float
    intervals: tuple[Event, ...]
    warnings: tuple[str, ...]


def part(events: Sequence[Event], lines: Sequence[Tagged], from_s: float) -> Part:
    """The part of a trial from the first interval on that begins at `from_s` or later.

    `events` have an `end`; `lines` are those of its log of histograms. LookupError if no interval
    begins so late.
    """
    end = next(event for event in reversed(events) if event.get("event") == "end")
    measured = [
        event
        for event in events
        if event.get("event") == "interval" and event.get("phase") == "measure"
    ]
    # Half a tick: an interval that was read late begins a little after its place.
    skipped = sum(event["t_s"] - event["length_s"] < from_s - 0.05 for event in measured)
    kept = measured[skipped:]
    if not kept:
        raise LookupError(f"no interval begins at {from_s:g} s or later")
    warnings = []
    groups = {}
    for name, total in end["groups"].items():
        own = [event["groups"][name] for event in kept]
        logged = [line for line in lines if line.tag == name]
        given_up = [line for line in lines if line.tag == f"{name}/!censored"]
        complete = len(logged) == len(measured)
        if not complete:
            warnings.append(
                f"{name}: latency.hlog has no intervals: latencies of the steady part are unknown"
            )
        groups[name] = {
            **total,
            **{key: sum(each[key] for each in own) for key in _COUNTS},
            "errors": _errors(total["errors"], sum(each["errors"] for each in own)),
            "latency": _latency(own, logged[skipped:], given_up) if complete else None,
        }
    begins_s = float(kept[0]["t_s"] - kept[0]["length_s"]) if skipped else 0.0
    cut = {
        **end,
        "measured_s": sum(event["length_s"] for event in kept),
        "groups": groups,
        "generator": {
            **end["generator"],
            "cpu_s": sum(event["generator"]["cpu_s"] for event in kept),
        },
    }
    intervals = tuple({**event, "t_s": event["t_s"] - begins_s} for event in kept)
    return Part(cut, begins_s, intervals, tuple(warnings))


def _errors(by_code: Mapping[str, int], count: int) -> dict[str, int]:
    """So many errors, under the codes that they had over the whole time, the most frequent ones
    first to be named."""
    codes = sorted(by_code, key=by_code.__getitem__, reverse=True)
    return {codes[0] if codes else "other": count} if count else {}


def _latency(
    intervals: Sequence[Mapping[str, Any]], lines: Sequence[Tagged], given_up: Sequence[Tagged]
) -> Any:
    """A summary as the engine's; None without a value. `lines` are those of the intervals, and of
    all that was `given_up` what lies in them counts."""
    from_s = lines[0].start_s - 1e-3
    ages = merge(line.histogram for line in given_up if line.start_s >= from_s)
    summary = Censored(merge(line.histogram for line in lines), ages).summary()
    known = [each["latency"] for each in intervals if each.get("latency")]
    total = sum(each["count"] for each in known)
    if summary is not None and total and not ages.count:
        summary["mean_ns"] = sum(each["mean_ns"] * each["count"] for each in known) / total
    return summary
