"""What a plan of blocks and minutes is made of: a pilot, or the noise of an earlier run."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from dbdyno.cli import studies
from dbdyno.cli.planning import pilot
from dbdyno.cli.running.before.installed import missing
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.detail import detail
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.execute.engine import job
from dbdyno.execute.faulting.trial_faults import impossible
from dbdyno.experiment import load_seeded
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.pilot import Pilot, shorten
from dbdyno.plan.types import Plan
from dbdyno.share.opened import opened
from dbdyno.store.run import Run


def planned(
    experiment: str,
    detect: float,
    wanted: float,
    source: Path | None,
    pilot_blocks: int,
    pilot_duration: float,
    no_copies: bool,
    overrides: tuple[str, ...],
    directory: Path | None,
    scratch: Path | None,
    write_to: tuple[str, ...],
    as_json: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """What `dyno plan` does; its exit code."""
    shown = detail(verbose=verbose, quiet=quiet)
    if source is not None and directory is not None:
        raise click.UsageError("--from takes an earlier run, --dir is for a pilot: give one")
    loaded = load_seeded(studies.find(experiment), list(overrides))
    with placed(loaded):
        here = partial(make, available=missing, impossible=impossible, write_to=write_to)
        wished = here(loaded, Machine.read())
        if source is not None:
            with stored(source), opened(source) as run:
                return _answer(wished, run, str(source), detect, wanted, as_json)
        job.find()
        asked = Pilot(pilot_blocks, pilot_duration, not no_copies)
        short = here(shorten(loaded, asked), Machine.read())
        ran = pilot.measured(short, directory, scratch, shown)
    if ran is None:
        return 3
    return _answer(wished, ran, f"the pilot {ran.path}", detect, wanted, as_json)


def _answer(
    wished: Plan, run: Run, source: str, detect: float, wanted: float, as_json: bool
) -> int:
    # Imported here: scipy takes most of a second, which a pilot need not wait for.
    from dbdyno.analysis.planning import to_json
    from dbdyno.wording.planning.power_text import planning_text
    from dbdyno.wording.runs import plan_blocks

    _refuse(run, source)
    found = plan_blocks(wished, run.plan, run.records(), run.trace, detect, wanted)
    if as_json:
        click.echo(json.dumps(to_json(found), indent=1, allow_nan=False))
    else:
        click.echo(planning_text(found, source), nl=False)
    return 0 if found.found else 1


def _refuse(run: Run, source: str) -> None:
    """DynoError for a run whose noise is not that of an experiment run by dbdyno."""
    if run.plan.quick or run.plan.imported is not None:
        why = "a quick run is too short" if run.plan.quick else "its results were imported"
        raise DynoError(
            f"nothing can be planned from {source}: {why}",
            cause="the plan needs blocks of whole trials, measured in the order of a run",
            fix="omit --from, so that a pilot runs",
        )
