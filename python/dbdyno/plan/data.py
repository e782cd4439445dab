"""Which cells can start from one loaded data set, and what each trial must start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dbdyno import kinds, topology
from dbdyno.experiment import workloads
from dbdyno.experiment.targets import setups
from dbdyno.plan.types import GroupPlan
from dbdyno.systems.base import TargetPlan

REUSE = "reuse"
RESTORE = "restore"

DataSettings = Callable[[TargetPlan], Mapping[str, Any]]


def settings_of_files(target: TargetPlan) -> Mapping[str, Any]:
    """The settings that files on disk depend on, as the target's system says. DynoError if the
    system, or its topology, refuses what the experiment asks of it."""
    return topology.resolve(target).data_settings


def data_sets(groups: Sequence[GroupPlan], target: TargetPlan) -> list[tuple[str, dict[str, Any]]]:
    """The data sets that the engine loads into a target: (workload, load options). Declared tables
    come first. None into existing data."""
    if target.existing is not None:
        return []
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for group in groups:
        options = workloads.data_options(group.workload, group.options)
        if group.target == target.name and options is not None:
            key = json.dumps([group.workload, options], sort_keys=True)
            found.setdefault(key, (group.workload, options))
    sets = [found[key] for key in sorted(found)]
    if target.setup is not None and target.setup.tables:
        sets.insert(0, (workloads.TABLES, {"tables": _plain(target.setup.tables)}))
    return sets


def setup_facts(target: TargetPlan) -> dict[str, Any]:
    """What identifies the rest of a target's setup: contents of files, not their names."""
    setup = target.setup
    if setup is None:
        return {}

    def content(path: str | None) -> str | None:
        return None if path is None else setup.hashes[path]

    return {
        "template": content(setup.template),
        "schema": setup.schema,
        "dump": content(setup.dump),
        "sql": [content(path) for path in setup.sql],
        "after": list(setup.after),
    }


def data_bytes(target: TargetPlan, groups: Sequence[GroupPlan]) -> int:
    """About how large a target's data is on disk, bytes."""
    if not kinds.of(target.kind).stores_data:
        return 0
    total = 0 if target.setup is None else setups.files_bytes(target.setup)
    for workload, options in data_sets(groups, target):
        if workload == workloads.TABLES:
            total += setups.tables_bytes(options["tables"])
        else:
            total += workloads.of(workload).data_bytes(options)
    return total


def target_key(target: TargetPlan, groups: Sequence[GroupPlan], settings: DataSettings) -> str:
    """Identifies a loaded target, except for its server's version (known at execution)."""
    facts = {
        "kind": target.kind,
        "basedir": target.basedir,
        "version": target.version,
        "url": target.url,
        "existing": target.existing,
        "settings": dict(settings(target)),
        "data": data_sets(groups, target),
        "setup": setup_facts(target),
    }
    text = json.dumps(facts, sort_keys=True, default=str)
    return f"{target.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def cell_key(
    targets: Sequence[TargetPlan], groups: Sequence[GroupPlan], settings: DataSettings
) -> str:
    """Identifies the loaded data of a cell: its targets' keys, by name of target."""
    return "+".join(
        f"{target.name}:{target_key(target, groups, settings)}"
        for target in sorted(targets, key=lambda target: target.name)
    )


def writers(groups: Sequence[GroupPlan]) -> list[str]:
    """Names of the groups that change data."""
    return [g.name for g in groups if workloads.changes_data(g.workload, g.options)]


def _plain(value: Any) -> Any:
    """Mappings and sequences as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


class Sent(Protocol):
    """What is asked of a cell in `restorable`."""

    @property
    def targets(self) -> Sequence[TargetPlan]: ...
    @property
    def groups(self) -> Sequence[GroupPlan]: ...


def restorable(cell: Sent) -> list[GroupPlan]:
    """The groups whose data was loaded by us, so that it can be loaded again."""
    there = {target.name for target in cell.targets if target.existing is not None}
    return [group for group in cell.groups if group.target not in there]
