"""Runs apart from each other, reduced, for tests of comparisons and histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plans

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs.run_summary import Reduced
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord

ENVIRONMENT = {"kernel": "6.1", "cpu_model": "Example", "cores": 8, "memory_bytes": 16 << 30}
TPS, P95 = "transactions_per_s", "service_ms_p95"
DAY_S = 86_400.0
NORMAL = (1.0, 1.02, 0.99, 1.01, 0.98, 1.0, 1.015)  # runs of a history, about 1.5 % apart


def run(
    day: int,
    level: float = 1.0,
    *,
    plan: Plan | None = None,
    blocks_done: int | None = None,
    environment: dict[str, Any] | None = None,
    version: str = "10.11",
    metrics: dict[str, float] | None = None,
    outages: Sequence[dict[str, Any]] = (),
    asked_for: Sequence[str] = (),
    sessions: Sequence[dict[str, Any]] = (),
) -> Reduced:
    """A run on a day, `level` times as fast as the usual one."""
    plan = plan or plans.plan()
    done = plan.blocks if blocks_done is None else blocks_done
    records = [
        TrialRecord(
            id=trial.id,
            block=trial.block,
            cell=trial.cell,
            status="complete",
            started_unix_s=day * DAY_S,
            metrics=metrics
            or {TPS: level * 1000.0 * (trial.cell + 1) * (1 + trial.block / 100), P95: 4 / level},
            outages=tuple(outages) if trial.block == 1 else (),
            targets={"db": {"version": version}},
        )
        for trial in plan.trials
        if trial.block <= done
    ]
    manifest = {
        "created_unix_s": day * DAY_S,
        "environment": {**ENVIRONMENT, **(environment or {})},
        "sessions": [{"environment": {**ENVIRONMENT, **one}} for one in sessions],
    }
    status = "complete" if done == plan.blocks else "interrupted"
    return between_runs.reduce(plan, records, manifest, f"r{day}", status, asked_for)


def past(levels: Sequence[float] = NORMAL) -> list[Reduced]:
    return [run(day, level) for day, level in enumerate(levels, start=1)]
