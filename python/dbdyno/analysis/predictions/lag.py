"""How fast the lag of a replica grows at one rate, from what it applied a second at another rate,
at which it could not keep up either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import latencies
from dbdyno.analysis.predictions.types import LAG, Quantity
from dbdyno.experiment.types import REPLICA
from dbdyno.models import calculate, load
from dbdyno.models.given import take
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

LEAST = 0.1  # s a second: a lag that grows by less may be one that does not
RATE_MIN = 0.001  # a second: the least that the model takes
HOUR_S = 3600.0


@dataclass(frozen=True)
class Found:
    """Predictions of a cell's replicas, and what they are made from."""

    source: str
    quantities: tuple[Quantity, ...]


def predict(
    plan: Plan, cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]
) -> Found | None:
    """Of a cell without faults; None where no other cell says what a replica applies. `records`: of
    all cells."""
    others = [one for one in plan.cells if one.index != cell.index and _differ_in_load(one, cell)]
    behind = [one for other in others if (one := _behind(other, target, records)) is not None]
    if not behind:
        return None
    source = max(behind, key=lambda one: one.growth)
    trials = _trials(cell, target, records)
    quantities = tuple(
        _of_node(node, capacity, trials)
        for node, capacity in source.capacities.items()
        if any(node in one.growth for one in trials)
    )
    if not quantities:
        return None
    applied = tuple(f"{node} {capacity:,.0f}/s" for node, capacity in source.capacities.items())
    levels = dict(source.cell.levels)
    return Found(Message("lag_from_capacity", applied=applied, levels=levels), quantities)


@dataclass(frozen=True)
class _Behind:
    """A cell in which replicas could not keep up: how fast the lag of the slowest one grew, and how
    many transactions a second each of them applied."""

    cell: Cell
    growth: float
    capacities: Mapping[str, float]


def _behind(cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]) -> _Behind | None:
    trials = _trials(cell, target, records)
    nodes = sorted({node for one in trials for node in one.growth})
    known = {node: [one for one in trials if node in one.growth] for node in nodes}
    growths = {node: median(one.growth[node] for one in known[node]) for node in nodes}
    capacities = {
        node: median(one.rate_per_s * (1 - one.growth[node]) for one in known[node])
        for node, growth in growths.items()
        if growth >= LEAST
    }
    applying = {node: value for node, value in capacities.items() if value >= RATE_MIN}
    return _Behind(cell, max(growths.values()), applying) if applying else None


@dataclass(frozen=True)
class _Trial:
    """Transactions that changed data a second, and by how much the lag of each replica grew, by
    node: seconds a second."""

    rate_per_s: float
    growth: Mapping[str, float]


def _trials(cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]) -> list[_Trial]:
    prefix = f"{target.name}." * (len(cell.targets) > 1)
    groups = latencies.writers(cell, target)
    rates = [f"{one.name}." * (len(cell.groups) > 1) + "transactions_per_s" for one in groups]
    slopes = {
        node.name: f"{prefix}replica_lag_s.{_label(node.name, target)}_per_h"
        for node in target.nodes
        if node.role == REPLICA
    }
    found = []
    for record in records:
        if record.cell != cell.index or not all(name in record.metrics for name in rates):
            continue
        rate_per_s = sum(record.metrics[name] for name in rates)
        growth = {
            node: record.metrics[name] / HOUR_S
            for node, name in slopes.items()
            if name in record.metrics
        }
        if rate_per_s >= RATE_MIN:
            found.append(_Trial(rate_per_s, growth))
    return found


def _label(node: str, target: TargetPlan) -> str:
    """A node as metrics call it."""
    return f"node{node.removeprefix(target.name).removeprefix('.') or 1}"


def _differ_in_load(one: Cell, other: Cell) -> bool:
    """Whether cells differ in nothing but how much is sent."""
    if one.targets != other.targets or one.faults or other.faults:
        return False
    if (one.audit, one.data_key) != (other.audit, other.data_key):
        return False
    return [_without_load(each) for each in one.groups] == [
        _without_load(each) for each in other.groups
    ]


def _without_load(group: GroupPlan) -> GroupPlan:
    return replace(group, sessions=1, arrivals=None, think=None, find=None)


def _of_node(node: str, capacity: float, trials: Sequence[_Trial]) -> Quantity:
    known = [one for one in trials if node in one.growth]
    growth = _growth(median(one.rate_per_s for one in known), capacity)
    measured = tuple((one.growth[node], one.growth[node]) for one in known)
    return Quantity(LAG, node, (growth, growth), measured)


def _growth(rate_per_s: float, capacity_per_s: float) -> float:
    model = load("apply-lag")
    written = {"rate": f"{rate_per_s:.6f}/s", "capacity": f"{capacity_per_s:.6f}/s"}
    value = calculate.answer(model, take(model, written, {})).values["growth"]
    assert isinstance(value, float)
    return value
