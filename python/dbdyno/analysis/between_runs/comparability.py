"""What of two runs must be alike, so that their numbers say something about each other.

Three kinds of facts. What was *asked*, cell by cell (workload, options, data, durations, words):
cells that differ there measured different things. The *machine*: ratios of two machines say nothing
about the software. What *may change* (versions, kernel, settings): that is what people compare runs
for; it is listed, never refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from dbdyno.analysis.message import Message
from dbdyno.experiment.types import RSYNC, Limits
from dbdyno.experiment.values.faults import (
    Fault,
    Line,
)
from dbdyno.experiment.workloads import WORKLOADS
from dbdyno.plan import data
from dbdyno.plan.types import Cell, Plan
from dbdyno.systems.base import TargetPlan

Key = tuple[tuple[str, str], ...]  # a cell's levels, sorted by factor
Facts = Mapping[str, str]

# Of the environment; compared where both runs know it.
MACHINE = (
    "architecture",
    "cpu_model",
    "cores",
    "cpu_set",
    "memory_bytes",
    "storage",
    "generator_cpus",
    "server_cpus",
)
MAY_CHANGE = ("kernel", "os", "dbdyno", "clocksource", "governor")

WORDS = ("durability", "isolation", "memory_bytes")
# Of a target: all that is asked of it but its system, its place and its settings.
_ASKED = (
    *WORDS,
    "protocol",
    "tls",
    "transport",
    "options",
    "instances",
    "topology",
    "session",
    "existing",
)

MEMORY_WITHIN = 0.02  # kernels keep different small parts of the same memory for themselves
DIFFERENCES_MAX = 6  # named in a sentence


def key(levels: Mapping[str, str]) -> Key:
    """What a cell is found by in another run."""
    return tuple(sorted(levels.items()))


def asked(plan: Plan, cell: Cell) -> Facts:
    """What was asked in a cell, flat: dotted name -> value as JSON. Equal for cells that measured
    the same thing."""
    groups = {group.name: _less(asdict(group), "name") for group in cell.groups}
    facts = {
        "": {
            "warmup_s": cell.warmup_s,
            "duration_s": cell.duration_s if plan.imported is None else round(cell.duration_s),
            "until_steady": cell.until_steady,
            "steady_min_s": cell.steady_min_s,
            "sampling_s": cell.sampling_s,
            # Runs from before there were audits are those without one.
            **({"audit": cell.audit} if cell.audit else {}),
            **({"faults": _faults(cell)} if cell.faults else {}),
            "drain_s": plan.drain_s,
            "require": list(plan.require),
            "hooks": asdict(plan.hooks),
            "state": asdict(cell.state),
        },
        "groups": groups,
        **_own_cpus(cell),
        "targets": {target.name: _target(target, cell) for target in cell.targets},
    }
    return dict(_flat("", facts))


def _faults(cell: Cell) -> dict[str, dict[str, Any]]:
    """By their number, from 1. Only what was written of each, so that a key that a later version
    knows leaves the fingerprints of runs without it as they are."""
    plain = asdict(Fault(at_s=-1.0, do="", nodes=(), target=""))
    return {
        str(number): {k: v for k, v in _spelt(fault).items() if v != plain[k]}
        for number, fault in enumerate(cell.faults, 1)
    }


def _spelt(fault: Fault) -> dict[str, Any]:
    line = {name: value for name, value in asdict(fault.line).items() if value is not None}
    return {**asdict(fault), "line": line or asdict(Line())}


def _own_cpus(cell: Cell) -> dict[str, Any]:
    """CPUs of a cell where they vary; those of the whole run are facts of the machine."""
    if not cell.generator_cpus:
        return {}
    return {"cpus": {"generator": cell.generator_cpus, "servers": cell.server_cpus}}


def fingerprint(plan: Plan) -> str:
    """Equal for runs of the same plan: cells, workloads, targets, words, durations. Not in it: the
    seed, the number of blocks, claims and prose; versions and settings of servers."""
    cells = sorted([key(cell.levels), sorted(asked(plan, cell).items())] for cell in plan.cells)
    kinds = sorted({(target.name, target.kind) for cell in plan.cells for target in cell.targets})
    text = json.dumps([cells, kinds, plan.quick, plan.imported is None])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def no_history(plan: Plan) -> str:
    """Why a run cannot be part of a series over time; empty if it can. Of imported results neither
    machine nor day are known: `created_unix_s` is when they were imported."""
    if plan.imported is None:
        return ""
    return Message("imported_run", tools=plan.imported.tools)


def machine(plan: Plan, environment: Mapping[str, Any]) -> Facts:
    """What the run ran on. Of CPUs their number, and of external servers, their place."""
    facts = {}
    for name in MACHINE:
        value = environment.get(name)
        if isinstance(value, list):
            value = len(value)
        if value not in (None, ""):
            facts[name] = str(value)
    for cell in plan.cells:
        for target in cell.targets:
            urls = [node.url for node in target.nodes if node.url]
            if urls:
                facts[f"{target.name}.url"] = " ".join(urls)
    return facts


def may_change(plan: Plan, environment: Mapping[str, Any], versions: Facts) -> Facts:
    """What two runs may differ in: `versions` (of servers, as measured), kernel, settings."""
    facts = {name: str(environment[name]) for name in MAY_CHANGE if environment.get(name)}
    facts |= {f"{target}.version": version for target, version in versions.items()}
    settings: dict[str, dict[str, None]] = {}
    for cell in plan.cells:
        for target in cell.targets:
            settings.setdefault(f"{target.name}.kind", {})[target.kind] = None
            for name, value in target.config.items():
                settings.setdefault(f"{target.name}.{name}", {})[json.dumps(value)] = None
    return facts | {name: ", ".join(values) for name, values in settings.items()}


def differences(before: Facts, now: Facts, *, both: bool = False) -> tuple[str, ...]:
    """`name: 1 -> 2`, sorted by name; with `both` only of names that both have."""
    names = before.keys() & now.keys() if both else before.keys() | now.keys()
    return tuple(
        f"{name}: {before.get(name, 'not set')} -> {now.get(name, 'not set')}"
        for name in sorted(names)
        if before.get(name) != now.get(name) and not _same_memory(name, before, now)
    )


def unfixed(plan: Plan) -> tuple[str, ...]:
    """Words that some target was not given, so that each kind of server used its default."""
    targets = [target for cell in plan.cells for target in cell.targets]
    return tuple(word for word in WORDS if any(getattr(target, word) is None for target in targets))


def named(differences: Iterable[str]) -> str:
    """Differences in a sentence; the first few."""
    every = list(differences)
    rest = len(every) - DIFFERENCES_MAX
    return "; ".join(every[:DIFFERENCES_MAX]) + (f"; and {rest} more" if rest > 0 else "")


def _same_memory(name: str, before: Facts, now: Facts) -> bool:
    if name != "memory_bytes" or name not in before or name not in now:
        return False
    sizes = sorted((float(before[name]), float(now[name])))
    return sizes[1] - sizes[0] <= MEMORY_WITHIN * sizes[1]


def _target(target: TargetPlan, cell: Cell) -> dict[str, Any]:
    every = asdict(target)
    # Only if set, so that runs without them keep the fingerprints of earlier versions.
    limits = {"limits": every["limits"]} if target.limits != Limits() else {}
    volume = {"volume": every["volume"]} if target.volume is not None else {}
    if target.topology is not None and target.topology.network is None:
        del every["topology"]["network"]
    if target.topology is not None and not target.topology.cluster_replicas:
        del every["topology"]["cluster_replicas"]
    if target.topology is not None and not target.topology.logical:
        del every["topology"]["logical"]
    if target.topology is not None and target.router is None:
        del every["topology"]["router"]
    if target.topology is not None and target.topology.dns is None:
        del every["topology"]["dns"]
    if target.topology is not None and not target.topology.multi_primary:
        del every["topology"]["multi_primary"]
    if target.topology is not None and not target.topology.arbitrator:
        del every["topology"]["arbitrator"]
    if target.topology is not None and target.topology.sst == RSYNC:
        del every["topology"]["sst"]
    return {name: every[name] for name in _ASKED} | {
        **limits,
        **volume,
        "setup": data.setup_facts(_readable(target)),
        # Workloads of other tools (imported runs) load nothing that dbdyno knows of.
        "data": data.data_sets([g for g in cell.groups if g.workload in WORKLOADS], target),
    }


def _readable(target: TargetPlan) -> TargetPlan:
    """The target, with a placeholder for its files' contents where these are unknown: their paths,
    of a redacted run."""
    setup = target.setup
    if setup is None:
        return target
    paths = [path for path in (setup.template, setup.dump, *setup.sql) if path is not None]
    known = {**{path: path for path in paths}, **setup.hashes}
    return replace(target, setup=replace(setup, hashes=known))


def _less(facts: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key != name}


def _flat(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name in value:
            yield from _flat(f"{prefix}.{name}".strip("."), value[name])
    else:
        yield prefix, json.dumps(value, sort_keys=True, default=str)
