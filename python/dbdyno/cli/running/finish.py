"""The end of a run, and of `dyno report`: analyse, draw, answer; and whether it has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import RenderableType

from dbdyno import diskfiles
from dbdyno.cli.running.gate import UNDECIDED
from dbdyno.cli.terminal.console import Shown
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.run import Run
from dbdyno.store.text import files

if TYPE_CHECKING:
    from dbdyno.analysis.types import Findings
    from dbdyno.report import Report


def conclude(
    run: Run,
    *,
    strict: bool,
    decisive: bool = False,
    as_json: bool,
    to: Path | None = None,
    gate: Callable[[Findings], int] | None = None,
    answer: Callable[[Report], RenderableType] | None = None,
    also: Callable[[Report], None] | None = None,
) -> int:
    """Writes the reports (into `to`, else the run's directory) and what `also` writes, prints the
    answer to stdout, returns the exit code: that of `gate`, which reports in any case, if the rest
    is well. `strict`: 1 where a claim is refuted; `decisive`: 2 where one is neither refuted nor
    supported."""
    # Imported here: scipy takes most of a second, which `--check` and `status` need not wait for.
    from dbdyno.analysis.types import REFUTED
    from dbdyno.report import Report
    from dbdyno.wording.findings import analyse

    records = run.records()
    findings = analyse(run.plan, records, run.trace, run.histograms, void=run.voided())
    report = Report(run, findings)
    report.write(to)
    if also is not None:
        also(report)
    if as_json:
        click.echo(_result(to or run.path), nl=False)
    else:
        Shown().print(answer(report) if answer else report.terminal(to))
    if said := nothing_measured(run, records):
        click.echo(f"dyno: {said}", err=True)
        return 2
    judged = gate(findings) if gate else 0
    if strict and any(claim.verdict == REFUTED for claim in findings.claims):
        return 1
    if decisive and (open_ := undecided(findings)):
        click.echo(f"{UNDECIDED}: {open_}", err=True)
        return 2
    return judged


def undecided(findings: Findings) -> str:
    """What to say of the claims that have no verdict; nothing where each has one."""
    from dbdyno.analysis.types import REFUTED, SUPPORTED
    from dbdyno.wording.verdicts.headline import headline

    if not findings.claims:
        return "the experiment claims nothing, so there is no verdict"
    left = [one for one in findings.claims if one.verdict not in (SUPPORTED, REFUTED)]
    return "; ".join(
        f"{headline(one.verdict, one.say)} (`{one.text}`)"
        if one.say
        else f"`{one.text}` is {one.verdict}"
        for one in left
    )


def nothing_measured(run: Run, records: Sequence[TrialRecord]) -> str:
    """What to say of a run without a single complete trial; nothing for any other."""
    if any(record.status == COMPLETE for record in records):
        return ""
    if not records:
        return f"nothing was measured: none of {len(run.plan.trials)} trials is complete"
    first = records[0]
    return (
        f"nothing was measured: every trial that is over is void (first: {first.id}:"
        f" {first.void_reason})"
    )


def _result(place: Path) -> str:
    return diskfiles.read(place / "result.json", files.STREAM_BYTES_MAX).decode("utf-8")


def decided(run: Run) -> str | None:
    """Why a run that ends when all is decided ends now, in a sentence; None: it goes on."""
    if run.plan.looks is None:
        return None
    from dbdyno.analysis.claims import stopping  # here: as above
    from dbdyno.wording.catalogue import worded

    return worded(stopping.decided(run.plan, run.records(), run.voided()))


def steady_from(plan: Plan) -> Callable[[Sequence[int], float], float | None] | None:
    """What says from when on the ticks of a trial are steady; None if no trial waits for that."""
    if not any(cell.until_steady for cell in plan.cells):
        return None
    # Here, and not at the first look: that comes while a trial is being measured.
    import scipy.stats  # noqa: F401

    from dbdyno.analysis.within_trial.steady import steady
    from dbdyno.store.metrics.timeseries import TICK_S

    def judge(commits: Sequence[int], least_s: float) -> float | None:
        found = steady(commits, TICK_S, plan.matters, least_s)
        return found.from_s if found else None

    return judge
