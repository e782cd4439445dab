"""Commands that print passwords, for a run that goes on: run directories do not hold their text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.file.hidden import HIDDEN
from dbdyno.plan.types import Plan
from dbdyno.store.manifest import EXPERIMENT_FILE
from dbdyno.store.run import Run
from dbdyno.systems.base import TargetPlan


def revealed(run: Run) -> Plan:
    """The plan of a run with these commands as its experiment's file has them now. Those that it
    does not have, since `--set` gave them, stay hidden: an error once they are needed."""
    targets = [target for cell in run.plan.cells for target in cell.targets]
    if all(target.credentials.command != HIDDEN for target in targets):
        return run.plan
    try:
        loaded = load(Path(str(run.manifest.get(EXPERIMENT_FILE, ""))))
    except DynoError:  # moved, or changed beyond reading
        return run.plan
    known = {
        (target.name, target.url): target.credentials.command
        for cell in loaded.cells
        for target in cell.targets
    }

    def of(target: TargetPlan) -> TargetPlan:
        command = known.get((target.name, target.url))
        if target.credentials.command != HIDDEN or command is None:
            return target
        return replace(target, credentials=replace(target.credentials, command=command))

    cells = tuple(
        replace(cell, targets=tuple(of(target) for target in cell.targets))
        for cell in run.plan.cells
    )
    return replace(run.plan, cells=cells)
