"""Reads each trial's files once, one cell after the other, keeping only what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.report.trials import cells, series
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run


@dataclass(frozen=True)
class Trials:
    """What was read: latencies of each cell, series of each trial (by its id), and the samples
    (source, name) that these have."""

    cells: list[cells.CellLatency]
    series: Mapping[str, series.Trial]
    samples: list[tuple[str, str]]


def read(run: Run, records: Sequence[TrialRecord]) -> Trials:
    """DynoError if a file of the run cannot be read."""
    chosen = series.choose_samples([r.metrics for r in records])
    latencies, trials = [], {}
    for cell in run.plan.cells:
        own = [r for r in records if r.cell == cell.index]
        logs = [run.histograms(r.id) for r in own if r.status == COMPLETE]
        ends: list[Mapping[str, Any]] = []
        for r in own:
            events = run.events(r.id)
            trials[r.id] = series.read_trial(events, run.samples(r.id), chosen)
            if r.status == COMPLETE:
                ends += [event for event in events if event.get("event") == "end"]
        latencies.append(cells.collect(cell, logs, ends))
    return Trials(latencies, trials, chosen)
