"""`dyno plan`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbdyno.cli import completing
from dbdyno.cli.running import detail
from dbdyno.cli.terminal import length


def _share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    if context.resilient_parsing:  # for a Tab
        return 0.0
    from dbdyno.experiment.values import units

    try:
        share = units.fraction(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None
    if not 0 < share < 1:
        raise click.BadParameter("must be more than 0 % and less than 100 %", context, parameter)
    return share


@click.command()
@click.argument("experiment", shell_complete=completing.experiments)
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
    shell_complete=completing.runs,
    help="Take the noise from this run (its directory or bundle) instead of running a pilot.",
)
@click.option(
    "--pilot-blocks",
    type=click.IntRange(3),
    default=6,
    show_default=True,
    help="Blocks of the pilot: more of them narrow the ranges.",
)
@click.option(
    "--pilot-duration",
    default="10s",
    show_default=True,
    metavar="TIME",
    callback=length.seconds,
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
    shell_complete=completing.keys,
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
@detail.options
def plan(**options: Any) -> int:
    """Plan EXPERIMENT: how many blocks and minutes find a difference of a given size.

    Runs a pilot (a few short blocks, on real servers, stored like any run) or takes the noise from
    an earlier run, and prints the sources of the noise, the noise floor, and the duration of
    trials that takes the least time. Exit code 1: no plannable number of blocks is enough.
    """
    from dbdyno.cli.planning.planned import planned

    return planned(**options)
