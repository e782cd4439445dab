"""Samples of a trial's measured phase, reduced to one number a metric. Pure.

A sample is `{"t_s", "source", "values"}`: what happened since the source's previous sample (rates,
shares) or how things stand (levels). Either way its value holds for the time since the previous
sample, and a metric is the mean over the measured phase weighted by that time. Only samples with
0 < t_s <= measured time count (half an interval of grace at the end, since the sampler's clock and
the engine's are two).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# Levels whose extreme matters more than their mean get a `<name>_max` beside it.
PEAKS = frozenset({"memory.dirty_bytes", "memory.writeback_bytes", "server.rss_bytes"})


class Sampled(NamedTuple):
    """Metrics by name, CPU seconds of the server processes (None: not sampled), and warnings."""

    metrics: dict[str, float]
    server_cpu_s: float | None
    warnings: tuple[str, ...]


def sampled_metrics(samples: Sequence[Mapping[str, Any]], measured_s: float) -> Sampled:
    """Time-weighted means over the measured phase of `measured_s` seconds."""
    by_source: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for sample in samples:
        by_source[sample["source"]].append(sample)
    metrics: dict[str, float] = {}
    for source, lines in by_source.items():
        metrics.update(_source(source, lines, measured_s))
    cores = [
        value
        for name, value in metrics.items()
        if name == "server.cpu_cores" or name.endswith(".server.cpu_cores")
    ]
    return Sampled(metrics, sum(cores) * measured_s if cores else None, ())


def _source(source: str, lines: Sequence[Mapping[str, Any]], measured_s: float) -> dict[str, float]:
    lines = sorted(lines, key=lambda line: line["t_s"])
    sums: dict[str, float] = defaultdict(float)
    weights: dict[str, float] = defaultdict(float)
    peaks: dict[str, float] = {}
    before: float | None = None
    for line in lines:
        t_s = float(line["t_s"])
        length = t_s - (before if before is not None else t_s - 1.0)
        before = t_s
        if not 0.0 < t_s <= measured_s + length / 2 or length <= 0:
            continue
        for key, value in line["values"].items():
            name = f"{source}.{key}"
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not math.isfinite(value):
                continue
            sums[name] += value * length
            weights[name] += length
            if name in PEAKS:
                peaks[f"{name}_max"] = max(value, peaks.get(f"{name}_max", -math.inf))
    return {name: total / weights[name] for name, total in sums.items()} | peaks
