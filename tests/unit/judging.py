"""Made-up runs whose truth is known, and what is found in them."""

import math
from typing import Any

import numpy as np
from plans import plan as make_plan

from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import Findings
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse
from fixtures.schemas import valid

SESSIONS = ("1", "4", "16")
CACHE = {"cache": ("on", "off"), "sessions": SESSIONS}


def records(
    plan: Plan, truth: dict[tuple[str, ...], float], noise: float = 0.01, seed: int = 1, **more: Any
) -> list[TrialRecord]:
    """Trials with throughput `truth[levels]`, times the block's effect, times noise."""
    rng = np.random.default_rng(seed)
    mood = {block: math.exp(rng.normal(0, 0.2)) for block in range(1, plan.blocks + 1)}
    found = []
    for trial in plan.trials:
        levels = tuple(plan.cells[trial.cell].levels.values())
        rate = truth[levels] * mood[trial.block] * math.exp(rng.normal(0, noise))
        metrics = {
            "transactions_per_s": rate,
            "operations_per_s": rate,
            "service_ms_p95": 1e3 / rate,
        }
        found.append(TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics | more))
    return found


QUERY_CACHE = {
    ("on", "1"): 1000.0,
    ("on", "4"): 2500.0,
    ("on", "16"): 1000.0,
    ("off", "1"): 950.0,
    ("off", "4"): 2600.0,
    ("off", "16"): 2900.0,
}


def judged(*claims: str, blocks: int = 6, **changes: Any) -> Findings:
    plan = make_plan(CACHE, blocks=blocks, claims=claims, **changes)
    return checked(plan, records(plan, QUERY_CACHE))


def checked(plan: Plan, trials: list[TrialRecord]) -> Findings:
    """Findings whose JSON fits the schema and holds no number that JSON cannot."""
    findings = analyse(plan, trials)
    value = to_json(findings, plan, {"status": "complete", "versions": {"dbdyno": "0"}})
    valid("result", value)
    assert next(iter(value)) == "schema_version"
    return findings
