"""One result as a tool reported it, in our metrics' names and units. Pure data.

Rates are per second, latencies milliseconds in metrics and nanoseconds in intervals. A metric
without a name in dbdyno keeps the tool's behind `tool.`: `tool.latency_ms_p90`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.store.metrics.histogram import Histogram
from dbdyno.store.text import shapes

TOOL = "tool."  # before names that only the tool gives
SECONDS_MAX = shapes.SECONDS_MAX
SESSIONS_MAX = 10_000_000
NUMBER_MAX = 1e18  # a rate, or a latency in ns: a thousand years are 3e19
COUNT_MAX = 1 << 48
OWN = "dyno-sysbench"  # the tool, which is part of dbdyno
QUANTILES = {"50": "p50", "95": "p95", "99": "p99", "99.9": "p999"}


@dataclass(frozen=True)
class Interval:
    """Output of a tool while it ran: rates over the `length_s` seconds until `t_s`."""

    t_s: float
    length_s: float
    transactions_per_s: float
    operations_per_s: float
    errors_per_s: float = 0.0
    latency_ns: Mapping[str, float] = field(default_factory=dict)  # p50, p95, p99, p999, mean, max


@dataclass(frozen=True)
class Part:
    """One group of a result: all of it, or the reads and the writes of fio."""

    metrics: Mapping[str, float]
    intervals: tuple[Interval, ...] = ()
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Found:
    """One measured run of another tool. `said` are levels that the result itself states (threads),
    in the order in which they become factors; `settings` all else that describes it."""

    tool: str
    version: str
    file: Path
    line: int  # where it begins, from 1
    parts: Mapping[str, Part]  # "" if there is one
    said: Mapping[str, str] = field(default_factory=dict)
    sessions: int = 0  # 0: not known
    duration_s: float = 0.0  # 0: not known
    settings: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # what the tool's words and units became
    warnings: tuple[str, ...] = ()
    started_unix_s: float | None = None
    repetition: str = ""  # where the file says which one it is
    block: str = ""  # the same, of passes over all cells
    row: bool = False  # a row of a table: rows alike are repetitions

    @property
    def place(self) -> str:
        """`old/a.txt:12`."""
        return f"{self.file}:{self.line}"


def plausible(found: Found) -> None:
    """ValueError for numbers that no tool measures, and with which nothing can be computed."""
    _within("duration", found.duration_s, SECONDS_MAX)
    _within("sessions", found.sessions, SESSIONS_MAX)
    _within("start", found.started_unix_s or 0.0, shapes.UNIX_S_MAX)
    for part in found.parts.values():
        for name, value in part.metrics.items():
            _within(name, value, NUMBER_MAX)
        for one in part.intervals:
            _within("time", one.t_s, shapes.UNIX_S_MAX)
            _within("length of an interval", one.length_s, SECONDS_MAX)
            rates = (one.transactions_per_s, one.operations_per_s, one.errors_per_s)
            for rate in (*rates, *one.latency_ns.values()):
                _within("number of an interval", rate, NUMBER_MAX)
        if part.histogram is not None:
            _within("count of the histogram", int(part.histogram.counts.max()), COUNT_MAX)
            _within("count of the histogram", -int(part.histogram.counts.min()), 0)


def _within(what: str, value: float, most: float) -> None:
    if not -most <= value <= most:
        raise ValueError(f"{what[:60]} of {value:g}")


def latency_metrics(values_ms: Mapping[str, float], kind: str = "service") -> dict[str, float]:
    """Metrics of percentiles (`"95": 1.47`), `mean`, `max` and the like, in milliseconds.

    `kind`: `service`, or `response` where the tool counts from the time a request was due. What we
    have no name for keeps one of its own: `tool.latency_ms_p90`.
    """
    metrics = {}
    for name, value in values_ms.items():
        if not math.isfinite(value) or value < 0:
            continue
        if name == "mean" or name in QUANTILES:
            metrics[f"{kind}_ms_{QUANTILES.get(name, name)}"] = value
        else:
            short = name if name[:1].isalpha() else f"p{name.replace('.', '_')}"
            metrics[f"{TOOL}latency_ms_{short}"] = value
    return metrics


def histogram_metrics(histogram: Histogram, kind: str = "service") -> dict[str, float]:
    """Percentiles with enough values: at least 10 / (1 - q), as for our own trials."""
    found = {}
    for q, short in QUANTILES.items():
        share = float(q) / 100
        value_ns = histogram.quantile_ns(share)
        if value_ns is not None and histogram.count >= round(10 / (1 - share), 6):
            found[f"{kind}_ms_{short}"] = value_ns / 1e6
    return found
