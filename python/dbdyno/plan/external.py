"""External targets: what an experiment may not ask of them, what a reader must know.

Writing to existing data takes two words: `may.write` in the file, and the schema's name again
on the command line, since files are copied and command lines are thought about.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dbdyno.errors import DynoError
from dbdyno.experiment import types as spec_types
from dbdyno.experiment import workloads
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Spec
from dbdyno.plan.types import Cell
from dbdyno.systems.base import TargetPlan


def check(spec: Spec, write_to: Collection[str], *, runs: bool = True) -> None:
    """DynoError for what cannot be done with a server, or data, of somebody else. `runs`: the plan
    will run, so that the command line must name what is written to."""
    for cell in spec.cells:
        for target in cell.targets:
            if target.url is not None and cell.cache == "cold":
                raise DynoError(
                    f"`state: {{cache: cold}}` cannot be used for target `{target.name}`",
                    where=spec.places.get("state"),
                    cause="dbdyno does not empty the caches of an external server or its machine",
                    fix="write `cache: warm`, or empty them by `hooks: {before_trial: ...}`",
                )
            if target.existing is not None:
                _check_writing(spec, cell, target, write_to if runs else (target.existing,))
    known = {target.existing for cell in spec.cells for target in cell.targets}
    for name in write_to:
        if name not in known:
            raise DynoError(
                f"--write-to {name}: no target has `data: {{existing: {name}}}`",
                cause="a misspelt name",
                fix="name the schema as the experiment does",
            )


def _check_writing(
    spec: Spec, cell: spec_types.Cell, target: TargetPlan, write_to: Collection[str]
) -> None:
    writers = sorted(
        group.name
        for group in cell.groups
        if group.target == target.name and workloads.changes_data(group.kind, group.options)
    )
    if not writers:
        _check_reading(spec, cell, target)
        return
    schema, where = target.existing, spec.places.get("targets")
    what = f"group `{writers[0]}` would change `{schema}`, which exists already"
    if not target.may.write:
        raise DynoError(
            what,
            where=where,
            cause="existing data is read-only unless the file and the command line say otherwise",
            fix="use a workload that only reads; or write `may: {write: yes}`, and run with "
            f"`--write-to {schema}`",
        )
    if schema not in write_to:
        raise DynoError(
            what,
            where=where,
            cause="the file allows it, and the command line does not name the schema",
            fix=f"add `--write-to {schema}` if it is meant",
        )
    if spec.data == "restore":
        raise DynoError(
            f"{what}, so it cannot be restored",
            where=spec.places.get("state"),
            cause="dbdyno can load again only what it has loaded",
            fix="write `state: {data: reuse}`, or restore it by `hooks: {before_trial: ...}`",
        )


def _check_reading(spec: Spec, cell: spec_types.Cell, target: TargetPlan) -> None:
    """DynoError for what sessions that must not write could not be kept from writing."""
    for group in cell.groups:
        if group.target != target.name:
            continue
        why = workloads.of(group.kind).escapes_guard(group.options, target.kind)
        if why:
            raise DynoError(
                f"group `{group.name}` may change `{target.existing}`: {why}",
                where=spec.places.get("targets"),
                cause="existing data is read-only, and a session of the server can be kept "
                "from writing only while nothing lifts that",
                fix="change the statement; or write `may: {write: yes}`, and run with "
                f"`--write-to {target.existing}`",
            )


def unnamed(cells: Sequence[Cell], write_to: Collection[str]) -> list[str]:
    """Schemas that exist already, that groups change, and that the command line must name."""
    found = (
        target.existing
        for cell in cells
        for target in cell.targets
        if target.existing is not None
        and any(
            group.target == target.name and workloads.changes_data(group.workload, group.options)
            for group in cell.groups
        )
    )
    return [schema for schema in dict.fromkeys(found) if schema not in write_to]


def notes(cells: Sequence[Cell]) -> list[str]:
    """One sentence a server on what is not under control."""
    found: dict[str, None] = {}
    for cell in cells:
        for target in cell.targets:
            if target.url is None:
                continue
            place = server_url.parse(target.url).place
            found[
                f"Target `{target.name}` at {place} was there already: memory, durability and "
                "caches are as found, and what else runs there is in the numbers."
            ] = None
    return list(found)


def places(cells: Sequence[Cell]) -> list[str]:
    """Host and port of each external server, each once, in the order of the cells."""
    nodes = (node for cell in cells for target in cell.targets for node in target.nodes)
    return list(dict.fromkeys(server_url.parse(node.url).place for node in nodes if node.url))
