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
    trials = _trials(cell, target, records)
    named = {_label(node.name, target): node.name for node in target.nodes if node.role == REPLICA}
    best: tuple[float, Cell, Mapping[str, float]] | None = None
    for other in plan.cells:
        if other.index == cell.index or not _differ_in_load(other, cell):
            continue
        seen = _trials(other, target, records)
        growths = {label: _median([one.growth.get(label) for one in seen]) for label in named}
        capacities = {
            label: median(
                one.rate_per_s * (1 - one.growth[label]) for one in seen if label in one.growth
            )
            for label, growth in growths.items()
            if growth >= LEAST
        }
        most = max(growths.values(), default=0.0)
        if capacities and (best is None or most > best[0]):
            best = most, other, capacities
    if best is None:
        return None
    _, source, capacities = best
    quantities = tuple(
        _of_node(named[label], label, capacity, trials)
        for label, capacity in capacities.items()
        if capacity >= RATE_MIN and any(label in one.growth for one in trials)
    )
    if not quantities:
        return None
    applied = tuple(f"{named[label]} {capacity:,.0f}/s" for label, capacity in capacities.items())
    return Found(
        Message("lag_from_capacity", applied=applied, levels=dict(source.levels)), quantities
    )


@dataclass(frozen=True)
class _Trial:
    """Transactions that changed data a second, and by how much each replica's lag grew."""

    rate_per_s: float
    growth: Mapping[str, float]


def _trials(
    cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]
) -> list[_Trial]:
    prefix = f"{target.name}." * (len(cell.targets) > 1)
    groups = latencies.writers(cell, target)
    names = [f"{one.name}." * (len(cell.groups) > 1) + "transactions_per_s" for one in groups]
    labels = [_label(node.name, target) for node in target.nodes if node.role == REPLICA]
    found = []
    for record in records:
        rates = [record.metrics[name] for name in names if name in record.metrics]
        if record.cell != cell.index or len(rates) < max(1, len(names)) or sum(rates) < RATE_MIN:
            continue
        slopes = {label: f"{prefix}replica_lag_s.{label}_per_h" for label in labels}
        growth = {
            label: record.metrics[name] / HOUR_S
            for label, name in slopes.items()
            if name in record.metrics
        }
        found.append(_Trial(sum(rates), growth))
    return found


def _label(node: str, target: TargetPlan) -> str:
    """A node as metrics call it."""
    return f"node{node.removeprefix(target.name).removeprefix('.') or 1}"


def _median(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return median(known) if known else 0.0


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


def _of_node(node: str, label: str, capacity: float, trials: Sequence[_Trial]) -> Quantity:
    known = [one for one in trials if label in one.growth]
    growth = _growth(median(one.rate_per_s for one in known), capacity)
    measured = tuple((one.growth[label], one.growth[label]) for one in known)
    return Quantity(LAG, node, (growth, growth), measured)


def _growth(rate_per_s: float, capacity_per_s: float) -> float:
    model = load("apply-lag")
    written = {"rate": f"{rate_per_s:.6f}/s", "capacity": f"{capacity_per_s:.6f}/s"}
    value = calculate.answer(model, take(model, written, {})).values["growth"]
    assert isinstance(value, float)
    return value
