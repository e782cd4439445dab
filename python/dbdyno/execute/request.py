"""What the engine is asked: a cell of the plan and its running servers as an engine plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.plan.types import Cell, GroupPlan, TrialPlan

SCHEMA_VERSION = 1
DATABASE = "dbdyno"
LOAD_THREADS_MAX = 8


def run_request(
    cell: Cell,
    trial: TrialPlan,
    targets: Mapping[str, dict[str, Any]],
    directory: Path,
    cpus: Sequence[int],
) -> dict[str, Any]:
    """The engine plan of one trial."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "run",
        "trial": trial.id,
        "directory": str(directory),
        "seed": trial.seed,
        "targets": dict(targets),
        "warmup_s": cell.warmup_s,
        "duration_s": cell.duration_s,
        "interval_s": cell.interval_s,
        "workers": 0,
        "cpus": list(cpus),
        "groups": [_group(group) for group in cell.groups],
    }


def _group(group: GroupPlan) -> dict[str, Any]:
    return {
        "name": group.name,
        "target": group.target,
        "workload": group.workload,
        "options": dict(group.options),
        "sessions": group.sessions,
        "rate_per_s": group.rate_per_s,
        "deadline_s": group.deadline_s,
        "retries": group.retries,
    }


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
