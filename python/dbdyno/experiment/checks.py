"""What is wrong with an experiment although each of its parts is right."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment import model, workloads
from dbdyno.experiment.audit import level_of_sessions
from dbdyno.experiment.factors import RawFactor
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.file.names import listed
from dbdyno.experiment.file.paths import WORKLOAD
from dbdyno.experiment.targets import hooks, sqltext
from dbdyno.experiment.targets.topologies import FORMS
from dbdyno.experiment.types import REPLICA, Cell, Group, Setup
from dbdyno.experiment.workloads.base import Need

# Not of temporary tables, which replicas need not have; DROP may be of one.
_TABLES = re.compile(r"\s*(?:create\s+(?:unlogged\s+)?|alter\s+)table\b", re.IGNORECASE)
SERIALIZABLE = "serializable"
HEAD_BYTES = 16 << 20  # of a file of SQL that are searched
_CASCADES = re.compile(
    r"\bON\s+(?:DELETE|UPDATE)\s+(?:CASCADE|SET\s+(?:NULL|DEFAULT))\b", re.IGNORECASE
)


def names(root: Node) -> None:
    """Refuses names that would make a path ambiguous."""
    targets = root.mapping["targets"].mapping if "targets" in root.mapping else {}
    groups = root.mapping["groups"].mapping if "groups" in root.mapping else {}
    for name, node in (*targets.items(), *groups.items()):
        if (name in model.TOP_KEYS and name != WORKLOAD) or name in hooks.OF_LEVEL:
            raise DynoError(
                f"`{name}` is a key of the file, so nothing can be called that",
                where=node.place,
                fix="choose another name",
            )
    for name in groups:
        if name in targets:
            raise DynoError(
                f"a target and a group are both called `{name}`",
                where=groups[name].place,
                cause="paths such as `name.key` would be ambiguous",
                fix="rename one of them",
            )


def targets_used(cells: Sequence[Cell], root: Node) -> None:
    """Refuses a target that no group is ever sent to."""
    used = {target.name for cell in cells for target in cell.targets}
    for name, node in root.mapping["targets"].mapping.items():
        if name not in used:
            raise DynoError(
                f"no group is sent to target `{name}` in any cell",
                where=node.place,
                fix=f"add `target: {name}` to a group, or remove the target",
            )


def shared_data(cell: Cell, root: Node) -> None:
    """Groups of one target use the same tables, so they must agree on what is loaded."""
    first: dict[tuple[str, str], Group] = {}
    for group in cell.groups:
        other = first.setdefault((group.target, group.kind), group)
        mine = workloads.data_options(group.kind, group.options) or {}
        theirs = workloads.data_options(other.kind, other.options) or {}
        for name, value in theirs.items():
            if mine[name] == value:
                continue
            node = root.mapping["groups"].mapping[group.name]
            raise DynoError(
                f"groups `{other.name}` and `{group.name}` share the tables of `{group.target}` "
                f"but want `{name}` {value} and {mine[name]}",
                where=node.mapping[name].where if name in node.mapping else node.place,
                fix=f"give both the same `{name}`; `id_range` narrows what a group touches",
            )


def capabilities(cell: Cell, root: Node) -> None:
    """Refuses a workload that needs what its target cannot do."""
    kind_of = {target.name: target.kind for target in cell.targets}
    for group in cell.groups:
        has = kinds.of(kind_of[group.target]).capabilities
        workload = workloads.of(group.kind)
        always = (Need(each, ("kind",), "") for each in workload.needs)
        for need in (*always, *workload.needs_more(group.options)):
            if need.capability in has:
                continue
            written = root.mapping["groups"].mapping[group.name]
            node = next((written.mapping[key] for key in need.keys if key in written.mapping), None)
            able = [
                name for name, kind in kinds.KINDS.items() if need.capability in kind.capabilities
            ]
            needed = " ".join(filter(None, (f"`{need.capability}`", need.what)))
            raise DynoError(
                f"group `{group.name}`: workload `{group.kind}` needs {needed}, and target "
                f"`{group.target}` ({kinds.of(kind_of[group.target]).title}) does not have it",
                where=node.where if node else written.place,
                cause=need.cause or f"its capabilities are {listed(has)}",
                fix=f"use a target of kind {listed(able)}, or {need.instead}",
            )


def routes(cell: Cell, root: Node) -> None:
    """Refuses writes that are sent to a node of a topology that is only read."""
    target_of = {target.name: target for target in cell.targets}
    for group in cell.groups:
        target = target_of[group.target]
        if target.topology is None or not workloads.changes_data(group.kind, group.options):
            continue
        read = [node.name for node in target.nodes_for(group.access) if node.role == REPLICA]
        if read:
            written = root.mapping["groups"].mapping[group.name]
            node = written.mapping.get("route", written.mapping.get("node", written))
            raise DynoError(
                f"group `{group.name}` changes data, and would be sent to {listed(read)}",
                where=node.where if node is not written else written.place,
                cause="a replica is only read: what is written there is refused, or makes it differ"
                " from its primary",
                fix="write `route: primary`, or a workload that only reads",
            )


def schemas(cell: Cell, root: Node) -> None:
    """Refuses statements that change tables at the primary alone, whose replicas subscribe to rows:
    the first row that does not fit theirs would end replication."""
    target_of = {target.name: target for target in cell.targets}
    for group in cell.groups:
        topology = target_of[group.target].topology
        if topology is None or not topology.logical:
            continue
        for keys, sql in workloads.statements(group.kind, group.options):
            if not any(map(_TABLES.match, sqltext.statements(sql))):
                continue
            path = tuple(int(key) if key.isdigit() else key for key in keys)
            node, _ = root.mapping["groups"].mapping[group.name].find(path)
            raise DynoError(
                f"group `{group.name}` changes the schema of target `{group.target}`, whose"
                " replication is logical",
                where=node.where,
                cause="DDL is not replicated: the replicas would stop at the first row that does"
                " not fit their tables",
                fix="make tables in `setup:`, which all nodes get, or write `replication:"
                " physical`",
            )


def pipelines(cell: Cell, root: Node) -> None:
    """Refuses a pipeline whose operations would go to different nodes."""
    target_of = {target.name: target for target in cell.targets}
    for group in cell.groups:
        topology = target_of[group.target].topology
        if topology is None or not FORMS[topology.kind].shards:
            continue
        if workloads.pipeline(group.kind, group.options) > 1:
            written = root.mapping["groups"].mapping[group.name]
            node = written.mapping.get("pipeline", written)
            raise DynoError(
                f"group `{group.name}`: `pipeline` means nothing to a `{topology.kind}`",
                where=node.where if node is not written else written.place,
                cause="keys of one pipeline belong to different nodes",
                fix="write `pipeline: 1`, or use a single server",
            )


def several_primaries(cell: Cell, root: Node) -> None:
    """Refuses changes that a group does not accept whose members all take writes: each of them
    checks its sessions for what certification cannot see."""
    for target in cell.targets:
        groups = [group for group in cell.groups if group.target == target.name]
        changed = any(workloads.changes_data(group.kind, group.options) for group in groups)
        if target.topology is None or not target.topology.multi_primary or not changed:
            continue
        written = root.mapping["targets"].mapping[target.name]
        head = f"target `{target.name}`: a group with `primaries: all`"
        if level_of_sessions(target) == SERIALIZABLE:
            raise DynoError(
                f"{head} refuses changes at isolation {SERIALIZABLE}",
                where=_level_place(written),
                cause="its members certify what transactions write, and not what they read",
                fix="write `isolation: read_committed`, or `primaries: one`",
            )
        if target.setup is not None and (key := _cascade(target.setup)):
            raise DynoError(
                f"{head} refuses changes of tables with foreign keys that cascade",
                where=written.mapping["setup"].mapping[key].place,
                cause="`ON DELETE` or `ON UPDATE` with `CASCADE` or `SET NULL` changes rows that"
                " certification does not see",
                fix="remove that, or write `primaries: one`",
            )


def _level_place(written: Node) -> Where:
    """Where a target says which level of isolation its sessions have."""
    for key in ("session", "isolation", "config"):
        node = written.mapping.get(key)
        if node is not None and SERIALIZABLE in str(node.plain()).lower():
            return node.where
    return written.place


def _cascade(setup: Setup) -> str | None:
    """The key of a setup whose SQL has a foreign key that cascades, as far as that is text."""
    columns = (one for table in setup.tables.values() for one in table["columns"].values())
    found: Mapping[str, Iterable[str]] = {
        "dump": map(_head, [setup.dump] if setup.dump else []),
        "sql": map(_head, setup.sql),
        "tables": (str(column["type"]) for column in columns),
        "after": setup.after,
    }
    for key, texts in found.items():
        if any(_CASCADES.search(text) and _CASCADES.search(_bare(text)) for text in texts):
            return key
    return None


def _head(path: str) -> str:
    """The beginning of a file; empty if it cannot be read, which the load says."""
    try:
        with Path(path).open("rb") as file:
            return file.read(HEAD_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _bare(text: str) -> str:
    return sqltext.bare(re.sub(r"(?m)^\s*#.*$", "", text))


def levels_differ(factors: Sequence[RawFactor], cells: Sequence[Cell]) -> None:
    """Refuses a level that changes nothing: in every cell the same as another of its factor."""
    by_levels = {tuple(cell.levels.values()): _meaning(cell) for cell in cells}
    for position, factor in enumerate(factors):
        others = [
            [level.name for level in other.levels] if other is not factor else [""]
            for other in factors
        ]
        for one, two in itertools.combinations(factor.levels, 2):
            if one.hooks == two.hooks and all(
                by_levels[_with(rest, position, one.name)]
                == by_levels[_with(rest, position, two.name)]
                for rest in itertools.product(*others)
            ):
                raise DynoError(
                    f"level `{two.name}` of factor `{factor.name}` changes nothing: "
                    f"it is the same as `{one.name}` in every cell",
                    where=two.where,
                    cause="its value equals that of the file, or the default",
                    fix="patch something that differs, or remove the level",
                )


def overrides_matter(paths: Mapping[tuple[str, ...], str], factors: Sequence[RawFactor]) -> None:
    """Refuses a `--set` that a factor would undo. `paths` maps keys to the path as typed."""
    for keys, path in paths.items():
        for factor in factors:
            for taken in factor.paths():
                if keys[: len(taken)] == taken:
                    raise DynoError(
                        f"`--set {path}=...` would change nothing: factor `{factor.name}` sets it",
                        fix=f"use `--set factors.{factor.name}=[...]`, with two levels at least",
                    )


def _with(rest: tuple[str, ...], position: int, level: str) -> tuple[str, ...]:
    return (*rest[:position], level, *rest[position + 1 :])


def _meaning(cell: Cell) -> Cell:
    """The cell without its name, options spelt out: equal if nothing differs at run time."""
    groups = tuple(
        replace(group, options=workloads.meaning(group.kind, group.options))
        for group in cell.groups
    )
    return replace(cell, index=0, levels={}, groups=groups)
