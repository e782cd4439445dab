"""Galera without faults and with a delay between the nodes: how long a commit takes, and what
several nodes get out of hot rows.

Without a delay the time of a commit is that of processors, which nodes and load on one machine
share and no model has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import galera, hot_rows
from dbdyno.analysis.predictions.hot_rows import HotRows
from dbdyno.analysis.predictions.types import (
    CERTIFICATION,
    COMMIT,
    COMMITS,
    ERRORS,
    TAKEN,
    Predictions,
    Quantity,
)
from dbdyno.experiment import workloads
from dbdyno.models import calculate, load
from dbdyno.models.cluster.conflicts import loads
from dbdyno.models.cluster.conflicts.transaction import TRANSACTIONS_MAX, Costs, Outcome
from dbdyno.models.given import take
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

STATEMENT_S = 0.0005  # of a small statement on loopback; seen: BEGIN, UPDATE 0.4 to 0.9 ms
# Of the load's sessions before they try again: 1 ms, doubled up to 64 ms, less up to half by chance
# (engine/generator/src/session/failure.rs); on average three quarters.
BACKOFF_S, BACKOFF_MAX_S = 0.00075, 0.048
LENGTH_S = 20.0  # of a simulation
_CONFLICTS = "nodes.status.wsrep_local_"


def predict(
    plan: Plan, cell: Cell, target: TargetPlan, records: Sequence[TrialRecord]
) -> Predictions:
    """Of a cell without faults on a Galera cluster. `records`: of all cells."""
    own = [record for record in records if record.cell == cell.index]
    delay_s = galera.delay_s(target)
    assert target.topology is not None
    if target.topology.nodes < 2 or not own:
        return Predictions(cell.index)
    if not delay_s:
        return Predictions(cell.index, unknown=(Message("no_delay_between"),))
    if target.limits.network is not None:
        return Predictions(cell.index, unknown=(Message("clients_are_apart"),))
    groups = [group for group in cell.groups if group.target == target.name]
    ways, order_s = _ordered(target.topology.nodes, delay_s)
    hot = hot_rows.of_group(groups[0]) if len(groups) == 1 else None
    if hot is not None and groups[0].sessions > 1:
        return _hot(cell, target, groups[0], hot, own, order_s)
    alone = _nearer(plan, cell)
    found = [
        quantity
        for group in groups
        if (quantity := _commit(cell, group, order_s, own, alone, records)) is not None
    ]
    inputs = [Message("from_ways", ways=ways, delay_ms=delay_s * 1e3)]
    if alone is not None:
        inputs.append(Message("alone_measured", levels=dict(alone.levels)))
    unknown = [] if alone is not None else [Message("alone_unknown")]
    return Predictions(cell.index, tuple(inputs), tuple(found), unknown=tuple(unknown))


def _ordered(nodes: int, delay_s: float) -> tuple[int, float]:
    """Ways from node to node, and seconds, until a write-set is delivered."""
    model = load("cluster-commit")
    written = {"nodes": f"{nodes}", "delay": f"{delay_s * 1e6:g}us"}
    values = calculate.answer(model, take(model, written, {})).values
    ways, order_s = values["ways"], values["order"]
    assert isinstance(ways, float) and isinstance(order_s, float)
    return round(ways), order_s


# ---- how long a commit takes


def _nearer(plan: Plan, cell: Cell) -> Cell | None:
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
    return galera.delay_s(near) == 0 and _without_delay(near) == _without_delay(far)


def _without_delay(target: TargetPlan) -> TargetPlan:
    assert target.topology is not None
    network = target.topology.network
    if network is not None:
        network = replace(network, delay_s=0.0) if network.bytes_per_s is not None else None
    return replace(target, topology=replace(target.topology, network=network))


def _commit(
    cell: Cell,
    group: GroupPlan,
    order_s: float,
    own: Sequence[TrialRecord],
    alone: Cell | None,
    records: Sequence[TrialRecord],
) -> Quantity | None:
    """The median service time of transactions that write."""
    if not workloads.changes_data(group.workload, group.options):
        return None
    name = f"{group.name}." * (len(cell.groups) > 1) + "service_ms_p50"
    values_s = [record.metrics[name] / 1e3 for record in own if name in record.metrics]
    if not values_s:
        return None
    near_s = [
        record.metrics[name] / 1e3
        for record in records
        if alone is not None and record.cell == alone.index and name in record.metrics
    ]
    expected_s = order_s + (median(near_s) if near_s else 0.0)
    return Quantity(
        COMMIT,
        group.name if len(cell.groups) > 1 else "",
        (expected_s, expected_s),
        tuple((value, value) for value in values_s),
        at_least=not near_s,
    )


# ---- hot rows


def _hot(
    cell: Cell,
    target: TargetPlan,
    group: GroupPlan,
    hot: HotRows,
    own: Sequence[TrialRecord],
    order_s: float,
) -> Predictions:
    sessions = _dealt(group, target)
    length_s = min(LENGTH_S, TRANSACTIONS_MAX * order_s / (4 * group.sessions))
    outcome = _simulated(group, hot, sessions, order_s, length_s)
    prefix = f"{target.name}." * (len(cell.targets) > 1)
    rates = (
        (COMMITS, outcome.committed, _of_group(cell, group, "transactions_per_s")),
        (ERRORS, outcome.victims, _of_group(cell, group, "errors_per_s")),
        (CERTIFICATION, outcome.certification_failures, f"{prefix}{_CONFLICTS}cert_failures"),
        (TAKEN, outcome.rows_taken, f"{prefix}{_CONFLICTS}bf_aborts"),
    )
    found = []
    for what, count, metric in rates:
        values = [record.metrics[metric] for record in own if metric in record.metrics]
        if values:
            rate = count / length_s
            measured = tuple((value, value) for value in values)
            found.append(Quantity(what, "", (rate, rate), measured))
    told = Message(
        "from_sessions",
        nodes=len(sessions),
        sessions=group.sessions,
        rows=hot.rows,
        order_ms=order_s * 1e3,
        statement_ms=STATEMENT_S * 1e3,
    )
    return Predictions(cell.index, (told,), tuple(found))


def _of_group(cell: Cell, group: GroupPlan, metric: str) -> str:
    return f"{group.name}.{metric}" if len(cell.groups) > 1 else metric


def _dealt(group: GroupPlan, target: TargetPlan) -> dict[str, int]:
    """Sessions of each node that the group writes at."""
    names = [node.name for node in target.nodes_for(group.access)]
    dealt = dict.fromkeys(names, 0)
    for number in range(group.sessions):
        dealt[names[number % len(names)]] += 1
    return {name: count for name, count in dealt.items() if count}


def _simulated(
    group: GroupPlan, hot: HotRows, sessions: dict[str, int], order_s: float, length_s: float
) -> Outcome:
    """All nodes apply what any of them writes, those without sessions too, and abort nobody."""
    begin_s = STATEMENT_S if hot.begins else 0.0
    costs = Costs(
        order_s=order_s,
        apply_s=STATEMENT_S,
        backoff_s=begin_s,  # error 1213 has rolled it back
        doubling_s=BACKOFF_S,
        doubling_max_s=BACKOFF_MAX_S,
        retries=group.retries,
        statement_s=STATEMENT_S,
    )
    draw = loads.hot_rows(hot.rows, 1.0)
    return loads.of_sessions(sessions, draw, STATEMENT_S, length_s, costs, pause_s=begin_s)
