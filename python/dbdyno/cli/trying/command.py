"""`dyno try`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbdyno.cli.running import detail
from dbdyno.cli.terminal import length, login


def _sessions(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        found = tuple(dict.fromkeys(int(part) for part in value.split(",")))
    except ValueError:
        found = (0,)
    if min(found) < 1:
        raise click.BadParameter("must be numbers from 1 on, such as 1,8,64", context, parameter)
    return found


@click.command("try")
@click.argument("what", nargs=-1, required=True)
@click.option(
    "--on",
    "places",
    multiple=True,
    metavar="KIND[=VERSION]|URL",
    help="Server to try it on; may be repeated: sqlite, mariadb=11.8, postgres,"
    " mysql://app@db1/shop. [default: sqlite; of io: files]",
)
@click.option(
    "--sessions",
    default="1",
    show_default=True,
    metavar="N[,N...]",
    callback=_sessions,
    help="Sessions at once; several numbers are compared.",
)
@click.option(
    "--time",
    "total_s",
    default="100s",
    show_default=True,
    metavar="TIME",
    callback=length.seconds,
    help="How long all of it may take.",
)
@click.option(
    "--blocks",
    type=click.IntRange(1, 1000),
    help="Passes over all variants; fewer than 3 are never judged. [default: 6 if time allows,"
    " 3 at least]",
)
@click.option("--tables", type=click.IntRange(1), help="Tables of oltp.")
@click.option("--rows", type=click.IntRange(1), help="Rows a table of oltp, records of kv.")
@click.option(
    "--setup",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE.sql",
    help="Make tables with this SQL first, in a schema of dbdyno's own.",
)
@click.option(
    "--param",
    "ranges",
    multiple=True,
    metavar="NAME=LOW..HIGH",
    help="Draw :NAME of a statement again for each transaction; may be repeated.",
)
@click.option(
    "--write-to",
    "write_to",
    multiple=True,
    metavar="SCHEMA",
    help="Let statements change this schema of an external server; may be repeated.",
)
@login.options
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory of the run; the experiment is DIR.yaml. [default: runs/try-WHAT-TIME]",
)
@click.option(
    "--scratch",
    type=click.Path(path_type=Path),
    help="Storage under test: directory of the servers' files [default: $DYNO_SCRATCH or"
    " /var/tmp].",
)
@click.option("--dry-run", is_flag=True, help="Print the experiment, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print result.json to stdout.")
@detail.options
def try_(**options: Any) -> int:
    """Try WHAT in one line: an answer in about two minutes, and an experiment to go on with.

    WHAT is a statement in quotes, a file of statements (FILE.sql), or a workload: oltp, kv, io,
    perhaps with a preset (oltp=point_select, kv=b, io=random_write). Several of a sort are
    compared with each other, on each server of --on and at each number of --sessions. Passwords and
    TLS are of the URLs among --on; without a source, dbdyno searches where `run` does.

    \b
    dyno try 'SELECT 1' --on mariadb=10.11 --on mariadb=11.8
    dyno try oltp --on mariadb --on postgres --sessions 1,8,64
    dyno try a.sql b.sql --setup schema.sql --param id=1..10000
    """
    from dbdyno.cli.trying.tried import tried

    return tried(**options)
