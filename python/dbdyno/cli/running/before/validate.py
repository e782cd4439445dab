"""`--check`: is the file valid? For people on stderr, for editors and scripts as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from dbdyno.cli import studies
from dbdyno.cli.running.against import read as read_base
from dbdyno.cli.running.before import schema_checks
from dbdyno.cli.running.before.placed import placed
from dbdyno.digest.workload.yamltext import visible
from dbdyno.errors import DynoError, Mistakes
from dbdyno.execute.faulting.trial_faults import impossible
from dbdyno.experiment import load
from dbdyno.experiment.types import Spec
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import check_settings
from dbdyno.plan.outlook import counts, memory, primaries
from dbdyno.plan.two_versions.against import unite
from dbdyno.storage import needed


def check(
    experiment: str,
    overrides: Sequence[str],
    as_json: bool,
    against: str | None = None,
    trust: bool = False,
    *,
    with_schema: bool = False,
) -> int:
    """Validates an experiment and the settings it asks for, and whether it can run `against` a
    base; returns the exit code. DynoError for what is wrong. `with_schema`: servers are asked what
    of it will fail; a statement that they refuse is wrong."""
    loaded = load(studies.find(experiment), list(overrides))
    with placed(loaded):
        check_settings(loaded)
    memory.check(loaded, Machine.read())
    if against is not None:
        unite(loaded, read_base(against, trust=trust))
    found = schema_checks.found(loaded, asks=with_schema)
    mistakes = Mistakes()
    for mistake in found.refused:
        mistakes.add(mistake)
    mistakes.stop()
    few = counts.undecidable(
        *(loaded.claims, loaded.factors, loaded.cells, loaded.scope, loaded.blocks)
    )
    warnings = [*found.warnings, *few, *primaries.notes(loaded.cells), *_not_here(loaded)]
    if as_json:
        facts: dict[str, Any] = {"file": str(loaded.path), "experiment": loaded.name}
        facts |= {"cells": len(loaded.cells), "blocks": loaded.blocks, "warnings": warnings}
        click.echo(json.dumps({"ok": True, **facts}, indent=1))
    else:
        for line in warnings:
            click.echo(f"warning: {visible(line)}", err=True)
        click.echo(f"{loaded.path}: ok", err=True)
    return 0


def _not_here(loaded: Spec) -> list[str]:
    """Why cells of a valid experiment cannot be tested on this machine: volumes and faults that it
    cannot have, each reason once."""
    said: dict[str, None] = {}
    targets = {(target.name, target.volume) for cell in loaded.cells for target in cell.targets}
    for name, volume in sorted(targets, key=str):
        try:
            if volume is not None:
                needed.check(volume)
        except DynoError as error:
            said[f"not tested here: target `{name}`: {error.what}; {error.fix}"] = None
    for cell in loaded.cells:
        by_name = {target.name: target for target in cell.targets}
        for fault in cell.faults:
            if why := impossible(fault, by_name[fault.target]):
                said[f"not tested here: fault `{fault.do}`: {why.what}; {why.fix}"] = None
    return list(said)
