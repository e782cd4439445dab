"""How far a run is, and what it has found so far: read from its directory while another process
works in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.analysis.under_way.left import Left, left
from dbdyno.analysis.under_way.so_far import SoFar
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Cell
from dbdyno.store.manifest import RUNNING
from dbdyno.store.record import VOID, TrialRecord
from dbdyno.store.run import EVENTS, Run
from dbdyno.store.text import json as jsontext

TAIL_BYTES = 256 << 10  # of a trial's events: several intervals of many groups


@dataclass(frozen=True)
class Progress:
    """The facts, JSON-like. `left_s`: by what trials have taken so far; until one is over, by the
    plan: then with a `left_bound`. `cells`: levels, trials over, and of each of `heads` the mean
    so far and its spread; `ratios`: of what the claims compare; both are nothing that could be
    judged. `current`: the trial under way, and its last interval by group."""

    status: str
    trials: int
    done: int
    void: int
    left_s: int
    left_bound: str
    heads: tuple[str, ...]
    cells: tuple[dict[str, Any], ...]
    ratios: tuple[dict[str, Any], ...]
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
        so_far, rest = SoFar(run.plan, records), _left(run, records)
        return Progress(
            status=run.status,
            trials=len(run.plan.trials),
            done=len(records),
            void=sum(one.status == VOID for one in records),
            left_s=round(rest.length_s),
            left_bound=rest.bound,
            heads=tuple(column.title for column in so_far.columns) if records else (),
            cells=tuple(_cell(so_far, cell) for cell in run.plan.cells),
            ratios=tuple(_ratios(so_far)),
            current=_current(run, self._records) if run.status == RUNNING else None,
        )


def _cell(so_far: SoFar, cell: Cell) -> dict[str, Any]:
    means = [so_far.mean(cell.index, column.metric) for column in so_far.columns]
    return {
        "levels": dict(cell.levels),
        "trials": so_far.trials(cell.index),
        "means": [one and one.mean for one in means],
        "spreads": [one and one.spread for one in means],
    }


def _ratios(so_far: SoFar) -> Iterator[dict[str, Any]]:
    for one in so_far.asked:
        if (found := so_far.ratio(one)) is not None:
            value, blocks = found
            yield {"text": one.text, "value": value, "blocks": blocks, "claimed": one.claimed,
                   "is_ratio": one.right is not None}  # fmt: skip


def _left(run: Run, records: Sequence[TrialRecord]) -> Left:
    """By the trials of the process that works in the run now, from its beginning to the end of its
    last trial, as their records say."""
    began = run.manifest.get("sessions", [{}])[-1].get("started_unix_s", 0.0)
    ours = [one for one in records if one.started_unix_s >= began]
    taken_s = 0.0
    if ours:
        last = max(ours, key=lambda one: one.started_unix_s)
        taken_s = last.started_unix_s + estimate.trial_s(run.plan.cells[last.cell]) - began
    return left(run.plan, {one.id for one in records}, [one.id for one in ours], taken_s)


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
