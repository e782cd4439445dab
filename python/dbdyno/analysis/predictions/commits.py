"""Galera without faults and with a delay between the nodes: how long a commit takes, and what
several nodes get out of hot rows."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import hot_rows, latencies
from dbdyno.analysis.predictions.hot_rows import HotRows
from dbdyno.analysis.predictions.latencies import Waits
from dbdyno.analysis.predictions.types import (
    CERTIFICATION,
    COMMIT,
    COMMITS,
    ERRORS,
    TAKEN,
    Predictions,
    Quantity,
)
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
    assert target.topology is not None
    if target.topology.nodes < 2 or not own:
        return Predictions(cell.index)
    if why := latencies.refused(target):
        return Predictions(cell.index, unknown=(why,))
    delay_s = latencies.one_way_s(target, own)
    groups = [group for group in cell.groups if group.target == target.name]
    ways, order_s = _ordered(target.topology.nodes, delay_s)
    hot = hot_rows.of_group(groups[0]) if len(groups) == 1 else None
    if hot is not None and groups[0].sessions > 1:
        return _hot(cell, target, groups[0], hot, own, order_s)
    source = Message("from_ways", ways=ways, delay_ms=delay_s * 1e3)
    waits = Waits(COMMIT, latencies.writers(cell, target), order_s, order_s, source)
    return latencies.predict(plan, cell, waits, records, ())


def _ordered(nodes: int, delay_s: float) -> tuple[int, float]:
    """Ways from node to node, and seconds, until a write-set is delivered."""
    model = load("cluster-commit")
    asked = {"nodes": f"{nodes}", "delay": latencies.written(delay_s)}
    values = calculate.answer(model, take(model, asked, {})).values
    ways, order_s = values["ways"], values["order"]
    assert isinstance(ways, float) and isinstance(order_s, float)
    return round(ways), order_s


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
