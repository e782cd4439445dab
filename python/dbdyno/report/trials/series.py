"""Time series of every trial as compact JSON for the page: throughput and latency by interval, and
the samples taken under them.

A page must stay small: series are thinned to a number of points that keeps the whole under
NUMBERS_MAX values, by averaging neighbours, so that a dip never vanishes between two kept points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NUMBERS_MAX = 350_000  # values in a page: about 1.7 MB of JSON
POINTS_MAX = 240
POINTS_MIN = 30
COUNTERS = 8  # server counters offered
MACHINE = 40  # series of /proc offered

# What other series say already.
SAID = frozenset({("cpu", "idle"), ("cpu", "busy"), ("cpu", "steal_percent")})

# A metric that a sampler made: its source (with the target's name, if there are several), its name.
_SAMPLED = re.compile(
    r"(?P<source>(?:[^.]+\.){0,2}?(?:cpu|memory|disk|server|status))\.(?P<name>.+)"
)

# Counters that explain the most, in the order offered, where they move. Names as servers print
# them.
TELLING = (
    "Innodb_row_lock_waits",
    "Innodb_row_lock_time",
    "Qcache_hits",
    "Qcache_lowmem_prunes",
    "Innodb_data_fsyncs",
    "Innodb_os_log_fsyncs",
    "Innodb_buffer_pool_reads",
    "Innodb_rows_read",
    "Innodb_log_waits",
    "Created_tmp_disk_tables",
    "Threads_running",
    "Handler_read_rnd_next",
    "xact_commit",
    "xact_rollback",
    "blks_read",
    "blks_hit",
    "deadlocks",
    "temp_files",
    "wal_bytes",
    "wal_sync",
    "buffers_backend",
    "checkpoints_req",
)


@dataclass
class Trial:
    """The series of one trial, not yet thinned. `t` in seconds from the measured phase's start."""

    t: list[float] = field(default_factory=list)
    groups: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    samples_t: dict[str, list[float]] = field(default_factory=dict)  # source -> times
    samples: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)


def read_trial(
    events: Iterable[Mapping[str, Any]],
    samples: Iterable[Mapping[str, Any]],
    chosen: Collection[tuple[str, str]],
) -> Trial:
    """Collects the intervals and the chosen samples of a trial, warm-up (negative times)
    included."""
    trial = Trial()
    for event in events:
        if event.get("event") == "interval":
            _interval(trial, event)
    wanted: dict[str, list[str]] = {}
    for source, name in chosen:
        wanted.setdefault(source, []).append(name)
    for sample in samples:
        source = str(sample["source"])
        if source not in wanted:
            continue
        trial.samples_t.setdefault(source, []).append(float(sample["t_s"]))
        table = trial.samples.setdefault(source, {name: [] for name in wanted[source]})
        for name, column in table.items():
            value = sample["values"].get(name)
            column.append(float(value) if isinstance(value, int | float) else None)
    return trial


def _interval(trial: Trial, event: Mapping[str, Any]) -> None:
    trial.t.append(float(event["t_s"]))
    length_s = float(event["length_s"]) or 1.0
    for name, group in event["groups"].items():
        columns = trial.groups.setdefault(name, {"tps": [], "p50": [], "p95": [], "errors": []})
        latency = group.get("latency") or {}
        if open_loop := group.get("open"):
            _open(columns, open_loop, length_s)
        columns["tps"].append(group["transactions"] / length_s)
        columns["errors"].append(group["errors"] / length_s)
        for short in ("p50", "p95"):
            ns = latency.get(f"{short}_ns")
            columns[short].append(None if ns is None else ns / 1e6)


def _open(
    columns: dict[str, list[float | None]], open_loop: Mapping[str, Any], length_s: float
) -> None:
    """What an open loop has besides: arrivals, backlog and response."""
    response = (open_loop.get("response") or {}).get("p95_ns")
    columns.setdefault("due", []).append(open_loop["due"] / length_s)
    columns.setdefault("backlog", []).append(float(open_loop["backlog"]))
    columns.setdefault("response_p95", []).append(None if response is None else response / 1e6)


def thin(values: Sequence[float | None], points: int) -> list[float | None]:
    """At most `points` values, each the mean of neighbours, rounded to 4 significant digits."""
    step = max(1, math.ceil(len(values) / points))
    if step == 1:
        return [_round4(v) if v is not None and math.isfinite(v) else None for v in values]
    thinned: list[float | None] = []
    for start in range(0, len(values), step):
        known = [v for v in values[start : start + step] if v is not None and math.isfinite(v)]
        thinned.append(_round4(sum(known) / len(known)) if known else None)
    return thinned


def _round4(value: float) -> float:
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def choose_samples(metrics: Sequence[Mapping[str, float]]) -> list[tuple[str, str]]:
    """(source, name) of the samples shown, in the order shown, from the trials' metrics.

    From /proc: all that is not zero. From a server: the most informative counters first, then those
    whose mean differs most between trials, since a counter that is the same everywhere explains
    nothing.
    """
    means: dict[tuple[str, str], list[float]] = {}
    for trial in metrics:
        for name, value in trial.items():
            match = _SAMPLED.fullmatch(name)
            # Peaks (`dirty_bytes_max`) are metrics, not series.
            if match and value and not match["name"].endswith("_bytes_max"):
                means.setdefault((match["source"], match["name"]), []).append(value)
    counters = [key for key in means if is_counters(key[0])]
    rank = {name: i for i, name in enumerate(TELLING)}

    def telling(key: tuple[str, str]) -> tuple[int, float, str]:
        values = means[key] + [0.0] * (len(metrics) - len(means[key]))
        top = max(abs(v) for v in values)
        spread = (max(values) - min(values)) / top
        return (rank.get(key[1], len(rank)), -spread, key[1])

    machine = sorted(key for key in means if not is_counters(key[0]) and key not in SAID)
    return machine[:MACHINE] + sorted(counters, key=telling)[:COUNTERS]


def is_counters(source: str) -> bool:
    """Whether a source is a server's counters (hundreds of names) rather than a few of /proc."""
    return source.rpartition(".")[2] == "status"


def points_for(trials: int, columns: int) -> int:
    """Points a series so that the page stays small."""
    return max(POINTS_MIN, min(POINTS_MAX, NUMBERS_MAX // max(1, trials * columns)))


def compact(trial: Trial, chosen: Sequence[tuple[str, str]], points: int) -> dict[str, Any]:
    """The JSON of a trial: {"t", "groups": {name: {tps, p50, p95, errors}}, "sources": {source:
    {"t": [...], "v": {name: [...]}}}}. An open loop has `due`, `backlog` and `response_p95` too."""
    sources: dict[str, dict[str, Any]] = {}
    for source, name in chosen:
        column = trial.samples.get(source, {}).get(name)
        if column is None:
            continue
        entry = sources.setdefault(source, {"t": thin(trial.samples_t[source], points), "v": {}})
        entry["v"][name] = thin(column, points)
    groups = {
        name: {
            key: thin(column, points)
            for key, column in columns.items()
            if key != "errors" or any(column)
        }
        for name, columns in trial.groups.items()
    }
    return {"t": thin(trial.t, points), "groups": groups, "sources": sources}
