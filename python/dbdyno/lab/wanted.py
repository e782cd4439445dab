"""What a lab is asked to be, as a target of an experiment: checked by what checks experiments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets.topologies import FORMS
from dbdyno.plan.machine import Machine
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.numbers import gib

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
RESERVED = ("primary", "replica", "router", "arbitrator", "all")  # words for nodes and labs
FOR_S_MAX = 30 * 86400.0
_TARGET = "db"  # its name in the experiment that checks it
_PLACES = re.compile(rf"target `{_TARGET}`: |(?<=`)targets\.{_TARGET}\.(?:topology\.)?")
_WORKLOADS = ("oltp", "kv")  # of kinds with and without SQL; never run


@dataclass(frozen=True)
class Wanted:
    """What `dyno lab up` was given. `what`: a topology, or a kind of a single server."""

    what: str
    name: str = ""  # empty: `what`
    for_s: float = 8 * 3600.0
    kind: str | None = None
    nodes: int | None = None
    wait_for_replicas: int | None = None
    replication: str | None = None
    scratch: str | None = None  # absolute
    target: Mapping[str, Any] = field(default_factory=dict)  # keys of a target, as a file has them
    router: str | None = None  # kind of the router in front of the nodes
    primaries: str | None = None  # of a group: one | all
    arbitrator: bool | None = None  # whether a member without data has a vote
    sst: str | None = None  # how all data come to a node of Galera

    @property
    def lab(self) -> str:
        """The lab's name."""
        return self.name or self.what

    def as_json(self) -> str:
        """For the owner, on a line."""
        return json.dumps(asdict(self))


def read(text: str) -> Wanted:
    """What `as_json` wrote."""
    return Wanted(**json.loads(text))


def target(wanted: Wanted, machine: Machine | None = None) -> TargetPlan:
    """The target, whose nodes are called LAB, LAB.2 and so on. DynoError for what cannot be."""
    _check_name(wanted.lab)
    if not 0 < wanted.for_s <= FOR_S_MAX:
        raise DynoError(
            f"--for: a lab lasts {FOR_S_MAX / 86400:.0f} days at most, and longer than 0 s",
            fix="write a length such as `--for 8h`",
        )
    kind = _kind(wanted)
    given = {"kind": kind, **wanted.target, **_topology(wanted)}
    workload = {"kind": _WORKLOADS[not kinds.of(kind).speaks_sql]}
    experiment = {"experiment": "lab", "targets": {_TARGET: given}, "workload": workload}
    try:
        [cell] = load(json.dumps(experiment, indent=1)).cells
    except DynoError as error:  # its place would be one of a file that nobody wrote
        raise DynoError(_PLACES.sub("", error.what), cause=error.cause, fix=error.fix) from None
    made = replace(cell.targets[0], name=wanted.lab)
    _check_memory(made, machine or Machine.read())
    return made


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name in RESERVED:
        raise DynoError(
            f"a lab cannot be called {name!r}",
            cause=f"a name is a letter, then letters, digits, `-` and `_`, and not one of "
            f"{', '.join(RESERVED)}",
            fix="choose another --name",
        )


def _kind(wanted: Wanted) -> str:
    """The kind of its servers."""
    managed = [one.name for one in kinds.KINDS.values() if one.programs]
    if wanted.what in managed:
        if wanted.kind not in (None, wanted.what):
            raise DynoError(
                f"`dyno lab up {wanted.what}` is one {wanted.what}, and --kind says {wanted.kind}",
                fix="give one of both",
            )
        return wanted.what
    if wanted.what not in FORMS:
        raise DynoError(
            f"there is no topology and no kind of server called `{wanted.what}`",
            cause="a misspelt name, or a kind that has no server of its own",
            fix=did_you_mean(wanted.what, [*FORMS, *managed]),
        )
    able = [name for name in managed if wanted.what in kinds.of(name).topologies]
    if wanted.kind is None:
        if len(able) == 1:
            return able[0]
        raise DynoError(
            f"several kinds of servers have the topology `{wanted.what}`",
            fix=f"write --kind, one of {', '.join(able)}",
        )
    if wanted.kind not in kinds.KINDS:
        raise DynoError(
            f"--kind {wanted.kind}: there is no kind of server called so",
            fix=did_you_mean(wanted.kind, able),
        )
    return wanted.kind


def _topology(wanted: Wanted) -> dict[str, Any]:
    asked = {
        "nodes": wanted.nodes,
        "wait_for_replicas": wanted.wait_for_replicas,
        "replication": wanted.replication,
        "primaries": wanted.primaries,
        "router": wanted.router and {"kind": wanted.router},
        "arbitrator": wanted.arbitrator or None,
        "sst": wanted.sst,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    if wanted.what in FORMS:
        return {"topology": {"kind": wanted.what, **given}}
    if given:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise DynoError(
            f"{options}: `dyno lab up {wanted.what}` is a single server",
            fix=f"name a topology: {', '.join(kinds.of(wanted.what).topologies) or 'it has none'}",
        )
    return {}


def _check_memory(made: TargetPlan, machine: Machine) -> None:
    """DynoError where the caches of all nodes are more than the machine has."""
    total, each = machine.memory_bytes, made.memory_bytes or 0
    if total and each * made.server_count > total:
        raise DynoError(
            f"{made.server_count} x {gib(each)} of --memory are more than the machine has:"
            f" {gib(total)}",
            cause="caches that are larger than the machine are swapped, or end the server",
            fix="lower --memory, which is that of each node, or --nodes",
        )


def absolute(path: str | Path | None) -> str | None:
    """A path that the owner, which works elsewhere, understands."""
    return None if path is None else str(Path(path).absolute())
