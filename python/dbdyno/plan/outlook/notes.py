"""What a reader must know before believing a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dbdyno import kinds
from dbdyno.experiment import workloads
from dbdyno.experiment.workloads import arrivals
from dbdyno.plan import data
from dbdyno.plan.types import Cell
from dbdyno.systems.base import TargetPlan

_WORDS: Mapping[str, Callable[[TargetPlan], object]] = {
    "durability": lambda target: target.durability,
    "isolation": lambda target: target.isolation,
    "memory": lambda target: target.memory_bytes,
}


def comparability(cells: Sequence[Cell]) -> list[str]:
    """One sentence if kinds of server are compared that do not have the same three words."""
    every = (target for cell in cells for target in cell.targets)
    targets = [target for target in every if kinds.of(target.kind).stores_data]
    found = list(dict.fromkeys(target.kind for target in targets))
    if len(found) < 2:
        return []
    open_words, unequal_words = [], []
    for word, value_of in _WORDS.items():
        values = {kind: {value_of(t) for t in targets if t.kind == kind} for kind in found}
        if any(None in each for each in values.values()):
            open_words.append(word)
        elif any(each != values[found[0]] for each in values.values()):
            unequal_words.append(word)
    notes = []
    if open_words:
        notes.append(
            f"This compares {_and(found)} without fixing {_and(open_words)}: their defaults "
            "differ, so a difference may be the defaults' and not the systems'."
        )
    if unequal_words:
        notes.append(f"This compares {_and(found)} at different {_and(unequal_words)}.")
    return notes


def state(cells: Sequence[Cell], data_given: bool) -> list[str]:
    """What trials start from, where that is not obvious."""
    writers = sorted({name for cell in cells for name in data.writers(cell.groups)})
    if not writers:
        return []
    groups = f"group{'s' * (len(writers) > 1)} {_and(writers)}"
    notes = []
    if cells[0].state.data == data.REUSE:
        notes.append(
            f"data: reuse, although data is changed by {groups}: within a block each trial "
            "starts from what the one before left."
        )
    elif not data_given:
        notes.append(f"data: restore, since data is changed by {groups}.")
    return notes


_FAST_S = 0.001  # a transaction that takes less is out of the ordinary


def open_loops(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each open loop whose sessions may be too few for its rate, once a group: the
    limit would be the experiment's and not the system's."""
    found: dict[str, str] = {}
    for cell in cells:
        for group in cell.groups:
            rate = arrivals.rate_max_per_s(group.arrivals) if group.arrivals else 0.0
            in_flight = group.sessions * workloads.pipeline(group.workload, group.options)
            if rate * _FAST_S > in_flight:
                sessions = (
                    "1 session holds"
                    if group.sessions == 1
                    else (f"{group.sessions} sessions hold")
                )
                found[group.name] = (
                    f"Group {group.name}: {sessions} {rate:,g}/s only while a transaction takes "
                    f"less than {in_flight / rate * 1e3:.2g} ms; more `sessions` cost an open "
                    "loop nothing."
                )
    return list(found.values())


def unsampled(cells: Sequence[Cell]) -> list[str]:
    """A sentence if some cells have no samples."""
    off = [cell for cell in cells if cell.sampling_s is None]
    if not off:
        return []
    levels = {", ".join(f"{k}={v}" for k, v in cell.levels.items()) for cell in off}
    listed = "; ".join(sorted(levels)) if len(off) < len(cells) else ""
    where = f" in {len(off)} of {len(cells)} cells ({listed})" if listed else ""
    return [
        f"Sampling is off{where}: CPU of the servers, server counters and whatever else is sampled "
        "are not known there, and stalls have no causes."
    ]


def faults(cells: Sequence[Cell]) -> list[str]:
    """A sentence if servers are struck in some cells."""
    struck = [cell for cell in cells if cell.faults]
    if not struck:
        return []
    kinds_of_fault = dict.fromkeys(f"`{fault.do}`" for cell in struck for fault in cell.faults)
    where = "all cells" if len(struck) == len(cells) else f"{len(struck)} of {len(cells)} cells"
    return [
        f"Faults in {where}: {_and(list(kinds_of_fault))}. The next trial starts fresh servers.",
        *_relayed(cells),
        *_skewed(cells),
    ]


def _relayed(cells: Sequence[Cell]) -> list[str]:
    """Sentences if faults on links put a relay into some cells that others do not have."""
    between = {any(fault.is_between_nodes for fault in cell.faults) for cell in cells}
    clients = {any(fault.is_on_clients for fault in cell.faults) for cell in cells}
    topologies = [t.topology for cell in cells for t in cell.targets if t.topology]
    found = []
    if len(between) > 1 and any(topology.network is None for topology in topologies):
        found.append(("nodes reach each other", "topology: {network: {delay: 0s}}"))
    if len(clients) > 1 and any(t.limits.network is None for cell in cells for t in cell.targets):
        found.append(("the load reaches servers", "limits: {network: {delay: 0s}}"))
    return [
        f"Where faults are on links, {who} through a relay, which takes time too; in the other"
        f" cells directly: to compare throughput, write `{cure}`."
        for who, cure in found
    ]


def _skewed(cells: Sequence[Cell]) -> list[str]:
    """A sentence if only some cells have servers whose clocks can be put forward and back."""
    if len({any(fault.is_on_clocks for fault in cell.faults) for cell in cells}) < 2:
        return []
    return [
        "Where a clock is put forward or back, servers ask libfaketime for the time, which takes"
        " longer; in the other cells the kernel: to compare throughput, write"
        " `{do: clock, by: 0s, at: 0s}` there."
    ]


def idle_instances(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each target with more instances than sessions in some cell."""
    found = {}
    for cell in cells:
        for target in cell.targets:
            sessions = max(group.sessions for group in cell.groups if group.target == target.name)
            if sessions < target.instances:
                found[target.name] = (
                    f"Target {target.name}: sessions are dealt over the instances, and {sessions} "
                    f"of them leave some of {target.instances} without load."
                )
    return list(found.values())


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
