"""How long a transaction takes at a distance between nodes: what the ways between them add to the
same without a delay, which is measured in another cell of the run.

Without a delay the time of a commit is that of processors, which nodes and load on one machine
share and no model has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions.types import Predictions, Quantity
from dbdyno.experiment import workloads
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan


def delay_s(target: TargetPlan) -> float:
    """One way between two nodes, as asked for; 0: loopback itself."""
    network = target.topology.network if target.topology is not None else None
    return network.delay_s if network is not None else 0.0


def one_way_s(target: TargetPlan, own: Sequence[TrialRecord]) -> float:
    """The same as the relay had it before the nodes started, or as asked for where no trial says.
    `own`: records of the cell."""
    facts = (record.targets.get(target.name, {}).get("network_of_nodes") for record in own)
    found = [one.get("round_trip_s") for one in facts if isinstance(one, Mapping)]
    known = [one / 2 for one in found if isinstance(one, int | float) and one > 0]
    return median(known) if known else delay_s(target)


def written(seconds: float) -> str:
    """A duration as models take it."""
    return f"{seconds * 1e6:.0f}us"


def refused(target: TargetPlan) -> str:
    """Why no latency is predicted of a target; empty if it is."""
    if not delay_s(target):
        return Message("no_delay_between")
    return Message("clients_are_apart") if target.limits.network is not None else ""


def writers(cell: Cell, target: TargetPlan) -> list[GroupPlan]:
    """The groups that change data of a target."""
    return [
        group
        for group in cell.groups
        if group.target == target.name and workloads.changes_data(group.workload, group.options)
    ]


@dataclass(frozen=True)
class Waits:
    """What a model says of a cell: the time that a transaction waits for other nodes, at least and
    at most, and what the prediction is made from. `what` is predicted of each of `groups`."""

    what: str
    groups: Sequence[GroupPlan]
    low_s: float
    high_s: float
    source: str


def predict(
    plan: Plan, cell: Cell, waits: Waits, records: Sequence[TrialRecord], unknown: Sequence[str]
) -> Predictions:
    """The median service time of transactions that write. `records`: of all cells. `unknown`: what
    else is not predicted of the cell."""
    alone = nearer(plan, cell)
    found = [
        one
        for group in waits.groups
        if (one := _of_group(cell, group, waits, alone, records)) is not None
    ]
    if not found:
        return Predictions(cell.index, unknown=tuple(unknown))
    inputs = [waits.source]
    if alone is not None:
        inputs.append(Message("alone_measured", levels=dict(alone.levels)))
    lacking = [] if alone is not None else [Message("alone_unknown")]
    return Predictions(cell.index, tuple(inputs), tuple(found), unknown=(*lacking, *unknown))


def _of_group(
    cell: Cell,
    group: GroupPlan,
    waits: Waits,
    alone: Cell | None,
    records: Sequence[TrialRecord],
) -> Quantity | None:
    name = f"{group.name}." * (len(cell.groups) > 1) + "service_ms_p50"
    values_s = _seconds(records, cell, name)
    near_s = _seconds(records, alone, name) if alone is not None else []
    if not values_s:
        return None
    alone_s = median(near_s) if near_s else 0.0
    return Quantity(
        waits.what,
        group.name if len(cell.groups) > 1 else "",
        (waits.low_s + alone_s, waits.high_s + alone_s),
        tuple((value, value) for value in values_s),
        at_least=not near_s,
    )


def _seconds(records: Sequence[TrialRecord], cell: Cell, name: str) -> list[float]:
    return [
        record.metrics[name] / 1e3
        for record in records
        if record.cell == cell.index and name in record.metrics
    ]


def nearer(plan: Plan, cell: Cell) -> Cell | None:
    """The cell that differs from this one in nothing but a delay between nodes, and has none."""
    for other in plan.cells:
        if len(other.targets) != len(cell.targets) or other.groups != cell.groups:
            continue
        if (other.faults, other.audit) != (cell.faults, cell.audit):
            continue
        if all(map(_differ_in_delay, other.targets, cell.targets)):
            return other
    return None


def _differ_in_delay(near: TargetPlan, far: TargetPlan) -> bool:
    if near.topology is None or far.topology is None:
        return near == far
    return delay_s(near) == 0 and _without_delay(near) == _without_delay(far)


def _without_delay(target: TargetPlan) -> TargetPlan:
    assert target.topology is not None
    network = target.topology.network
    if network is not None:
        network = replace(network, delay_s=0.0) if network.bytes_per_s is not None else None
    return replace(target, topology=replace(target.topology, network=network))
