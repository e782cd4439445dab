"""The end of a run in the terminal: the answer, the claims in a line or two each, one table of
ratios, the path of the report. To be read in ten seconds; the report has all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.types import Findings
from dbdyno.report import layout, page
from dbdyno.report.sections.load import results as tables
from dbdyno.report.sections.load import stalls
from dbdyno.report.sections.setting import tested
from dbdyno.report.sections.verdicts import claims, sweeps, versions
from dbdyno.report.text import names
from dbdyno.report.text.escaping import visible
from dbdyno.report.text.numbers import MISSING
from dbdyno.report.write import HTML
from dbdyno.store.run import Run
from dbdyno.wording.plurals import count

ROWS_MAX = 16  # of the table of ratios; the report has all of them
WARNINGS_MAX = 3
SWEEPS_MAX = 4
_STYLE = {"supported": "green", "refuted": "red", "undecided": "yellow", "untested": "dim"}


def terminal(run: Run, findings: Findings, to: Path | None = None) -> RenderableType:
    """What `dyno run` prints at the end; print it with a rich Console (which honours NO_COLOR).
    `to`: where the reports are, if not in the run's directory."""
    plan = run.plan
    roles = layout.choose(plan, findings)
    groups = names.groups_of(plan)
    parts: list[RenderableType] = [Text(visible(plan.question or plan.name), style="bold"), Text()]
    if loud := page.loud(plan, findings):
        parts += [Text(loud, style="bold yellow"), Text()]
    if compared_with := versions.view(plan, findings, run.records(), roles):
        parts += [_versions(compared_with), Text()]
    answer = f"{findings.caveat} {findings.answer}".strip()
    parts.append(Text(visible(answer)))
    if findings.why:
        parts.append(Text(f"Why: {visible(findings.why)}", style="dim"))
    if findings.moved_with:
        parts.append(Text(f"Moved with it: {visible(findings.moved_with)}", style="dim"))
    if findings.costs:
        parts.append(Text(visible(findings.costs.sentence)))
    if findings.tradeoff:
        parts.append(Text(visible(findings.tradeoff.sentence)))
    parts += [Text(line) for line in stalls.lines(plan, findings)]
    views = claims.views(plan, findings, roles)
    if views:
        parts += [Text(), _claims(views)]
        if findings.looking:
            parts.append(Text(findings.looking.sentence, style="dim"))
    if swept := sweeps.views(findings, roles):
        parts += [Text(), *_sweeps(swept)]
    compared = tables.ratio_tables(findings, roles, groups)
    if compared:
        parts += [Text(), _ratios(compared[0])]
        if note := claims.levels_note(findings):
            parts.append(Text(note, style="dim"))
    else:
        for table in tables.cell_tables(findings, roles, groups):
            parts += [Text(), _cells(table)]
    if findings.warnings:
        parts.append(Text())
    for warning in findings.warnings[:WARNINGS_MAX]:
        parts.append(Text(f"warning: {visible(warning)}", style="yellow"))
    if (more := len(findings.warnings) - WARNINGS_MAX) > 0:
        parts.append(Text(f"{count(more, 'more warning')} in the report", style="yellow"))
    if void := tested.void_attempts(run.voided(), run.records(), plan, roles):
        trials = count(len({one.trial for one in void}), "trial")
        said = f"void: {count(len(void), 'attempt')} at {trials}, the first since"
        parts.append(Text(f"{said} {visible(void[0].reason)}", style="yellow"))
    for skipped in plan.skipped:
        parts.append(
            Text(f"not tested: {visible(skipped.what)} ({visible(skipped.why)})", style="dim")
        )
    parts += [Text(), Text(f"report: {(to or run.path) / HTML}", no_wrap=True, overflow="ignore")]
    return Group(*parts)


def _versions(view: versions.VersionsView) -> RenderableType:
    """The verdict on the new version, and in what it differs from the base."""
    claim = view.claim
    head = Text(f"{claim.mark} {claim.verdict}", style=f"bold {_STYLE[claim.css]}")
    head.append(f"  {visible(view.sentence)}", style="default")
    if len(claim.parts) > 1:
        _parts(head, claim)
    head.append(f"\nBase: {visible(view.base)}. Differs in {visible(view.in_short)}.", style="dim")
    return head


def _sweeps(views: list[sweeps.SweepView]) -> list[Text]:
    """Peaks, knees and limits, a line each."""
    said = [
        Text(visible(": ".join(filter(None, [view.at, " ".join(view.sentences)]))))
        for view in views[:SWEEPS_MAX]
    ]
    if (more := len(views) - SWEEPS_MAX) > 0:
        said.append(Text(f"{count(more, 'more sweep')} in the report", style="dim"))
    return said


def _ratios(table: tables.RatioTable) -> Table:
    """One line a ratio; what all lines share stands in the title."""
    pairs = {(row.level, row.baseline) for row in table.rows}
    title = f"{table.metric.column}, by {table.factor}"
    columns: list[tuple[str, Callable[[tables.RatioRow], str]]] = []
    if len(pairs) == 1:
        level, baseline = pairs.pop()
        title = f"{table.metric.column}, {visible(level)} against {visible(baseline)}"
    else:
        factor = f"{table.factor} "  # stands in the title
        columns += [
            ("level", lambda row: row.level.removeprefix(factor)),
            ("against", lambda row: row.baseline.removeprefix(factor)),
        ]
    if any(row.at for row in table.rows):
        columns.append(("at", lambda row: row.at))
    shown = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False)
    for name, _ in columns:
        shown.add_column(name, overflow="fold")
    shown.add_column("ratio", justify="right")
    shown.add_column("interval", justify="right")
    shown.add_column("in words")
    for row in table.rows[:ROWS_MAX]:
        shown.add_row(
            *(Text(visible(of(row))) for _, of in columns),
            Text(row.ratio, style="bold" if row.clear else "dim"),
            Text(row.interval),
            Text(_words(row), style="" if row.clear else "dim"),
        )
    if len(table.rows) > ROWS_MAX:
        shown.caption = f"{len(table.rows) - ROWS_MAX} more rows in the report"
    return shown


def _cells(table: tables.CellTable) -> Table:
    """The cells themselves, where there is nothing to compare them with."""
    shown = Table(
        title=Text(visible(table.title), style="bold") if table.title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for factor in table.factors:
        shown.add_column(Text(visible(factor)), overflow="fold")
    kept = [i for i, metric in enumerate(table.metrics) if _fits(metric, table)]
    for i in kept:
        shown.add_column(Text(visible(table.metrics[i].short)), justify="right")
    for row in table.rows[:ROWS_MAX]:
        values = (Text(row.values[i].mean) for i in kept)
        shown.add_row(*(Text(visible(v)) for v in row.levels), *values)
    return shown


def _fits(metric: names.Metric, table: tables.CellTable) -> bool:
    """Whether a column is shown: beside response times only the main one of service times, since a
    terminal is narrow."""
    if not any(".response_ms_" in f".{other.name}" for other in table.metrics):
        return True
    return not metric.name.endswith(("_ms_p50", "service_ms_p99"))


def _claims(views: list[claims.ClaimView]) -> Table:
    shown = Table(
        title="Claims",
        title_justify="left",
        box=None,
        pad_edge=False,
        show_header=False,
        title_style="bold",
    )
    shown.add_column(max_width=18)
    shown.add_column(overflow="fold")
    for claim in views:
        style = _STYLE[claim.css]
        verdict = Text(f"{claim.mark} {claims.verdict_text(claim)}", style=style)
        body = Text(visible(claim.text))
        words = claim.parts[0].words if len(claim.parts) == 1 else ""
        if words and claim.css != "undecided":  # whose reason says its interval
            body.append(f"\n{visible(words)}", style="dim")
        elif len({part.verdict for part in claim.parts}) > 1:
            _parts(body, claim)
        if claim.why:
            body.append(f"\n{visible(_short(claim.why))}", style="dim")
        shown.add_row(verdict, body)
    return shown


def _words(row: tables.RatioRow) -> str:
    """A ratio in a word or two; from 2 on it stands for itself."""
    if row.interval == MISSING:
        return row.words  # not judged
    if not row.clear:
        return "not clear"
    return "higher" if row.words.endswith(" times as high") else row.words


def _parts(body: Text, claim: claims.ClaimView) -> None:
    """The parts of a claim whose verdicts differ; where all agree, the claim's says it."""
    for part in claim.parts[: claims.SHOWN]:
        body.append(f"\n{part.mark} {visible(part.at)}: {visible(part.brief)}", style="dim")
    if len(claim.parts) > claims.SHOWN:
        body.append(f"\n{len(claim.parts) - claims.SHOWN} more in the report", style="dim")


def _short(why: str) -> str:
    """A reason without what the report says of the run's reach."""
    return "; ".join(
        part for part in why.split("; ") if not part.startswith("with this much noise")
    )
