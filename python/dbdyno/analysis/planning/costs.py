"""What a block costs: the trials of its cells, each with warm-up and duration, and what lies
between them (starts, copies of data, preparing, storing), as `plan.estimate` has it, corrected by
what the run that the noise is from really took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.record import COMPLETE, TrialRecord

_FACTOR_MAX = 20.0


def block_s(plan: Plan, duration_s: float, factor: float) -> float:
    """Seconds of one block with trials of that duration; `factor`: of what lies between them."""
    load_s = sum(_load_s(cell, duration_s) for cell in plan.cells)
    return load_s + factor * overhead_s(plan.cells)


def overhead_s(cells: Sequence[Cell]) -> float:
    """Seconds of a block in which nothing is loaded, by estimate."""
    return estimate.block_s(cells, lambda cell: 0.0)


def factor(plan: Plan, records: Sequence[TrialRecord]) -> float:
    """How much longer than estimated a run spent between its trials; 1 if unknown."""
    begun: dict[int, float] = {}
    load: dict[int, float] = {}
    for record in sorted(records, key=lambda one: one.started_unix_s):
        begun.setdefault(record.block, record.started_unix_s)
        cell = plan.cells[record.cell]
        measured_s = cell.duration_s if record.measured_s is None else record.measured_s
        whole = record.status == COMPLETE and estimate.probes_max(cell) == 1
        load[record.block] = load.get(record.block, 0.0) + (
            cell.warmup_s + measured_s if whole else float("nan")
        )
    lengths = [
        begun[block + 1] - begun[block] - load[block] for block in begun if block + 1 in begun
    ]
    known = [length for length in lengths if np.isfinite(length) and length > 0]
    expected = overhead_s(plan.cells)
    if not known or expected <= 0:
        return 1.0
    return float(min(_FACTOR_MAX, max(0.1, np.median(known) / expected)))


def _load_s(cell: Cell, duration_s: float) -> float:
    return estimate.probes_max(cell) * (cell.warmup_s + duration_s)
