"""Replicas without faults. With a delay between the nodes: how long a commit
takes that waits for other nodes; one that waits for none takes what processors need. And how fast
the lag of replicas grows that cannot keep up (`lag`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import hot_rows, lag, latencies
from dbdyno.analysis.predictions.latencies import Waits
from dbdyno.analysis.predictions.types import ACKNOWLEDGED, Predictions
from dbdyno.experiment.audit import COMMITS
from dbdyno.models import calculate, load
from dbdyno.models.given import take
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

ROWS_MIN = 10  # a session: with fewer, sessions often wait for a row that another one has locked


def predict(
    plan: Plan, cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]
) -> Predictions:
    """Of a cell on replicas. `records`: of all cells."""
    topology = target.topology
    assert topology is not None
    unknown = [Message("lag_from_log")]
    if any(fault.target == target.name for fault in cell.faults):
        return Predictions(cell.index, unknown=(*_of_failover(cell, target), *unknown))
    groups = latencies.writers(cell, target)
    if topology.nodes < 2 or not groups:
        return Predictions(cell.index, unknown=tuple(unknown))
    if (grows := lag.predict(plan, cell, target, records)) is not None:
        found = _waits(plan, cell, target, groups, records, ())
        return replace(
            found,
            inputs=(*found.inputs, grows.source),
            quantities=(*found.quantities, *grows.quantities),
        )
    return _waits(plan, cell, target, groups, records, unknown)


def _waits(
    plan: Plan,
    cell: Cell,
    target: TargetPlan,
    groups: Sequence[GroupPlan],
    records: Sequence[TrialRecord],
    unknown: Sequence[str],
) -> Predictions:
    """How long transactions wait for other nodes; `unknown`: what else is not predicted."""
    own = [record for record in records if record.cell == cell.index]
    if why := latencies.refused(target) or _refused(target, groups):
        return Predictions(cell.index, unknown=(why, *unknown))
    waits = _of_replicas(target, groups, latencies.one_way_s(target, own))
    return latencies.predict(plan, cell, waits, records, unknown)


def _of_failover(cell: Cell, target: TargetPlan) -> list[str]:
    """Why nothing is predicted of a cell with faults."""
    assert target.topology is not None
    asynchronous = not target.topology.wait_for_replicas
    if asynchronous and target.topology.failover is not None and cell.audit == COMMITS:
        return [Message("loss_not_sampled")]
    return [Message("failover_not_simulated")]


def _refused(target: TargetPlan, groups: Sequence[GroupPlan]) -> str:
    """What of a cell the model does not have; empty if nothing."""
    assert target.topology is not None
    if not target.topology.wait_for_replicas:
        return Message("waits_for_none")
    sessions = _sessions(groups)
    for group in groups:
        hot = hot_rows.of_group(group)
        if hot is not None and sessions > 1 and hot.rows < ROWS_MIN * sessions:
            return Message("rows_are_hot", rows=hot.rows, sessions=sessions)
    return ""


def _sessions(groups: Sequence[GroupPlan]) -> int:
    return sum(group.sessions for group in groups)


def _of_replicas(target: TargetPlan, groups: Sequence[GroupPlan], delay_s: float) -> Waits:
    assert target.topology is not None
    nodes, wait = target.topology.nodes, target.topology.wait_for_replicas
    sessions = _sessions(groups)
    values = _computed(
        "replica-commit",
        {
            "delays": ",".join([latencies.written(delay_s)] * (nodes - 1)),
            "wait": f"{wait}",
            "sessions": f"{sessions}",
            "server": target.kind,
            "alone": "0s",
        },
    )
    told = Message(
        "waits_for_replicas",
        wait=wait,
        replicas=nodes - 1,
        delay_ms=delay_s * 1e3,
        sessions=sessions,
        up_to_twice=values["queue"] > 0,
    )
    return Waits(ACKNOWLEDGED, groups, values["earliest"], values["latest"], told)


def _computed(name: str, written: Mapping[str, str]) -> dict[str, float]:
    """What a model gives that is a number."""
    model = load(name)
    values = calculate.answer(model, take(model, written, {})).values
    return {key: value for key, value in values.items() if isinstance(value, float)}
