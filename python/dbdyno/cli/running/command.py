"""`dyno run`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbdyno.cli import completing
from dbdyno.cli.running import detail
from dbdyno.cli.running import gate as gates
from dbdyno.cli.running.before import trusted


def _listen_address(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    from dbdyno.share import listen

    try:
        return listen.address(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


@click.command()
@click.argument("experiment", required=False, shell_complete=completing.experiments)
@click.option("--check", is_flag=True, help="Validate the file and stop.")
@click.option(
    "--with-schema",
    "with_schema",
    is_flag=True,
    help="With --check or --dry-run: ask external servers which statements they refuse, and, by"
    " their schema, which will fail or match no row. They are only read.",
)
@click.option("--dry-run", is_flag=True, help="Print the resolved plan and do nothing.")
@click.option("--quick", is_flag=True, help="A smoke test of under a minute; never judged.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    shell_complete=completing.runs,
    help="Continue this run directory.",
)
@click.option("--mix-environments", is_flag=True, help="Resume although the machine has changed.")
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
    help="Directory of the run [default: runs/NAME-TIME].",
)
@click.option(
    "--scratch",
    type=click.Path(path_type=Path),
    help="Storage under test: directory of the servers' files"
    " [default: $DYNO_SCRATCH or /var/tmp; with --resume: where they were].",
)
@click.option(
    "--metrics-listen",
    metavar="[HOST:]PORT",
    callback=_listen_address,
    help="Serve live metrics to Prometheus at /metrics, on loopback unless HOST is given.",
)
@click.option(
    "--write-to",
    "write_to",
    multiple=True,
    metavar="SCHEMA",
    help="Let groups change this schema of `data: {existing: SCHEMA}`; may be repeated.",
)
@trusted.option()
@gates.of_verdicts
@click.option(
    "--against",
    metavar="BASE",
    shell_complete=completing.runs,
    help="Run BASE too, in the same blocks, and judge EXPERIMENT by it: another experiment, or a"
    " run (its directory or bundle).",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Judge the run by the spread between earlier ones of its plan: five at least, below DIR.",
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="RUN",
    shell_complete=completing.runs,
    help="With --history: compare the run with this one, too [default: the first five runs at the"
    " best level of the history].",
)
@gates.option(
    "With --against or --history: exit with 1 if the run is clearly worse by more than this"
    " [default: `matters`]; with --history once a second run confirms it, and with 4 until then."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print result.json (or the plan, or what --check found) to stdout.",
)
@click.option("--list", "list_studies", is_flag=True, help="List the shipped studies and stop.")
@detail.options
def run(**options: Any) -> int:
    """Run EXPERIMENT: a YAML file, or the name of a shipped study."""
    from dbdyno.cli.running.run import carry_out

    return carry_out(**options)
