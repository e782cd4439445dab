"""A trial's counts and samples as curves of a timeline, as many points as a chart can show."""

from __future__ import annotations

import math

import numpy as np

from dbdyno.report.charts.over_time.timeline import Curve
from dbdyno.store.metrics.timeseries import TICK_S, Samples, Trace

POINTS_MAX = 600  # of a curve


def throughput(trace: Trace, low: float, high: float) -> Curve:
    """Commits a second of each tick, or of a few if there are many."""
    inside = (trace.ends_s > low + TICK_S / 2) & (trace.ends_s < high + TICK_S / 2)
    ends, counts = trace.ends_s[inside], trace.total[inside]
    width = max(1, math.ceil(len(counts) / POINTS_MAX))
    whole = len(counts) // width
    sums = counts[: whole * width].reshape(whole, width).sum(axis=1)
    last = ends[width - 1 : whole * width : width]
    edges: list[float] = []
    values: list[float | None] = []
    for end, value in zip(last.tolist(), (sums / (width * TICK_S)).tolist(), strict=True):
        start = end - width * TICK_S
        if edges and start - edges[-1] > TICK_S:  # ticks are missing
            values.append(None)
            edges.append(start)
        elif not edges:
            edges.append(start)
        values.append(value)
        edges.append(end)
    each = f"{width * TICK_S:g} s"
    return Curve("Throughput", f"transactions/s, each {each}", 0, tuple(edges), tuple(values))


def sampled(samples: Samples, label: str, unit: str, low: float, high: float) -> Curve:
    """A metric's samples, the largest of several if there are many."""
    near = (samples.t_s > low) & (samples.t_s - samples.length_s < high)
    ends, lengths, values = samples.t_s[near], samples.length_s[near], samples.values[near]
    step = max(1, math.ceil(len(ends) / POINTS_MAX))
    edges: list[float] = []
    found: list[float | None] = []
    for i in range(0, len(ends), step):
        part = slice(i, i + step)
        start, end = float(ends[i] - lengths[i]), float(ends[part][-1])
        if edges and start - edges[-1] > float(np.max(lengths)):
            found.append(None)
            edges.append(start)
        elif not edges:
            edges.append(start)
        found.append(float(np.max(values[part])))
        edges.append(end)
    return Curve(label, unit, 1, tuple(edges), tuple(found))
