"""`dyno report`: draws a run again, whatever its state."""

from __future__ import annotations

from pathlib import Path

import click

from dbdyno.cli.finish import conclude
from dbdyno.store.run import Run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit with 1 if a claim is refuted.")
@click.option("--json", "as_json", is_flag=True, help="Print result.json to stdout.")
def report(run: Path, strict: bool, as_json: bool) -> int:
    """Write result.json, report.html and report.md of RUN again, and print the answer."""
    return conclude(Run.open(run), strict=strict, as_json=as_json)
