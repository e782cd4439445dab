"""Warnings and gaps: notes on the measurements, what was not tested, void attempts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.estimates.measured import kind
from dbdyno.analysis.types import Findings
from dbdyno.plan.types import Plan, Skipped
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.report.sections.load import results
from dbdyno.store.manifest import RUNNING
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording import names, numbers
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

WARNINGS_MAX = 3  # in the terminal
BRIEF_MAX = 4  # of each kind in the short form


@dataclass(frozen=True)
class Void:
    """An attempt at a trial that did not meet `require:`, or failed."""

    trial: str
    block: int
    where: str
    reason: str
    after: str  # what became of the trial


@dataclass(frozen=True)
class View:
    """Lists, each of which may be empty."""

    warnings: list[tuple[str, str]]  # and where each holds
    counted: tuple[str, ...]  # the warnings with counts instead of places
    not_tested: list[Skipped]
    skipped: tuple[Skipped, ...]  # of these, what the plan omitted
    void: list[Void]
    void_trials: int
    more: int = 0  # what the short form omits


def view(context: Context) -> View:
    plan, findings, layout, groups = context.plan, context.findings, context.layout, context.groups
    tables = results.cell_tables(findings, layout, groups, plan, context.complete)
    columns = [metric.name for table in tables for metric in table.metrics]
    shown = dict.fromkeys((*columns, *results.charted(context)))
    void = void_attempts(context.run.voided(), context.records, plan, layout)
    return View(
        [
            *warning_rows(findings.warnings, context.records, plan, layout),
            *partial_rows(findings, shown, layout, groups),
        ],
        findings.warnings,
        not_tested(plan, context.records, layout, running=context.run.status == RUNNING),
        plan.skipped,
        void,
        len({one.trial for one in void}),
    )


def shortened(view: View) -> View:
    """The first of each kind, and how many more there are."""
    kept, gaps = view.warnings[:BRIEF_MAX], view.not_tested[:BRIEF_MAX]
    more = len(view.warnings) + len(view.not_tested) - len(kept) - len(gaps)
    return replace(view, warnings=kept, not_tested=gaps, more=more)


def not_tested(
    plan: Plan, records: Sequence[TrialRecord], layout: Layout, *, running: bool = False
) -> list[Skipped]:
    """Skipped levels, claims this machine cannot test, blocks and trials that are missing, or that
    a run that is `running` has not come to."""
    found = [*plan.skipped]
    found += [Skipped(claim, why, "") for claim, why in plan.untested.items()]
    done = {r.id for r in records}
    absent = [t for t in plan.trials if t.id not in done]
    if absent:
        blocks = ", ".join(map(str, sorted({t.block for t in absent})))
        one = len(absent) == 1
        if running:
            why, fix = f"the run has not come to {'it' if one else 'them'} yet", ""
        else:
            why = f"the run ended before {'it was' if one else 'they were'} measured"
            fix = "dyno run --resume goes on where it stopped"
        found.append(Skipped(count(len(absent), "planned trial"), f"{why} (block {blocks})", fix))
    for r in records:
        if r.status != COMPLETE:
            where = layout.cell(plan.cells[r.cell].levels)
            found.append(Skipped(f"trial {r.id} ({where})", f"void: {r.void_reason}", ""))
    return found


def void_attempts(
    voided: Sequence[TrialRecord], records: Sequence[TrialRecord], plan: Plan, layout: Layout
) -> list[Void]:
    """Every attempt that was void, those that were repeated included, in the order of the plan."""
    status = {r.id: r.status for r in records}
    last = [r for r in records if r.status != COMPLETE]
    place = {trial.id: i for i, trial in enumerate(plan.trials)}
    found = []
    for r in sorted([*voided, *last], key=lambda r: (place[r.id], r.started_unix_s)):
        after = "repeated, then complete" if status.get(r.id) == COMPLETE else "never complete"
        where = layout.cell(plan.cells[r.cell].levels)
        found.append(Void(r.id, r.block, where, r.void_reason, after))
    return found


def warning_rows(
    findings_warnings: Sequence[str], records: Sequence[TrialRecord], plan: Plan, layout: Layout
) -> list[tuple[str, str]]:
    """(warning, where it holds), each kind once (texts that differ in numbers only are one kind,
    shown as its first), those of the whole run first."""
    own = {kind(text) for record in records for text in record.warnings}
    # The analysis repeats a trial's warning with a count; here it gets its cells instead.
    of_run = [t for t in dict.fromkeys(findings_warnings) if kind(t.partition(" [")[0]) not in own]
    rows = [(text, "") for text in of_run]
    texts: dict[str, dict[str, None]] = {}
    where: dict[str, dict[str, set[str]]] = {}
    for record in records:
        for text in record.warnings:
            if text not in of_run:
                cell = layout.cell(plan.cells[record.cell].levels)
                texts.setdefault(kind(text), {})[text] = None
                where.setdefault(kind(text), {}).setdefault(cell, set()).add(record.id)
    for key, cells in where.items():
        total = sum(len(trials) for trials in cells.values())
        places = "; ".join(
            f"{cell} ({count(len(t), 'trial')})" for cell, t in list(cells.items())[:4]
        )
        more = f"; {len(cells) - 4} more cells" if len(cells) > 4 else ""
        like = "this or like it in " if len(texts[key]) > 1 else ""
        rows.append((next(iter(texts[key])), f"{like}{count(total, 'trial')}: {places}{more}"))
    return rows


def partial_rows(
    findings: Findings, shown: Iterable[str], layout: Layout, groups: Sequence[str]
) -> list[tuple[str, str]]:
    """(warning, where it holds) of metrics that not all trials of a cell have: one a reason, for
    the `shown` ones only, in their order."""
    by_reason: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name in shown:
        for cell in findings.cells:
            if (one := cell.partial.get(name)) is None:
                continue
            reason = f"means of some trials only; the others: {one.why}" if one.of else one.why
            columns, cells = by_reason.setdefault(reason, ({}, {}))
            columns[names.describe(name, groups).column] = None
            cells[layout.cell(cell.levels)] = None
    rows = []
    for reason, (columns, cells) in by_reason.items():
        more = f"; {len(cells) - 4} more cells" if len(cells) > 4 else ""
        text = f"{numbers.listed(list(columns))}: {reason}"
        rows.append((text, f"{count(len(cells), 'cell')}: {'; '.join(list(cells)[:4])}{more}"))
    return rows


def form(view: View) -> Iterator[RenderableType]:
    if view.counted:
        yield Text()
    for warning in view.counted[:WARNINGS_MAX]:
        yield Text(f"warning: {visible(warning)}", style="yellow")
    if (more := len(view.counted) - WARNINGS_MAX) > 0:
        yield Text(f"{count(more, 'more warning')} in the report", style="yellow")
    if view.void:
        said = f"void: {count(len(view.void), 'attempt')} at {count(view.void_trials, 'trial')}"
        yield Text(f"{said}, the first since {visible(view.void[0].reason)}", style="yellow")
    for one in view.skipped:
        yield Text(f"not tested: {visible(one.what)} ({visible(one.why)})", style="dim")


SECTION = Section(view, "Warnings", terminal=120, brief=80, form=form, shortened=shortened)
