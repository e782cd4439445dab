"""`dyno plan`: how many blocks, and how long, before an experiment is run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dbdyno.cli import studies
from dbdyno.cli.planning import pilot
from dbdyno.cli.running.before.installed import missing
from dbdyno.cli.running.before.placed import placed
from dbdyno.cli.running.live import detail, options
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.execute.engine import job
from dbdyno.experiment import load_seeded
from dbdyno.experiment.values import units
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.pilot import Pilot, shorten
from dbdyno.plan.types import Plan
from dbdyno.share.opened import opened
from dbdyno.store.run import Run

_DEFAULT = Pilot()


def _share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        share = units.fraction(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None
    if not 0 < share < 1:
        raise click.BadParameter("must be more than 0 % and less than 100 %", context, parameter)
    return share


def _seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        return units.duration_s(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.command()
@click.argument("experiment")
@click.option(
    "--detect",
    required=True,
    metavar="PCT",
    callback=_share,
    help="Difference to detect, such as 3%; of a claim: distance from its threshold.",
)
@click.option(
    "--power",
    "wanted",
    default="80%",
    show_default=True,
    metavar="PCT",
    callback=_share,
    help="Probability of detecting it.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Take the noise from this run (its directory or bundle) instead of running a pilot.",
)
@click.option(
    "--pilot-blocks",
    type=click.IntRange(3),
    default=_DEFAULT.blocks,
    show_default=True,
    help="Blocks of the pilot: more of them narrow the ranges.",
)
@click.option(
    "--pilot-duration",
    default=f"{_DEFAULT.duration_s:g}s",
    show_default=True,
    metavar="TIME",
    callback=_seconds,
    help="Longest measured time of a trial of the pilot.",
)
@click.option(
    "--no-copies",
    is_flag=True,
    help="Omit the pilot's second copy of its first cell: no noise floor (A/A).",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change the file: dotted path=value; may be repeated.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory of the pilot run [default: runs/NAME-pilot-TIME].",
)
@click.option(
    "--scratch",
    type=click.Path(path_type=Path),
    help="Storage under test [default: $DYNO_SCRATCH or /var/tmp].",
)
@click.option(
    "--write-to",
    "write_to",
    multiple=True,
    metavar="SCHEMA",
    help="Let groups change this schema of `data: {existing: SCHEMA}`; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@options
def plan(
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
    """Plan EXPERIMENT: how many blocks and minutes find a difference of a given size.

    Runs a pilot (a few short blocks, on real servers, stored like any run) or takes the noise from
    an earlier run, and prints the sources of the noise, the noise floor, and the duration of
    trials that takes the least time. Exit code 1: no plannable number of blocks is enough.
    """
    shown = detail(verbose=verbose, quiet=quiet)
    if source is not None and directory is not None:
        raise click.UsageError("--from takes an earlier run, --dir is for a pilot: give one")
    loaded = load_seeded(studies.find(experiment), list(overrides))
    with placed(loaded):
        wished = make(loaded, Machine.read(), available=missing, write_to=write_to)
        if source is not None:
            with stored(source), opened(source) as run:
                return _answer(wished, run, str(source), detect, wanted, as_json)
        job.find()
        asked = Pilot(pilot_blocks, pilot_duration, not no_copies)
        short = make(shorten(loaded, asked), Machine.read(), available=missing, write_to=write_to)
        ran = pilot.measured(short, directory, scratch, shown)
    if ran is None:
        return 3
    return _answer(wished, ran, f"the pilot {ran.path}", detect, wanted, as_json)


def _answer(
    wished: Plan, run: Run, source: str, detect: float, wanted: float, as_json: bool
) -> int:
    # Imported here: scipy takes most of a second, which a pilot need not wait for.
    from dbdyno.analysis.planning import to_json
    from dbdyno.report.planning import planning_text
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
