"""What the engine is asked: a cell of the plan and its running servers as an engine plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbdyno.execute.engine import frequencies
from dbdyno.execute.engine.frequencies import Held
from dbdyno.experiment import workloads
from dbdyno.experiment.audit import COMMITS, recorded
from dbdyno.experiment.types import Arrivals, Think
from dbdyno.plan.types import Cell, GroupPlan, TrialPlan

SCHEMA_VERSION = 1
DATABASE = "dbdyno"
LOAD_THREADS_MAX = 8


def run_request(
    cell: Cell,
    trial: TrialPlan,
    targets: Mapping[str, dict[str, Any]],
    reached_by: Callable[[GroupPlan], Sequence[str]],
    directory: Path,
    cpus: Sequence[int],
    drain_s: float,
    workers: int = 0,
) -> dict[str, Any]:
    """The engine plan of one trial. `reached_by` names the targets that a group's sessions are
    dealt over; `workers` load threads drive them, 0: the engine chooses. Parameters with `column:`
    are there as written: see `with_values`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "run",
        "trial": trial.id,
        "directory": str(directory),
        "seed": trial.seed,
        "targets": dict(targets),
        "warmup_s": cell.warmup_s,
        "duration_s": cell.duration_s,
        "drain_s": drain_s,
        "interval_s": cell.interval_s,
        "workers": workers,
        "cpus": list(cpus),
        "groups": [
            {**_group(group, reached_by(group)), **_audited(cell.audit, group)}
            for group in cell.groups
        ],
    }


def _audited(audit: str | None, group: GroupPlan) -> dict[str, bool]:
    """What the engine records of a group."""
    if audit == COMMITS:
        return {"audit": True}
    return {"history": True} if recorded(audit, group.workload) else {}


def with_values(
    request: Mapping[str, Any], values: Mapping[str, Mapping[str, Held]]
) -> dict[str, Any]:
    """The same with parameters' values in it: by group, then by parameter. They go to the engine
    only, not to disk: there may be a hundred thousand of each."""
    groups = []
    for group in request["groups"]:
        found = values.get(group["name"])
        if found:
            params = {
                name: _listed(each, found[name]) if name in found else each
                for name, each in group["options"]["params"].items()
            }
            group = {**group, "options": {**group["options"], "params": params}}
        groups.append(group)
    return {**request, "groups": groups}


def _listed(param: Mapping[str, Any], held: Held) -> dict[str, Any]:
    """A parameter with the values of its `column:`."""
    kept = {key: each for key, each in param.items() if key not in frequencies.KEYS}
    listed = {**kept, "values": list(held.values)}
    weights = frequencies.weights(param, held)
    return listed if weights is None else listed | {"weights": weights}


def _group(group: GroupPlan, targets: Sequence[str]) -> dict[str, Any]:
    return {
        "name": group.name,
        "target": targets[0],
        "also_targets": list(targets[1:]),
        "workload": group.workload,
        "options": workloads.of(group.workload).sent(group.options),
        "sessions": group.sessions,
        "arrivals": _fields(group.arrivals),
        "think": _fields(group.think),
        "deadline_s": group.deadline_s,
        "retries": group.retries,
    }


def _fields(part: Arrivals | Think | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(part).items()}


def load_request(
    name: str,
    target: dict[str, Any],
    sets: Sequence[tuple[str, dict[str, Any]]],
    seed: int,
    directory: Path,
    threads: int,
) -> dict[str, Any]:
    """The engine plan that fills one target with data sets: (workload, load options)."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "load",
        "trial": f"load-{name}",
        "directory": str(directory),
        "seed": seed,
        "targets": {name: target},
        "groups": [
            {
                "name": f"data{number}",
                "target": name,
                "workload": workload,
                "options": options,
                "sessions": threads,
            }
            for number, (workload, options) in enumerate(sets, 1)
        ],
    }
