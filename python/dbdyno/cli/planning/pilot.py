"""The pilot of `dyno plan`: a run like any other, of an experiment made short."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbdyno.cli.running.before.installed import described
from dbdyno.cli.running.carry_out import measure, not_put_back
from dbdyno.cli.running.detail import Detail
from dbdyno.cli.running.watching.text import duration
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan
from dbdyno.store.manifest import INTERRUPTED, RUNNING
from dbdyno.store.naming import unnamed
from dbdyno.store.run import Run
from dbdyno.systems.process.scratch import scratch_root


def measured(
    plan: Plan, directory: Path | None, scratch: Path | None, detail: Detail
) -> Run | None:
    """Runs a pilot's plan and draws its report; None if it was interrupted, which is reported. Its
    run directory stays."""
    click.echo(f"pilot: about {duration(estimate.of(plan).total_s)}", err=True)
    scratch = scratch_root(scratch)
    path = directory or unnamed(f"{plan.name}-pilot")
    facts = described(plan, scratch)
    with Run.create(path, plan, facts) as created:
        created.set_status(RUNNING, command=["dyno", *sys.argv[1:]], directory=str(Path.cwd()))
        status, left = measure(created, scratch, detail)
        _draw(created)
        if left:
            raise not_put_back(created, left)
    if status == INTERRUPTED:
        click.echo(
            f"interrupted; go on with: dyno run --resume {path}, then: dyno plan ... --from {path}",
            err=True,
        )
        return None
    return Run.open(path)


def _draw(run: Run) -> None:
    from dbdyno.report import Report
    from dbdyno.wording.findings import analyse

    Report(run, analyse(run.plan, run.records(), run.trace)).write()
