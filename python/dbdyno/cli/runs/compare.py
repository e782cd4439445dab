"""`dyno compare`: two runs side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from dbdyno.cli import completing
from dbdyno.cli.running import gate as gates
from dbdyno.cli.runs.stored import stored


@click.command()
@click.argument("a", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.argument("b", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option(
    "--history",
    "history",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Judge B by the spread between earlier runs of the same plan: five at least, below DIR.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Compare this metric; may be repeated [default: throughput and p95 of each group].",
)
@click.option("--anyway", is_flag=True, help="Show ratios of runs on different machines.")
@gates.option(
    "Exit with 1 if B and the run before it are clearly worse by more than this [default:"
    " `matters`], with 4 if B alone is."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    a: Path,
    b: Path,
    history: Path | None,
    metrics: tuple[str, ...],
    anyway: bool,
    gate: gates.Gate | None,
    as_json: bool,
) -> int:
    """Compare run B with run A: ratios B/A.

    A and B are run directories or bundles. The ratio of two runs includes what the machine did
    between them, so it is marked as unblocked and is no verdict, unless --history shows how much
    separate runs of this plan differ anyway. Then B is compared with the last runs before it, and
    with A if that is an older one. Two versions in the same blocks are one run: see its report.
    """
    from dbdyno.analysis.between_runs.result import compared_json
    from dbdyno.cli import unprivileged
    from dbdyno.cli.runs import past
    from dbdyno.cli.terminal.console import Shown
    from dbdyno.report.between_runs.comparison import compared_text
    from dbdyno.wording import runs

    def shown() -> int:
        first, second = past.read(a, metrics), past.read(b, metrics)
        like = second.run.fingerprint
        earlier, unread = past.read_all(history, metrics, like=like) if history else (None, [])
        limit = gate.limit if gate else None
        compared = runs.compare(
            first.run, second.run, earlier, anyway=anyway, matters=limit, unread=unread
        )
        compared = replace(compared, claims=runs.claims(first.measured, second.measured))
        if as_json:
            click.echo(json.dumps(compared_json(compared), indent=1, allow_nan=False))
        else:
            Shown().print(compared_text(compared, second.measured.plan))
        return gates.verdict(compared) if gate else 0

    with stored(a, b):
        return unprivileged.reading(shown, [a, b, *([history] if history else [])])
