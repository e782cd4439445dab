"""The end of a run, and of `dyno report`: analyse, draw, answer."""

from __future__ import annotations

import json
import sys

import click

from dbdyno import report
from dbdyno.analysis.findings import analyse
from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import REFUTED
from dbdyno.store.run import Run


def conclude(run: Run, status: str, *, strict: bool, as_json: bool) -> int:
    """Writes the reports, prints the answer, returns the exit code."""
    records = run.records()
    findings = analyse(run.plan, records)
    report.render(run, findings)
    if as_json:
        json.dump(to_json(findings, run.plan, run), sys.stdout, indent=1, allow_nan=False)
        click.echo()
    else:
        report.terminal(run, findings)
    if status != "complete":
        click.echo(f"interrupted; go on with: dyno run --resume {run.path}", err=True)
        return 3
    if strict and any(claim.verdict == REFUTED for claim in findings.claims):
        return 1
    return 0
