"""What predictions were made from, and what is not predicted, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording.numbers import listed, number
from dbdyno.wording.plurals import count

PLAIN = {
    "fault_not_simulated": "Not predicted: the simulator has no `{do}`.",
    "links_not_simulated": "Not predicted: of links, the simulator knows only those that lead to"
    " all other nodes.",
    "model_refused": "Not predicted: the simulator refuses this cluster ({why}).",
    "no_counts_to_compare": "Not predicted: no trial has a fault and counts of commits.",
    "no_return_simulated": "Compared until the first server that had ended was started again: how"
    " long a start and a state transfer take is not simulated.",
    "no_delay_between": "Not predicted: there is no delay between the nodes, so that a commit takes"
    " as long as processors need for it, which nodes and load share here and no model has.",
    "clients_are_apart": "Not predicted: there is a network between the load and the nodes, too.",
    "from_ways": "From the number of nodes and the delay between them: a write-set takes {ways}"
    " ways of {delay_ms:number} ms.",
    "waits_for_none": "Not predicted: an asynchronous commit waits for no replica, so that it takes"
    " as long as processors need for it, at any delay.",
    "rows_are_hot": "Not predicted: {sessions:count session} change {rows:count row}, and wait for"
    " each other's locks.",
    "failover_not_simulated": "Not predicted: no model has faults of these servers.",
    "loss_not_sampled": "Not predicted: an asynchronous failover loses what is acknowledged in the"
    " time by which the promoted replica is behind in receiving, and no sample has that time.",
    "alone_unknown": "The prediction is a lower bound: what else a commit takes is not predicted,"
    " and no cell has the same without a delay.",
    "from_sessions": "From {sessions:count session} on {nodes:count node}, {rows:count row}, a"
    " write-set that takes {order_ms:number} ms to be ordered, and {statement_ms:g} ms a statement,"
    " which is assumed. A session whose attempt failed waits 1 ms, then twice as long each time up"
    " to 64 ms, less up to half by chance. No session waits for a processor.",
    "lag_from_capacity": "The growth of a lag follows from the rate and from what replicas apply a"
    " second, which was measured where they could not keep up ({levels:levels}): {applied:list}."
    " That assumes that they apply as many at any rate.",
    "lag_from_log": "Not predicted: how far replicas lag depends on what their source logs;"
    " `dyno digest --parallelism` computes it from a binary log.",
    "no_model_of_topology": "Not predicted: no model has this topology.",
}


def from_timers(nodes: int, changed: Sequence[str]) -> str:
    """The simulator's inputs: the timers that differ from their defaults."""
    timers = f"with {listed(changed)}" if changed else "with default timers"
    return (
        f"From {nodes} nodes {timers}, and the faults at the moments at which they happened,"
        " trial by trial; a range is by when members make their checks, which is not known."
    )


def waits_for_replicas(
    wait: int, replicas: int, delay_ms: float, sessions: int, up_to_twice: bool
) -> str:
    """What commits wait for, and what the model assumes."""
    needed = f"{wait} of {count(replicas, 'replica')}"
    said = (
        f"From the delay to the replicas: a commit waits for {needed}, there and back, 2 ways of"
        f" {number(delay_ms)} ms."
    )
    if up_to_twice:
        said += (
            f" Commits of {count(sessions, 'session')} are finished a group at a time, and may"
            " wait for the group before: up to twice as long."
        )
    return (
        f"{said} That assumes that replicas answer all the time, and that no session waits for"
        " another's locks."
    )


def alone_measured(plan: Plan, levels: Mapping[str, str]) -> str:
    """The cell that the rest of a commit's time was taken from."""
    where = level_text.levels(plan, levels)
    return f"What a commit takes besides was measured without a delay: the median of {where}."
