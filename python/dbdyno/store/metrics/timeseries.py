"""A trial's files as arrays over time: commits a tick, and every sampled metric.

Times are seconds on the trial's clock, 0 where the measured phase begins. Reading is by the trial,
so that a long run never has to fit into memory at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

TICK_S = 0.1  # as the engine counts: engine/generator/src/report/ticks.rs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """One metric: `values[i]` holds for the `length_s[i]` seconds until `t_s[i]`. Shapes (n,). A
    session state that a sample of the sessions does not list has a 0 there."""

    t_s: Floats
    length_s: Floats
    values: Floats


@dataclass(frozen=True)
class Trace:
    """One trial over time, warm-up included (negative times).

    `commits` by group: transactions committed in each tick of `TICK_S`, shape (n,); `ends_s`: where
    each tick ends, shape (n,), rising. `samples` by full name (`cpu.user`,
    `db.status.Qcache_hits`). `gaps`: source and moment of samples that could not be taken.
    `unread`: what of the files made no sense, in sentences. `due`, of groups that are open loops:
    arrivals that became due in each tick, evenly within an interval; shape (n,).
    """

    trial: str
    measured_s: float
    ends_s: Floats
    commits: Mapping[str, Floats]
    samples: Mapping[str, Samples] = field(default_factory=dict)
    gaps: tuple[tuple[str, float], ...] = ()
    outages: tuple[Mapping[str, Any], ...] = ()
    unread: tuple[str, ...] = ()
    due: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def total(self) -> Floats:
        """Commits a tick of all groups, shape (n,)."""
        return np.sum(list(self.commits.values()), axis=0) if self.commits else np.zeros(0)

    def measured(self) -> Trace:
        """The measured phase alone: ticks that end within it."""
        inside = (self.ends_s > TICK_S / 2) & (self.ends_s <= self.measured_s + TICK_S / 2)
        return Trace(
            self.trial,
            self.measured_s,
            self.ends_s[inside],
            {name: counts[inside] for name, counts in self.commits.items()},
            self.samples,
            self.gaps,
            self.outages,
            self.unread,
            {name: arrivals[inside] for name, arrivals in self.due.items()},
        )


def read_trace(
    trial: str,
    events: Iterable[Mapping[str, Any]],
    samples: Iterable[Mapping[str, Any]],
) -> Trace:
    """A trace of a trial's events and samples. A trial that was cut off has what it has."""
    ends: list[Floats] = []
    counts: list[Mapping[str, list[int]]] = []
    arrivals: list[Mapping[str, float]] = []
    outages, unread = [], []
    busy: list[tuple[float, float, float]] = []
    measured_s = 0.0
    for event in events:
        kind = event.get("event")
        if kind == "interval":
            ticks = {name: group.get("ticks", []) for name, group in event["groups"].items()}
            n = max(map(len, ticks.values()), default=0)
            if any(len(one) != n for one in ticks.values()):
                unread.append(f"an interval at {event['t_s']:g} s has groups with unlike ticks")
                continue
            ends.append(event["t_s"] - TICK_S * np.arange(n - 1, -1, -1.0))
            counts.append(ticks)
            opened = {name: group.get("open") for name, group in event["groups"].items()}
            arrivals.append({name: one["due"] / max(n, 1) for name, one in opened.items() if one})
            if loads := event.get("generator", {}).get("busy"):
                busy.append((event["t_s"], event["length_s"], max(loads)))
            if event.get("phase") == "measure":
                measured_s = max(measured_s, float(event["t_s"]))
        elif kind == "outage":
            outages.append(event)
        elif kind == "end":
            measured_s = float(event["measured_s"])
    names = list(dict.fromkeys(name for one in counts for name in one))
    commits = {
        name: np.concatenate(
            [
                np.asarray(one.get(name, np.zeros(len(end))), dtype=np.float64)
                for one, end in zip(counts, ends, strict=True)
            ]
        )
        for name in names
    }
    due = {
        name: np.concatenate(
            [np.full(len(end), one.get(name, 0.0)) for one, end in zip(arrivals, ends, strict=True)]
        )
        for name in dict.fromkeys(name for one in arrivals for name in one)
    }
    sampled, gaps = _samples(samples)
    if busy:  # of the generator's busiest thread, by the interval
        sampled["generator.busy"] = Samples(*np.asarray(busy, dtype=np.float64).T)
    return Trace(
        trial,
        measured_s,
        np.concatenate(ends) if ends else np.zeros(0),
        commits,
        sampled,
        gaps,
        tuple(outages),
        tuple(unread),
        due,
    )


def _samples(
    lines: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, Samples], tuple[tuple[str, float], ...]]:
    columns: dict[tuple[str, str], dict[float, tuple[float, float]]] = {}
    looks: dict[str, dict[float, tuple[float, float]]] = {}  # of sources that omit zeros
    gaps = []
    for line in lines:
        source, t_s = str(line["source"]), float(line["t_s"])
        if "gap" in line:
            gaps.append((source, t_s))
            continue
        length_s = float(line["length_s"])
        if f".{source}".endswith(".sessions"):
            looks.setdefault(source, {})[t_s] = (length_s, 0.0)
        for key, value in line["values"].items():
            if isinstance(value, int | float) and math.isfinite(value):
                columns.setdefault((source, key), {})[t_s] = (length_s, float(value))
    found = {}
    for (source, key), column in columns.items():
        rows = {**looks.get(source, {}), **column}
        table = np.asarray([(t, *rows[t]) for t in sorted(rows)], dtype=np.float64)
        found[f"{source}.{key}"] = Samples(table[:, 0], table[:, 1], table[:, 2])
    return found, tuple(gaps)
