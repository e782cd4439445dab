"""`dyno pool`: several runs of one plan combined."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dbdyno.cli import completing
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal import output


@click.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="RUN...",
    shell_complete=completing.runs,
)
@click.option(
    "--claim",
    "claims",
    multiple=True,
    help="Combine this comparison, too, such as 'tps[on] > tps[off]'; may be repeated.",
)
@click.option(
    "--html",
    "html_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write one HTML file with a forest plot a comparison.",
)
@click.option(
    "--markdown",
    "markdown_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write it as Markdown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the combination as JSON.")
def pool(
    paths: tuple[Path, ...],
    claims: tuple[str, ...],
    html_to: Path | None,
    markdown_to: Path | None,
    as_json: bool,
) -> int:
    """Combine the ratios of several runs of one plan: other days, other machines.

    RUN is a run directory, a bundle, or a directory with runs at any depth. The ratios that the
    experiment claims are combined by a random-effects model: their mean over such runs, where a
    further run is expected, and how far the runs differ.
    """
    from dbdyno.analysis.between_runs.pooling.result import combined_json
    from dbdyno.cli import unprivileged
    from dbdyno.cli.runs import past
    from dbdyno.cli.terminal.console import Shown
    from dbdyno.report.pooling.page import combined_page
    from dbdyno.report.pooling.text import combined_markdown, combined_text
    from dbdyno.wording import runs

    def shown() -> int:
        found = runs.pool([one for path in paths for one in past.sources(path)], claims)
        if html_to is not None:
            output.put(combined_page(found), html_to, "page")
        if markdown_to is not None:
            output.put(combined_markdown(found), markdown_to, "page")
        if as_json:
            click.echo(json.dumps(combined_json(found), indent=1, allow_nan=False))
        else:
            Shown().print(combined_text(found))
        return 0

    with stored(*paths):
        makes = [place for place in (html_to, markdown_to) if place is not None]
        return unprivileged.reading(shown, paths, makes)
