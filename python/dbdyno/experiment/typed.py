"""From validated models to the frozen dataclasses that everything else reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment import faults, workloads
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.model import GroupBase, SetupModel, TargetModel
from dbdyno.experiment.targets import external, limits, setups, topologies, volumes
from dbdyno.experiment.types import Cell, Cpus, Group, Setup, Target, Topology
from dbdyno.experiment.workloads import arrivals, measuring

INTERVAL_MIN_S, INTERVAL_MAX_S = 0.1, 3600.0  # as `engine/generator/src/setup/check.rs` has them


def cell(index: int, levels: Mapping[str, str], setup: SetupModel, root: Node) -> Cell:
    """The cell that `setup` describes. `root` is where it was read from, for errors."""
    targets = {name: _target(name, each, root) for name, each in setup.targets.items()}
    duration_s = measuring.longest_s(setup.duration)
    duration = (duration_s, _at(root, "duration").where)
    groups = tuple(
        _group(name, each, targets, duration, root) for name, each in setup.groups.items()
    )
    used = {group.target for group in groups}
    interval_s = _interval_s(setup, duration_s, root)
    _one_search(groups, root)
    _alone(groups, root)
    duration_s, warmup_s = _lengths(setup, groups, duration_s, interval_s)
    measuring.check(setup.duration, groups, duration[1])
    until_steady = isinstance(setup.duration, measuring.SteadyModel)
    in_use = tuple(target for name, target in targets.items() if name in used)
    return Cell(
        index=index,
        levels=dict(levels),
        targets=in_use,
        groups=groups,
        warmup_s=warmup_s,
        duration_s=duration_s,
        interval_s=interval_s,
        until_steady=until_steady,
        steady_min_s=setup.duration.min
        if isinstance(setup.duration, measuring.SteadyModel)
        else None,
        sampling_s=setup.sampling,
        audit=setup.audit,
        cpus=_cpus(setup, root),
        cache=setup.state.cache,
        faults=faults.read(setup.faults, in_use, groups, (duration_s, until_steady), root),
    )


def _target(name: str, model: TargetModel, root: Node) -> Target:
    node = root.mapping["targets"].mapping[name]
    kind = external.kind_of(model, node)
    if kind is None:
        raise DynoError(
            f"`targets.{name}.kind` is missing",
            where=node.place,
            fix=f"one of {listed(kinds.KINDS)}",
        )
    return Target(
        name=name,
        kind=kind,
        config=dict(model.config),
        durability=model.durability,
        isolation=model.isolation,
        memory_bytes=model.memory,
        basedir=model.basedir,
        version=model.version,
        protocol=model.protocol,
        transport=model.transport,
        options=dict(model.options),
        optional=model.optional,
        instances=_instances(name, model, node),
        topology=_topology(name, kind, model, node),
        session=tuple(model.session),
        setup=_setup(name, kind, model, root),
        **external.fields(name, model, node, kind),
        limits=limits.typed(name, kind, model.transport, model.limits, node),
        volume=volumes.typed(name, kind, model.volume, node),
    )


def _instances(name: str, model: TargetModel, node: Node) -> int:
    if model.instances > 1 and "port" in model.config:
        raise DynoError(
            f"target `{name}`: {model.instances} instances cannot share the port of `config`",
            where=node.mapping["config"].mapping["port"].place,
            fix="remove `port`: dyno chooses a free one for each",
        )
    return model.instances


def _topology(name: str, kind: str, model: TargetModel, node: Node) -> Topology | None:
    if model.topology is None or model.url or model.nodes:  # an external server's is refused
        return None
    others = {
        "instances": model.instances,
        "config": model.config,
        "transport": model.transport,
    }
    return topologies.typed(name, kind, model.topology, others, node)


def _setup(name: str, kind: str, model: TargetModel, root: Node) -> Setup | None:
    """The target's setup, which by now includes what holds for all targets."""
    if model.setup is None:
        return None
    node = root.mapping["targets"].mapping[name].mapping["setup"]
    known = kinds.of(kind)
    if not known.stores_data or not known.speaks_sql:
        what = (
            f"there are no tables in {known.title}"
            if known.stores_data
            else "the null driver keeps nothing"
        )
        raise DynoError(
            f"target `{name}`: {what}, so `setup` means nothing",
            where=node.place,
            fix="remove it",
        )
    if model.setup.template is not None and (model.url or model.nodes):
        raise DynoError(
            f"target `{name}`: a template is for servers that dyno starts, not for one at a `url`",
            where=node.mapping["template"].place,
            fix="load a dump instead: `dump: FILE`",
        )
    return setups.typed(model.setup, node, _folder(root))


def _folder(root: Node) -> Path:
    """Where relative paths start."""
    file = root.where.file
    return file.parent if isinstance(file, Path) else Path()


def _group(
    name: str,
    model: GroupBase,
    targets: Mapping[str, Target],
    duration: tuple[float, Where],
    root: Node,
) -> Group:
    node = root.mapping["groups"].mapping[name]
    workload = workloads.of(model.kind)
    own = set(workload.model.model_fields)
    written = model.model_dump(include=own, exclude_none=True, by_alias=True)
    written = workload.read(written, _folder(root))
    _check_workload(name, model, targets, node)
    for each in workload.contradictions(written):
        keys = tuple(int(key) if key.isdigit() else key for key in each.keys)
        place, depth = node.find(keys)
        where = place.where if depth and depth == len(keys) else place.place
        raise DynoError(f"group `{name}`: {each.what}", where=where, fix=each.fix)
    schedule, find, think = arrivals.read(
        name, model.rate, model.arrivals, model.find, model.think, duration, node
    )
    if think and think.per == "operation" and workloads.pipeline(model.kind, written) > 1:
        raise DynoError(
            f"group `{name}`: `think` before each operation, and `pipeline`",
            where=node.mapping["think"].place,
            cause="operations of a pipeline are sent in one write, without pauses between them",
            fix="write `per: transaction`: a session then thinks before each write",
        )
    return Group(
        name=name,
        kind=model.kind,
        target=_target_of(name, model, targets, node),
        node=_node_of(name, model, targets, node),
        route=topologies.route(
            *(name, model.route, targets[_target_of(name, model, targets, node)], node),
            model.model_fields_set,
        ),
        sessions=_sessions(model, written),
        deadline_s=_deadline_s(model),
        retries=model.retries,
        options=written,
        arrivals=schedule,
        find=find,
        think=think,
    )


def _check_workload(name: str, model: GroupBase, targets: Mapping[str, Target], node: Node) -> None:
    """Keys that mean nothing to the workload, and a system that a script cannot talk to."""
    for key, cause in workloads.of(model.kind).refuses.items():
        if key in model.model_fields_set and key in node.mapping:
            raise DynoError(
                f"group `{name}`: `{key}` means nothing to `kind: {model.kind}`",
                where=node.mapping[key].place,
                cause=cause,
                fix=f"leave `{key}` out",
            )
    target = targets[_target_of(name, model, targets, node)]
    if model.kind == workloads.SCRIPT and not kinds.of(target.kind).stores_data:
        raise DynoError(
            f"group `{name}`: a script cannot talk to the null driver",
            where=node.place,
            cause="its statements are not known in advance",
            fix="use mariadb, mysql, postgres or sqlite; or `dyno-engine null-server`",
        )


def _one_search(groups: Sequence[Group], root: Node) -> None:
    """Two searches in one trial would each move what the other measures."""
    searching = [group.name for group in groups if group.find]
    if len(searching) > 1:
        raise DynoError(
            f"groups {listed(searching)} both search for a rate",
            where=root.mapping["groups"].mapping[searching[1]].mapping["find"].place,
            cause="one's highest rate depends on the other's rate of the moment",
            fix="give all but one a fixed `rate`, and vary that as a factor",
        )


def _alone(groups: Sequence[Group], root: Node) -> None:
    """A script has the load threads to itself."""
    scripts = [group.name for group in groups if group.kind == workloads.SCRIPT]
    if scripts and len(groups) > 1:
        raise DynoError(
            f"group `{scripts[0]}` is a script, and there are other groups",
            where=root.mapping["groups"].mapping[scripts[0]].place,
            cause="scripts run on their own load threads, which would take the CPUs of others",
            fix="give the script its own experiment",
        )


def _target_of(name: str, model: GroupBase, targets: Mapping[str, Target], node: Node) -> str:
    if model.target is None:
        if len(targets) == 1:
            return next(iter(targets))
        raise DynoError(
            f"group `{name}` does not name its target",
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


def _node_of(name: str, model: GroupBase, targets: Mapping[str, Target], node: Node) -> str:
    target = targets[_target_of(name, model, targets, node)]
    if not target.nodes_for(model.node):
        raise DynoError(
            f"group `{name}` reads from replicas, and target `{target.name}` has none",
            where=node.mapping["node"].place,
            fix="give the target `nodes: {write: URL, read: [URL, ...]}`, or remove `node`",
        )
    topology = target.topology
    if model.node == "read" and topology is not None and topologies.FORMS[topology.kind].shards:
        raise DynoError(
            f"group `{name}`: `node: read` means nothing to a `{topology.kind}`",
            where=node.mapping["node"].place,
            cause="each operation goes to the primary that has its key",
            fix="remove `node`",
        )
    return model.node


def _sessions(model: GroupBase, options: Mapping[str, Any]) -> int:
    """As many as the file says; a replay has, where it does not, those of its recording."""
    if model.kind == workloads.REPLAY.name and "sessions" not in model.model_fields_set:
        return workloads.REPLAY.players(options)
    return model.sessions


def _deadline_s(model: GroupBase) -> float:
    """What was recorded may have taken long, and is not cut short unless the file sets that."""
    if model.kind == workloads.REPLAY.name and "deadline" not in model.model_fields_set:
        return workloads.REPLAY.deadline_s
    return model.deadline


def _interval_s(setup: SetupModel, duration_s: float, root: Node) -> float:
    """The length of an interval: as written, else a second, or a fifth of a trial that is shorter
    than that, in steps of 100 ms."""
    interval_s = setup.interval
    if "interval" not in setup.model_fields_set and duration_s < interval_s:
        interval_s = max(INTERVAL_MIN_S, int(duration_s * 2 + 1e-9) / 10)
    if not INTERVAL_MIN_S <= interval_s <= INTERVAL_MAX_S:
        raise DynoError(
            f"`interval` {interval_s:g} s is not between 100 ms and 1 h",
            where=_at(root, "interval", "duration").where,
            cause="the engine counts in steps of 100 ms",
            fix="write `interval: 1s`",
        )
    if interval_s > duration_s:
        raise DynoError(
            f"`interval` {interval_s:g} s is longer than `duration` {duration_s:g} s",
            where=_at(root, "interval", "duration").where,
            fix="make the interval shorter, or measure longer",
        )
    return interval_s


def _lengths(
    setup: SetupModel, groups: Sequence[Group], duration_s: float, interval_s: float
) -> tuple[float, float]:
    """Measured time and warm-up, seconds. A recording is played from its begin to its end, and all
    of it counts, unless the file says otherwise."""
    played = [group for group in groups if group.kind == workloads.REPLAY.name]
    if not played:
        return duration_s, setup.warmup
    said = setup.model_fields_set
    if "duration" not in said:
        longest_s = max(workloads.REPLAY.length_s(group.options) for group in played)
        duration_s = max(longest_s, interval_s)
    return duration_s, setup.warmup if "warmup" in said else 0.0


def _at(root: Node, *keys: str) -> Node:
    """The first of these keys that the file has, else the file as a whole."""
    return next((root.mapping[key] for key in keys if key in root.mapping), root)


def _cpus(setup: SetupModel, root: Node) -> Cpus:
    """CPUs given by hand. DynoError if they are of one side only, or of both."""
    cpus = Cpus(tuple(sorted(set(setup.cpus.generator))), tuple(sorted(set(setup.cpus.servers))))
    both = set(cpus.generator) & set(cpus.servers)
    if bool(cpus.generator) != bool(cpus.servers) or both:
        node = root.mapping["cpus"]
        what = (
            f"CPU {min(both)} is given to generator and servers"
            if both
            else "`cpus` gives CPUs to one side only"
        )
        raise DynoError(
            what,
            where=node.where,
            fix="write `cpus: {generator: [0], servers: [1]}`, or remove it to share them all",
        )
    return cpus
