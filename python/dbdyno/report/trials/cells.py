"""Latencies of each cell, merged from the histograms of its trials."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dbdyno.plan.types import Cell
from dbdyno.report.charts.over_time.heat import COLUMNS_MAX, ROWS, Heat
from dbdyno.store.metrics.histogram import Histogram, Tagged, bounds, by_tag, merge
from dbdyno.store.metrics.latency import Censored


@dataclass(frozen=True)
class CellLatency:
    """What a cell's transactions took, merged over its trials: by group, and by class."""

    cell: int
    groups: Mapping[str, Histogram]  # committed transactions
    classes: Mapping[str, Histogram]
    heat: Mapping[str, Heat]
    responses: Mapping[str, Histogram] = field(default_factory=dict)  # of open loops, by group
    # Ages of what did not commit, by group.
    given_up: Mapping[str, Histogram] = field(default_factory=dict)
    response_given_up: Mapping[str, Histogram] = field(default_factory=dict)
    # Where the responses of a group begin to be lower bounds, ms, in runs whose responses hold the
    # ages too; absent: nowhere.
    at_least_ms: Mapping[str, float] = field(default_factory=dict)

    def service(self, group: str) -> Censored:
        """Service times of a group."""
        return Censored(self.groups[group], self.given_up.get(group, Histogram.empty()))

    def response(self, group: str) -> Censored | None:
        """Response times of a group that is an open loop."""
        if group not in self.responses:
            return None
        ages = self.response_given_up.get(group, Histogram.empty())
        return Censored(self.responses[group], ages)


def collect(
    cell: Cell, trials: Iterable[Sequence[Tagged]], ends: Iterable[Mapping[str, Any]] = ()
) -> CellLatency:
    """Merges the histograms of a cell's complete trials, whose `end` events are `ends`; warm-up
    intervals do not count."""
    groups = [group.name for group in cell.groups]
    merged: dict[str, list[Histogram]] = {}
    intervals: dict[str, list[Tagged]] = {name: [] for name in groups}
    ends = list(ends)
    for measured in trials:
        # The log's clock begins with the warm-up.
        zero_s = min((line.start_s for line in measured if line.tag in intervals), default=0.0)
        for tag, histogram in by_tag(measured).items():
            merged.setdefault(tag, []).append(histogram)
        for line in measured:
            if line.tag in intervals:
                intervals[line.tag].append(replace(line, start_s=line.start_s - zero_s))
    length_s = cell.duration_s
    if cell.until_steady:
        length_s = max((float(end["measured_s"]) for end in ends), default=length_s)
    together = {tag: merge(parts) for tag, parts in merged.items()}

    def special(name: str) -> dict[str, Histogram]:
        tags = {group: f"{group}/!{name}" for group in groups}
        return {group: together[tag] for group, tag in tags.items() if tag in together}

    return CellLatency(
        cell.index,
        {name: together[name] for name in groups if name in together and together[name].count},
        {
            tag: histogram
            for tag, histogram in together.items()
            if "/" in tag and "/!" not in tag and histogram.count
        },
        {name: heat for name in groups if (heat := _heat(intervals[name], length_s))},
        {name: of for name, of in special("response").items() if of.count},
        special("censored"),
        special("response_censored"),
        _bounds(groups, ends),
    )


def _bounds(groups: Sequence[str], ends: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for end in ends:
        for name in groups:
            ns = (end["groups"].get(name, {}).get("open") or {}).get("response_at_least_ns")
            if ns is not None:
                found[name] = min(found.get(name, math.inf), ns / 1e6)
    return found


def _heat(lines: list[Tagged], duration_s: float) -> Heat | None:
    """Counts by latency band and time, over all trials of a cell."""
    lines = [line for line in lines if line.histogram.count]
    if not lines:
        return None
    total = merge(line.histogram for line in lines)
    low, high = total.quantile_ns(0.001), total.quantile_ns(1.0)
    assert low is not None
    assert high is not None
    low_ms = max(low, 1000) / 1e6 / 1.15
    high_ms = max(high / 1e6 * 1.15, low_ms * 4)
    lengths = sorted(line.length_s for line in lines)
    step = max(lengths[len(lengths) // 2], duration_s / COLUMNS_MAX, 1e-3)
    columns = max(1, min(COLUMNS_MAX, round(duration_s / step)))
    middle_ms = (bounds()[0] + bounds()[1]) / 2e6
    share = np.log(np.maximum(middle_ms, low_ms) / low_ms) / math.log(high_ms / low_ms)
    band = np.clip((share * ROWS).astype(int), 0, ROWS - 1)
    counts = np.zeros((ROWS, columns))
    for line in lines:
        column = int((line.start_s + line.length_s / 2) / duration_s * columns)
        if 0 <= column < columns:
            counts[:, column] += np.bincount(
                band, weights=line.histogram.counts.astype(float), minlength=ROWS
            )
    return Heat(counts, low_ms, high_ms, duration_s)
