"""`dyno prove`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbdyno.cli.running import detail
from dbdyno.cli.terminal import length, login

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command()
@click.argument("findings", nargs=-1, metavar="[FINDINGS.json#RULE]...")
@click.option("--on", metavar="KIND[=VERSION]|URL",
              help="Server to start: mariadb, postgres=15; or a server whose schema and data are"
              " copied. [default: as the log or the workload says]")  # fmt: skip
@click.option("--dump", type=_FILE, metavar="FILE",
              help="The data: a dump in SQL, perhaps .gz or .zst.")  # fmt: skip
@click.option("--copy", "way", type=click.Choice(["synthesise", "sample"]), default="synthesise",
              show_default=True,
              help="With --on URL: rows made up from the server's statistics, or a sample of its"
              " rows with all that they refer to.")  # fmt: skip
@click.option("--rows", type=click.IntRange(1), metavar="N",
              help="With --copy sample: rows of a large table. [default: 10000]")  # fmt: skip
@click.option("--log", "logs", type=_FILE, multiple=True, metavar="FILE",
              help="The workload: logs as `dyno digest` reads them; may be repeated.")  # fmt: skip
@click.option("--workload", type=_FILE, metavar="FILE.yaml",
              help="The workload: an experiment with `kind: mix`, perhaps with its"
              " data.")  # fmt: skip
@click.option("--for", "for_", metavar="TIME",
              help="The workload: the statements that the server of --on URL counts meanwhile, such"
              " as 10m. The time comes on top of --time.")  # fmt: skip
@click.option("--every", metavar="TIME",
              help="With --for: how often its counts are read. [default: 10s]")  # fmt: skip
@click.option("--db", metavar="NAME", help="Only this default database of the logs.")
@click.option("--index", "indexes", multiple=True, metavar="'TABLE (COLUMN, ...)'",
              help="Candidate: an index; may be repeated, then all are compared with"
              " today.")  # fmt: skip
@click.option("--drop-index", "dropped", multiple=True, metavar="TABLE.INDEX",
              help="Candidate: today without this index.")  # fmt: skip
@click.option("--rewrite", "rewrites", type=(str, _FILE), multiple=True,
              metavar="CLASS|OLD.sql NEW.sql",
              help="Candidate: other SQL for a statement of the workload, with its parameters"
              " (:name).")  # fmt: skip
@click.option("--change", "changes", multiple=True, metavar="SQL",
              help="Candidate: statements that change tables, such as ALTER TABLE.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="Candidate: a setting of the server.")  # fmt: skip
@click.option("--version", "versions", multiple=True, metavar="VERSION",
              help="Candidate: another installed version of the server.")  # fmt: skip
@click.option("--param", "ranges", multiple=True, metavar="NAME=LOW..HIGH",
              help="With --rewrite OLD.sql alone: how :NAME is drawn.")  # fmt: skip
@click.option("--space", metavar="SIZE",
              help="How much all indexes that are found may weigh, such as 500M.")  # fmt: skip
@click.option("--most", type=click.IntRange(1, 20), default=5, show_default=True,
              help="How many indexes are found at most.")  # fmt: skip
@click.option("--sessions", type=click.IntRange(1, 10_000), metavar="N",
              help="Sessions of a workload from logs or counts. [default: the log's, at most one"
              " a CPU]")  # fmt: skip
@click.option("--memory", default="256Mi", show_default=True, metavar="SIZE",
              help="What a server that is started for --dump or --on may cache.")  # fmt: skip
@click.option("--time", "total_s", default="5m", show_default=True, metavar="TIME",
              callback=length.seconds, help="How long all of it may take.")  # fmt: skip
@click.option("--blocks", type=click.IntRange(1, 1000),
              help="Passes over all sides; fewer than 3 are never judged. [default: 6 if time"
              " allows, 3 at least]")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), metavar="N",
              help="Seed of all random numbers. [default: drawn]")  # fmt: skip
@click.option("--accept-censored", "accepts_censored", is_flag=True,
              help="Accept logs whose settings omitted statements, and counts that lack"
              " some.")  # fmt: skip
@click.option("--accept-partial", "accepts_partial", is_flag=True,
              help="Accept logs and counts of which less than 80 % can be carried"
              " over.")  # fmt: skip
@login.options
@click.option("--dir", "directory", type=click.Path(path_type=Path),
              help="Directory of the run; the experiment is DIR.yaml."
              " [default: runs/prove-TIME]")  # fmt: skip
@click.option("--scratch", type=click.Path(path_type=Path),
              help="Storage under test: directory of the servers' files [default: $DYNO_SCRATCH or"
              " /var/tmp].")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the experiment, and start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@detail.options
def prove(**typed: Any) -> int:
    """Prove what an index, a setting or a rewrite changes, on a throw-away server.

    The server is private, of the kind and version that is asked for, on a copy of the data; the
    workload comes from a log, from the statements that a server counts, or from an experiment.
    Today and the candidates are measured in balanced blocks, by an ordinary experiment that is left
    to be read and run again. Without a candidate, dbdyno finds indexes for the workload itself.
    Exit code 1: something is not shown.

    \b
    dyno prove --index 'orders (customer_id, created)' --dump shop.sql.gz --log slow.log
    dyno prove --dump shop.sql.gz --log slow.log --space 500M
    dyno prove --on mysql://app@db1/shop --for 10m
    dyno prove --rewrite by_year new.sql --workload shop.yaml
    """
    from dbdyno.cli.proving.proved import proved

    return proved(typed)
