"""`dyno init`: a first experiment to change, with comments. Asks nothing, overwrites nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from dbdyno.cli import schema, starter
from dbdyno.cli.terminal import output
from dbdyno.errors import DynoError


@click.command()
@click.argument("file", default="experiment.yaml")
@click.option(
    "--kind",
    type=click.Choice(starter.KINDS),
    default="sqlite",
    show_default=True,
    help="System to measure; url: an external server.",
)
@click.option(
    "--workload",
    type=click.Choice(starter.WORKLOADS),
    help="Workload to send; mix: your own SQL, kv: YCSB.  [default: oltp; without SQL: kv]",
)
@click.option("--json", "as_json", is_flag=True, help="List the written files as JSON.")
def init(file: str, kind: str, workload: str | None, as_json: bool) -> int:
    """Write a commented experiment to start from.

    It goes to FILE, or to FILE.yaml, runs unchanged, and says what to change next.
    """
    path = Path(file)
    if path.suffix not in (".yaml", ".yml"):
        path = path.with_name(f"{path.name}.yaml")
    able = starter.workloads_of(kind)
    workload = workload or able[0]
    if workload not in able:
        raise click.BadParameter(f"a target of kind {kind} has no workload {workload}: {able[0]}")
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    if not name:
        raise click.BadParameter(f"`{file}` makes no name: use letters and digits")
    with output.explained(path):
        try:
            with path.open("x", encoding="utf-8") as out:  # fails if anything is there
                out.write(schema.editor_line())
                out.write(starter.text(name, str(path), kind, workload))
        except FileExistsError:
            raise DynoError(
                f"{path} already exists",
                cause="dyno init overwrites nothing",
                fix=f"give another name: dyno init {path.stem}-2",
            ) from None
    if as_json:
        click.echo(json.dumps({"file": str(path), "experiment": name}))
    else:
        click.echo(f"wrote {path}; next: dyno run {path} --check", err=True)
    return 0
