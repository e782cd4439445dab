"""Galera and faults: the cluster simulator is given the same faults at the same moments, and what
it says of writes and members is compared with commits and with what nodes said of themselves.

When members make their checks for silent ones is not known, so the simulation runs with several
seeds, and a prediction is a range, for each trial its own (`by_trial`). It ends when a server that
had ended is started again: the time of a start and of a state transfer is no part of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dbdyno.analysis.message import Message
from dbdyno.analysis.predictions import by_trial, galera, latencies
from dbdyno.analysis.predictions.by_trial import OfTrial
from dbdyno.analysis.predictions.types import CHANGE, OUTAGE, Predictions, Quantity, Range
from dbdyno.analysis.predictions.types import Sequence as Members
from dbdyno.experiment.types import TO_PRIMARY, TO_ROUTER
from dbdyno.experiment.values.faults import (
    NODES,
)
from dbdyno.models.cluster import script
from dbdyno.models.cluster.files.options import NAMES, Options
from dbdyno.models.cluster.outcome import history
from dbdyno.models.cluster.outcome.history import History
from dbdyno.models.cluster.simulation import simulate
from dbdyno.plan.types import Cell, GroupPlan
from dbdyno.store.metrics import outages
from dbdyno.store.metrics.timeseries import TICK_S, Trace
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

SIZE = "status.wsrep_cluster_size"  # how many members a node sees
SEEDS = 12  # simulations of a trial
TRIALS_MAX = 12  # of a cell
AGAIN_S = 1.0  # until a session that has lost its connection tries again, at most
ENDING = ("kill", "stop")
SIMULATED = (*ENDING, "pause", "resume", "partition")
DEFAULTS = Options()

GetTrace = Callable[[str], Trace | None]


class NotSimulated(Exception):
    """The model does not have what happened; the message says what."""

    def __init__(self, why: str) -> None:
        super().__init__("not simulated")
        self.why = why


@dataclass(frozen=True)
class _Seen:
    """A trial: its record, what it was over time, and the simulations of it. All of them count
    until `until_s`."""

    record: TrialRecord
    trace: Trace
    runs: tuple[History, ...]
    until_s: float
    begun_s: float  # of the first fault


def predict(
    cell: Cell, target: TargetPlan, records: Sequence[TrialRecord], trace: GetTrace
) -> Predictions:
    """Of a cell with faults on a Galera cluster."""
    try:
        options, weight = galera.options(records, target.name)
        seen = list(_seen(cell, target, records[:TRIALS_MAX], trace, (options, weight)))
    except NotSimulated as error:
        return Predictions(cell.index, unknown=(error.why,))
    except ValueError as error:
        return Predictions(cell.index, unknown=(Message("model_refused", why=str(error)),))
    if not seen:
        return Predictions(cell.index, unknown=(Message("no_counts_to_compare"),))
    several = len(cell.targets) > 1
    quantities = [
        *(
            one
            for group in latencies.writers(cell, target)
            if group.access != TO_ROUTER  # how long a router takes to follow is not simulated
            for one in _outages(cell, group, target, seen)
        ),
        *(
            one
            for number, name in _nodes(target)
            for one in _changes(number, name, target, seen, several)
        ),
    ]
    members = [_members(number, name, cell, target, seen) for number, name in _nodes(target)]
    unknown = [Message("no_return_simulated")] if _returns(seen) else []
    return Predictions(
        cell.index,
        (_inputs(options, target),),
        tuple(quantities),
        tuple(one for one in members if one is not None),
        tuple(unknown),
    )


def _inputs(options: Options, target: TargetPlan) -> str:
    assert target.topology is not None
    changed = {
        name: getattr(options, field)
        for field, name in NAMES.items()
        if getattr(options, field) != getattr(DEFAULTS, field)
    }
    said = tuple(f"{name} {value:g}" for name, value in changed.items())
    return Message("from_timers", nodes=target.topology.nodes, changed=said)


def _nodes(target: TargetPlan) -> list[tuple[int, str]]:
    return [(number, node.name) for number, node in enumerate(target.nodes, 1)]


# ---- the script


def _seen(
    cell: Cell,
    target: TargetPlan,
    records: Sequence[TrialRecord],
    trace: GetTrace,
    settings: tuple[Options, int],
) -> Iterator[_Seen]:
    topology = galera.topology(target, *settings)
    for record in records:
        over_time = trace(record.id)
        if over_time is None or not len(over_time.ends_s):
            continue
        struck = [fault for fault in record.faults if fault["node"] in topology.members]
        events, until_s = _events(cell, target, struck, over_time.measured_s)
        if not events:
            continue
        asked = script.Script(tuple(events), until_s)
        runs = tuple(simulate(topology, asked, seed) for seed in range(SEEDS))
        yield _Seen(record, over_time.measured(), runs, until_s, events[0].at_s)


def _events(
    cell: Cell, target: TargetPlan, faults: Sequence[Mapping[str, Any]], until_s: float
) -> tuple[list[script.Event], float]:
    """What happened to the cluster, in order, and until when the model has it. NotSimulated."""
    found: list[script.Event] = []
    for fault in faults:
        if fault["do"] not in SIMULATED or fault.get("problem"):
            raise NotSimulated(Message("fault_not_simulated", do=fault["do"]))
        begun_s = max(0.0, float(fault["begun_s"]))
        planned = next(
            (
                f
                for f in cell.faults
                if (f.target, f.do, f.at_s) == (target.name, fault["do"], fault["at_s"])
            ),
            None,
        )
        node = (str(fault["node"]),)
        if fault["do"] in ENDING:
            is_crash = fault["do"] == "kill"
            found.append(script.Crash(begun_s, node) if is_crash else script.Leave(begun_s, node))
            if planned is not None and planned.for_s is not None:
                until_s = min(until_s, fault["at_s"] + planned.for_s)
            continue
        if fault["do"] == "partition":
            if planned is None or planned.peers != (NODES,):
                raise NotSimulated(Message("links_not_simulated"))
            _cut(found, begun_s, node[0], target, faults)
        else:
            pauses = fault["do"] == "pause"
            found.append(script.Pause(begun_s, node) if pauses else script.Resume(begun_s, node))
        if (undone_s := fault.get("undone_s")) is not None:
            ended = fault["do"] == "partition"
            found.append(script.Heal(undone_s) if ended else script.Resume(undone_s, node))
    within = [event for event in found if event.at_s < until_s]
    return sorted(within, key=lambda event: event.at_s), until_s


def _cut(
    found: list[script.Event],
    begun_s: float,
    node: str,
    target: TargetPlan,
    faults: Sequence[Mapping[str, Any]],
) -> None:
    """A partition once, however many nodes it cuts off together."""
    apart = {
        f["node"] for f in faults if f["do"] == "partition" and abs(f["begun_s"] - begun_s) < 1
    }
    if node != min(apart):
        return
    names = [node.name for node in target.linked]
    sides = (tuple(n for n in names if n in apart), tuple(n for n in names if n not in apart))
    found.append(script.Partition(begun_s, groups=sides))


def _returns(seen: Sequence[_Seen]) -> bool:
    return any(one.until_s < one.trace.measured_s - TICK_S for one in seen)


# ---- when nobody commits


def _outages(
    cell: Cell, group: GroupPlan, target: TargetPlan, seen: Sequence[_Seen]
) -> Iterator[Quantity]:
    """The longest time without a commit of a group, until the model ends."""
    assert target.topology is not None
    follows = target.topology.failover is not None and group.access in ("write", TO_PRIMARY)
    nodes = target.nodes if follows else target.nodes_for(group.access)
    names = [node.name for node in nodes]
    found = []
    for one in seen:
        value = _longest_measured(one, group.name)
        if value is None:
            continue
        runs = [_longest(run, names) for run in one.runs]  # s, whether it ends with the model
        low, high = min(s for s, _ in runs), max(s for s, _ in runs)
        again_s = AGAIN_S if follows and high else 0.0
        found.append(
            OfTrial(
                one.record.block,
                (max(low, TICK_S), max(high, TICK_S) + again_s),
                (max(0.0, value - TICK_S), value + TICK_S),
                any(cut for _, cut in runs),
            )
        )
    return by_trial.quantities(OUTAGE, group.name if len(cell.groups) > 1 else "", found)


def _longest(run: History, names: Sequence[str]) -> tuple[float, bool]:
    """The longest time in which none of these nodes takes writes, and whether it has no end."""
    writing = sorted(
        (span.begin_s, span.end_s) for name in names for span in run.spans[name] if span.writes
    )
    longest, free = (0.0, False), 0.0
    for begin, end in (*writing, (run.until_s, run.until_s)):
        if begin - free > longest[0]:
            longest = begin - free, begin >= run.until_s
        free = max(free, end)
    return longest


def _longest_measured(one: _Seen, group: str) -> float | None:
    commits = one.trace.commits.get(group)
    if commits is None or not len(commits):
        return None
    until = int(np.searchsorted(one.trace.ends_s, one.until_s + TICK_S / 2))
    found = [gap.length for gap in outages.gaps(commits[:until])]
    return TICK_S * (max(found, default=0) + 1)


# ---- who sees how many members


def _sampled(number: int, target: TargetPlan, one: _Seen, several: bool) -> list[tuple[float, int]]:
    """Moments and numbers of members that a node gave until the model ends."""
    prefix = f"{target.name}." if several else ""
    found = one.trace.samples.get(f"{prefix}node{number}.{SIZE}")
    if found is None:
        return []
    pairs = zip(found.t_s.tolist(), found.values.tolist(), strict=True)
    return [(t_s, int(value)) for t_s, value in pairs if 0 <= t_s <= one.until_s]


def _members(
    number: int, name: str, cell: Cell, target: TargetPlan, seen: Sequence[_Seen]
) -> Members | None:
    least_s = cell.sampling_s or 0.0  # what is shorter may fall between two samples
    measured, possible = [], []
    for one in seen:
        values = [value for _, value in _sampled(number, target, one, len(cell.targets) > 1)]
        if values:
            measured.append(_collapsed(values))
            both = (_views(run, name, s) for run in one.runs for s in (0.0, least_s))
            possible.append(frozenset(both))
    if not measured:
        return None
    every = sorted(frozenset[tuple[int, ...]]().union(*possible), reverse=True)
    return Members(name, tuple(every), tuple(measured), tuple(possible))


def _views(run: History, name: str, shortest_s: float) -> tuple[int, ...]:
    return _collapsed(
        [
            len(span.members)
            for span in run.spans[name]
            if span.state not in (history.DOWN, history.PAUSED) and span.length_s >= shortest_s
        ]
    )


def _collapsed(values: Sequence[int]) -> tuple[int, ...]:
    kept = [values[0]] if values else []
    kept += [after for before, after in pairwise(values) if after != before]
    return tuple(kept)


def _changes(
    number: int, name: str, target: TargetPlan, seen: Sequence[_Seen], several: bool
) -> Iterator[Quantity]:
    """When a node first sees another number of members, after the first fault."""
    found = []
    for one in seen:
        moments = [_first_change(run, name) for run in one.runs]
        known = [moment - one.begun_s for moment in moments if moment is not None]
        sampled = _first_sampled(_sampled(number, target, one, several))
        if len(known) < len(moments) or sampled is None:
            continue
        measured = (sampled[0] - one.begun_s, sampled[1] - one.begun_s)
        found.append(OfTrial(one.record.block, (min(known), max(known)), measured))
    return by_trial.quantities(CHANGE, name, found)


def _first_change(run: History, name: str) -> float | None:
    spans = [s for s in run.spans[name] if s.state not in (history.DOWN, history.PAUSED)]
    for before, after in pairwise(spans):
        if len(after.members) != len(before.members):
            return after.begin_s
    return None


def _first_sampled(values: Sequence[tuple[float, int]]) -> Range | None:
    for (before_s, before), (after_s, after) in pairwise(values):
        if after != before:
            return before_s, after_s
    return None
