"""From a run to what models say of each of its cells with servers that work together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import commits, failures, replicas
from dbdyno.analysis.predictions.types import Predictions
from dbdyno.errors import DynoError
from dbdyno.experiment.types import GALERA, REPLICAS
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.metrics.timeseries import Trace
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.systems.base import TargetPlan


def predictions(
    plan: Plan, records: Sequence[TrialRecord], trace: Callable[[str], Trace | None]
) -> tuple[Predictions, ...]:
    """Of each cell with a topology, for each of its targets that is one. Of `records` those that
    are complete count; `trace` gives a trial over time, or None where that is not known."""
    counted = [record for record in records if record.status == COMPLETE]

    def readable(trial: str) -> Trace | None:
        try:
            return trace(trial)
        except (DynoError, KeyError, ValueError):
            return None

    found = []
    for cell in plan.cells:
        own = [record for record in counted if record.cell == cell.index]
        for target in cell.targets:
            if target.topology is None or not own:
                continue
            one = _of_target(plan, cell, target, counted, readable)
            if one.quantities or one.sequences or one.unknown:
                found.append(one)
    return tuple(found)


def _of_target(
    plan: Plan,
    cell: Cell,
    target: TargetPlan,
    records: Sequence[TrialRecord],
    trace: Callable[[str], Trace | None],
) -> Predictions:
    assert target.topology is not None
    if target.topology.kind == REPLICAS and not target.topology.logical:
        return replicas.predict(plan, cell, target, records)
    if target.topology.kind != GALERA:
        return Predictions(cell.index, unknown=(Message("no_model_of_topology"),))
    if any(fault.target == target.name for fault in cell.faults):
        own = [record for record in records if record.cell == cell.index and record.faults]
        return failures.predict(cell, target, own, trace)
    return commits.predict(plan, cell, target, records)
