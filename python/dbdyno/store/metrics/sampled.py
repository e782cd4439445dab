"""Samples of a trial's measured phase, reduced to one number a metric. Pure.

A sample is `{"t_s", "length_s", "source", "values"}`: what happened in the `length_s` seconds until
`t_s` (rates, shares) or states (levels). Either way its value holds for that time, and a metric is
the mean over the measured phase weighted by that time. A sample counts if the middle of that time
lies in the measured phase; a count of sessions, which is a sample and not a sum, only if the sample
itself does (just after the end they have gone). A session state that a sample does not list has no
sessions; any other value that is not listed is unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

# Levels whose extreme matters more than their mean get a `<name>_max` as well.
PEAKS = frozenset({"memory.dirty_bytes", "memory.writeback_bytes", "server.rss_bytes"})
PEAK_SOURCES = ("replica_lag_s",)  # of all their values
# Levels that may grow without end get a `<name>_per_h` as well: the slope of a straight line.
SLOPES = frozenset({"server.rss_bytes", "files.open", "files.data_bytes"})
SLOPE_SOURCES = ("replica_lag_s",)
SLOPE_SAMPLES = 5  # at least
HOUR_S = 3600.0

Line = Mapping[str, Any]


class Sampled(NamedTuple):
    """Metrics by name, CPU seconds of the server processes (None: not sampled), and warnings."""

    metrics: dict[str, float]
    server_cpu_s: float | None
    warnings: tuple[str, ...]


def sampled_metrics(
    samples: Sequence[Line], until_s: float, from_s: float = 0.0, struck_s: float = math.inf
) -> Sampled:
    """Time-weighted means over the measured phase, or its part, between two moments. From
    `struck_s` on, servers may be down on purpose: what is missing then deserves no warning.

    CPU seconds of the servers are their mean use times the measured time, so that a missing sample
    does not make a server seem frugal.
    """
    by_source: dict[str, list[Line]] = defaultdict(list)
    for sample in samples:
        by_source[sample["source"]].append(sample)
    metrics: dict[str, float] = {}
    warnings: list[str] = []
    for source, unordered in by_source.items():
        lines = sorted(unordered, key=lambda line: line["t_s"])
        metrics.update(_means(source, lines, from_s, until_s))
        last_s = min(until_s, struck_s)
        gaps = [line["gap"] for line in lines if "gap" in line and from_s <= line["t_s"] <= last_s]
        if gaps:
            warnings.append(
                f"{source}: {len(gaps)} sample{'s' * (len(gaps) > 1)} missing (first: {gaps[0]})"
            )
    cores = [value for name, value in metrics.items() if f".{name}".endswith(".server.cpu_cores")]
    return Sampled(metrics, sum(cores) * (until_s - from_s) if cores else None, tuple(warnings))


def _means(source: str, lines: Sequence[Line], from_s: float, until_s: float) -> dict[str, float]:
    counts_zero = f".{source}".endswith(".sessions")
    sums: dict[str, float] = defaultdict(float)
    weights: dict[str, float] = defaultdict(float)
    peaks: dict[str, float] = {}
    levels: dict[str, list[tuple[float, float]]] = defaultdict(list)
    total = 0.0
    for line in lines:
        if "gap" in line:
            continue
        t_s, length = float(line["t_s"]), float(line["length_s"])
        at_s = t_s if counts_zero else t_s - length / 2
        if length <= 0 or not from_s <= at_s <= until_s:
            continue
        total += length
        for key, value in line["values"].items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not math.isfinite(value):
                continue
            name = f"{source}.{key}"
            sums[name] += value * length
            weights[name] += length
            if _peaks(name):
                peaks[f"{name}_max"] = max(value, peaks.get(f"{name}_max", -math.inf))
            if _is_of(name, SLOPES, SLOPE_SOURCES):
                levels[name].append((at_s, value))
    means = {
        name: summed / (total if counts_zero else weights[name]) for name, summed in sums.items()
    }
    return means | peaks | _slopes(levels)


def _peaks(name: str) -> bool:
    """Whether `name`, with or without a target before it, is one of `PEAKS`."""
    return _is_of(name, PEAKS, PEAK_SOURCES)


def _is_of(name: str, names: Collection[str], sources: Collection[str]) -> bool:
    """Whether `name`, with or without a target before it, is one of these, or of such a source."""
    if f".{name}".rpartition(".")[0].endswith(tuple(f".{source}" for source in sources)):
        return True
    return f".{name}".endswith(tuple(f".{one}" for one in names))


def _slopes(levels: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, float]:
    """By how much each level (seconds, value) rises an hour, by least squares."""
    found = {}
    for name, points in levels.items():
        if len(points) < SLOPE_SAMPLES:
            continue
        mid_s = math.fsum(at_s for at_s, _ in points) / len(points)
        squares = math.fsum((at_s - mid_s) ** 2 for at_s, _ in points)
        if squares > 0:
            first = points[0][1]  # so that a level that stays has a slope of zero exactly
            rise = math.fsum((at_s - mid_s) * (value - first) for at_s, value in points)
            found[f"{name}_per_h"] = rise / squares * HOUR_S
    return found
