"""From validated models to the frozen dataclasses that everything else reads."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.errors import DynoError
from dbdyno.spec import workloads
from dbdyno.spec.document import Node
from dbdyno.spec.model import GroupBase, SetupModel, TargetModel
from dbdyno.spec.names import did_you_mean, listed
from dbdyno.spec.types import KINDS, Arrivals, Cell, Group, RateStep, Target

INTERVAL_MIN_S, INTERVAL_MAX_S = 0.1, 3600.0  # as `engine/load/src/check.rs` has them


def cell(index: int, levels: Mapping[str, str], setup: SetupModel, root: Node) -> Cell:
    """The cell that `setup` describes. `root` is where it was read from, for errors."""
    targets = {name: _target(name, each, root) for name, each in setup.targets.items()}
    groups = tuple(_group(name, each, targets, root) for name, each in setup.groups.items())
    used = {group.target for group in groups}
    if not INTERVAL_MIN_S <= setup.interval <= INTERVAL_MAX_S:
        raise DynoError(
            f"`interval` {setup.interval:g} s is not between 100 ms and 1 h",
            where=_at(root, "interval", "duration").where,
            cause="the engine counts in steps of 100 ms",
            fix="write `interval: 1s`",
        )
    if setup.interval > setup.duration:
        raise DynoError(
            f"`interval` {setup.interval:g} s is longer than `duration` {setup.duration:g} s",
            where=_at(root, "interval", "duration").where,
            fix="make the interval shorter, or measure longer",
        )
    return Cell(
        index=index,
        levels=dict(levels),
        targets=tuple(target for name, target in targets.items() if name in used),
        groups=groups,
        warmup_s=setup.warmup,
        duration_s=setup.duration,
        interval_s=setup.interval,
    )


def _target(name: str, model: TargetModel, root: Node) -> Target:
    node = root.mapping["targets"].mapping[name]
    if model.kind is None:
        raise DynoError(
            f"`targets.{name}.kind` is missing", where=node.place, fix=f"one of {listed(KINDS)}"
        )
    return Target(
        name=name,
        kind=model.kind,
        config=dict(model.config),
        durability=model.durability,
        isolation=model.isolation,
        memory_bytes=model.memory,
        basedir=model.basedir,
        protocol=model.protocol,
        tls=model.tls,
        transport=model.transport,
        options=dict(model.options),
        optional=model.optional,
    )


def _group(name: str, model: GroupBase, targets: Mapping[str, Target], root: Node) -> Group:
    node = root.mapping["groups"].mapping[name]
    written = {
        option.name: getattr(model, option.name)
        for option in workloads.options_of(model.kind)
        if getattr(model, option.name) is not None
    }
    for option_name, what, fix in workloads.contradictions(model.kind, written):
        place = node.mapping[option_name].where if option_name in node.mapping else node.place
        raise DynoError(f"group `{name}`: {what}", where=place, fix=fix)
    return Group(
        name=name,
        kind=model.kind,
        target=_target_of(name, model, targets, node),
        sessions=model.sessions,
        deadline_s=model.deadline,
        retries=model.retries,
        options=written,
        arrivals=_arrivals(model),
    )


def _arrivals(model: GroupBase) -> Arrivals | None:
    if model.rate is None:
        return None
    return Arrivals(model.arrivals, (RateStep(None, model.rate, model.rate),))


def _target_of(name: str, model: GroupBase, targets: Mapping[str, Target], node: Node) -> str:
    if model.target is None:
        if len(targets) == 1:
            return next(iter(targets))
        raise DynoError(
            f"group `{name}` does not say which target it is sent to",
            where=node.place,
            fix=f"add `target:`, one of {listed(targets)}",
        )
    if model.target not in targets:
        raise DynoError(
            f"group `{name}` is sent to `{model.target}`, and there is no such target",
            where=node.mapping["target"].where,
            fix=did_you_mean(model.target, targets),
        )
    return model.target


def _at(root: Node, *keys: str) -> Node:
    """The first of these keys that the file has, else the file as a whole."""
    return next((root.mapping[key] for key in keys if key in root.mapping), root)
