"""`dyno history`: the runs below a directory over time."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal import output


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Show this metric; may be repeated [default: throughput and p95 of each group].",
)
@click.option(
    "--html",
    "html_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write one HTML file with a chart a metric.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the history as JSON.")
def history(directory: Path, metrics: tuple[str, ...], html_to: Path | None, as_json: bool) -> int:
    """Show the runs below DIR over time, by plan: spread between runs, change points, and what
    changed where they are.

    Run directories at any depth, and bundles. Runs of the same plan ask the same: cells, workload,
    data, durations, words; seed, number of blocks, versions and settings may differ.
    """
    from dbdyno.analysis.between_runs.result import history_json
    from dbdyno.cli import unprivileged
    from dbdyno.cli.runs import past
    from dbdyno.cli.terminal.console import Shown
    from dbdyno.report.between_runs.history import history_text
    from dbdyno.report.between_runs.history_page import history_page
    from dbdyno.wording import runs

    def shown() -> int:
        found = runs.history(*past.read_all(directory, metrics))
        if html_to is not None:
            output.put(history_page(found, directory.name or str(directory)), html_to, "page")
        if as_json:
            click.echo(json.dumps(history_json(found), indent=1, allow_nan=False))
        else:
            Shown().print(history_text(found))
        return 0

    with stored(directory):
        return unprivileged.reading(shown, [directory], [html_to] if html_to else [])
