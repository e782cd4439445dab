"""Which cells can start from one loaded data set, and what each trial must start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdyno import systems
from dbdyno.plan.types import GroupPlan
from dbdyno.spec import workloads
from dbdyno.systems.base import TargetPlan

REUSE = "reuse"
RESTORE = "restore"

DataSettings = Callable[[TargetPlan], Mapping[str, Any]]


def settings_of_files(target: TargetPlan) -> Mapping[str, Any]:
    """The settings that files on disk depend on, as the target's system says. DynoError if the
    system refuses what the experiment asks of it."""
    return systems.load(target.kind).resolve(target).data_settings


def data_sets(groups: Sequence[GroupPlan], target: str) -> list[tuple[str, dict[str, Any]]]:
    """The different data sets that groups load into a target: (workload, load options)."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for group in groups:
        if group.target == target:
            options = workloads.data_options(group.workload, group.options)
            key = json.dumps([group.workload, options], sort_keys=True)
            found.setdefault(key, (group.workload, options))
    return [found[key] for key in sorted(found)]


def target_key(target: TargetPlan, groups: Sequence[GroupPlan], settings: DataSettings) -> str:
    """Identifies a loaded target, but for the version of its server (known at execution)."""
    facts = {
        "kind": target.kind,
        "basedir": target.basedir,
        "settings": dict(settings(target)),
        "data": data_sets(groups, target.name),
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
