"""How far a run is, and what it has found so far: read from its directory while another process
works in it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.plan.outlook import estimate
from dbdyno.report.text import names
from dbdyno.store.manifest import RUNNING
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.store.run import EVENTS, Run
from dbdyno.store.text import json as jsontext

TAIL_BYTES = 256 << 10  # of a trial's events: several intervals of many groups
SHOWN = ("transactions_per_s", "rate_max_per_s", "mib_per_s", "response_ms_p95", "service_ms_p95")


@dataclass(frozen=True)
class Progress:
    """The facts, JSON-like. `left_s`: by what trials have taken so far, by the plan until one is
    over. `cells`: levels, trials over, and the mean so far of each of `heads`, which
    is nothing that could be judged. `current`: the trial under way, and its last interval by
    group."""

    status: str
    trials: int
    done: int
    void: int
    left_s: int
    heads: tuple[str, ...]
    cells: tuple[dict[str, Any], ...]
    current: dict[str, Any] | None


class Watch:
    """A run that is read again and again: records that were read once stay."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[str, TrialRecord] = {}

    def progress(self) -> Progress:
        """As of now. DynoError if the run cannot be read."""
        run = Run.open(self._path)
        over = [trial.id for trial in run.plan.trials if run.is_complete(trial.id)]
        if self._records.keys() != set(over):
            self._records = {one.id: one for one in run.records()}
        records = list(self._records.values())
        metrics = _metrics(records)
        known = [names.describe(name, names.groups_of(run.plan)) for name in metrics]
        return Progress(
            status=run.status,
            trials=len(run.plan.trials),
            done=len(records),
            void=sum(one.status == VOID for one in records),
            left_s=round(_left_s(run, self._records)),
            heads=tuple(one.column for one in known),
            cells=tuple(_cells(run, records, metrics)),
            current=_current(run, self._records) if run.status == RUNNING else None,
        )


def _metrics(records: list[TrialRecord]) -> list[str]:
    found = dict.fromkeys(name for one in records for name in one.metrics)
    return [name for short in SHOWN for name in found if name.rpartition(".")[2] == short]


def _cells(run: Run, records: list[TrialRecord], metrics: list[str]) -> Iterator[dict[str, Any]]:
    for cell in run.plan.cells:
        of = [one for one in records if one.cell == cell.index and one.status == COMPLETE]
        values = [[one.metrics[name] for one in of if name in one.metrics] for name in metrics]
        yield {
            "levels": dict(cell.levels),
            "trials": len(of),
            "means": [_mean(each) for each in values],
        }


def _mean(values: list[float]) -> float | None:
    """Geometric, as in the report."""
    if not values:
        return None
    return statistics.geometric_mean(values) if min(values) > 0 else statistics.fmean(values)


def _left_s(run: Run, records: dict[str, TrialRecord]) -> float:
    cells = run.plan.cells
    net_s = sum(estimate.trial_s(cells[t.cell]) for t in run.plan.trials if t.id not in records)
    began = run.manifest.get("sessions", [{}])[-1].get("started_unix_s", 0.0)
    ours = [one for one in records.values() if one.started_unix_s >= began]
    if not ours:
        return net_s
    last = max(ours, key=lambda one: one.started_unix_s)
    taken_s = last.started_unix_s + estimate.trial_s(cells[last.cell]) - began
    return net_s * taken_s / sum(estimate.trial_s(cells[one.cell]) for one in ours)


def _current(run: Run, records: dict[str, TrialRecord]) -> dict[str, Any] | None:
    trial = next((one for one in run.plan.trials if one.id not in records), None)
    if trial is None:
        return None
    cell = run.plan.cells[trial.cell]
    last = _last_interval(run.trial_dir(trial.id) / EVENTS)
    groups = last["groups"] if last else {}
    return {
        "trial": trial.id,
        "block": trial.block,
        "levels": dict(cell.levels),
        "t_s": last["t_s"] if last else None,
        "phase": last["phase"] if last else "starting",
        "duration_s": cell.duration_s,
        "groups": {name: _interval(group, last["length_s"]) for name, group in groups.items()},
    }


def _interval(group: dict[str, Any], length_s: float) -> dict[str, Any]:
    p95_ns = (group.get("latency") or {}).get("p95_ns")
    return {
        "transactions_per_s": group["transactions"] / length_s,
        "latency_ms_p95": None if p95_ns is None else p95_ns / 1e6,
        "errors": group["errors"],
    }


def _last_interval(path: Path) -> Any:
    """The last whole interval at the end of a stream of events; None if there is none."""
    try:
        with diskfiles.opened(path) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return None
    for line in reversed(lines[:-1]):
        if b'"interval"' in line:
            try:
                event = jsontext.loads(line)
            except ValueError:  # the first line of the tail may be half of one
                return None
            if event.get("event") == "interval":
                return event
    return None
