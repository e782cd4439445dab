"""The end of a run, and of `dyno report`: analyse, draw, answer."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from dbdyno.store.run import Run


def conclude(run: Run, *, strict: bool, as_json: bool, to: Path | None = None) -> int:
    """Writes the reports (into `to`, else the run's directory), prints the answer to stdout,
    returns the exit code."""
    # Imported here: scipy takes most of a second, which `--check` and `status` need not wait for.
    from dbdyno import report
    from dbdyno.analysis.findings import analyse
    from dbdyno.analysis.types import REFUTED

    findings = analyse(run.plan, run.records(), run.trace)
    report.render(run, findings, to)
    if as_json:
        click.echo(((to or run.path) / "result.json").read_text(), nl=False)
    else:
        Console(highlight=False).print(report.terminal(run, findings, to))
    if strict and any(claim.verdict == REFUTED for claim in findings.claims):
        return 1
    return 0
