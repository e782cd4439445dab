"""The end of a run in the terminal: the answer, ratios with intervals, the claims, the path."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.types import Findings
from dbdyno.report import claims, layout, names, page, tables
from dbdyno.report.text import visible
from dbdyno.report.write import HTML
from dbdyno.store.run import Run

ROWS_MAX = 24  # of the table of ratios; the report has all of them
_STYLE = {"supported": "green", "refuted": "red", "undecided": "yellow", "untested": "dim"}


def terminal(run: Run, findings: Findings) -> RenderableType:
    """What `dyno run` prints at the end; print it with a rich Console (which honours NO_COLOR)."""
    plan = run.plan
    roles = layout.choose(plan, findings)
    groups = names.groups_of(plan)
    parts: list[RenderableType] = [Text(visible(plan.question or plan.name), style="bold"), Text()]
    if plan.quick or not findings.judged:
        parts += [Text(page.QUICK if plan.quick else page.TOO_FEW, style="bold yellow"), Text()]
    answer = f"{findings.caveat} {findings.answer}".strip()
    parts.append(Text(visible(answer)))
    if findings.why:
        parts.append(Text(f"Why: {visible(findings.why)}", style="dim"))
    compared = tables.ratio_tables(findings, roles, groups)
    if compared:
        parts += [Text(), _ratios(compared[0])]
    else:
        for table in tables.cell_tables(findings, roles, groups):
            parts += [Text(), _cells(table)]
    views = claims.views(plan, findings, roles)
    if views:
        parts += [Text(), _claims(views)]
    for warning in findings.warnings[:5]:
        parts.append(Text(f"warning: {visible(warning)}", style="yellow"))
    if len(findings.warnings) > 5:
        parts.append(
            Text(f"{len(findings.warnings) - 5} more warnings in the report", style="yellow")
        )
    for skipped in plan.skipped:
        parts.append(
            Text(f"not tested: {visible(skipped.what)} ({visible(skipped.why)})", style="dim")
        )
    parts += [Text(), Text(f"report: {run.path / HTML}", no_wrap=True, overflow="ignore")]
    return Group(*parts)


def _ratios(table: tables.RatioTable) -> Table:
    shown = Table(
        title=f"{table.metric.column}, by {table.factor}",
        title_justify="left",
        box=None,
        pad_edge=False,
        title_style="bold",
    )
    for name in ("level", "against", "at"):
        shown.add_column(name, overflow="fold")
    shown.add_column("ratio", justify="right")
    shown.add_column(f"{table.confidence} interval", justify="right")
    shown.add_column("in words")
    for row in table.rows[:ROWS_MAX]:
        style = "bold" if row.clear else ""
        shown.add_row(
            Text(visible(row.level)),
            Text(visible(row.baseline)),
            Text(visible(row.at)),
            Text(row.ratio, style=style),
            Text(row.interval),
            Text(row.words),
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
    for metric in table.metrics:
        shown.add_column(Text(visible(metric.short)), justify="right")
    for row in table.rows[:ROWS_MAX]:
        shown.add_row(*(Text(visible(v)) for v in row.levels), *(Text(v.mean) for v in row.values))
    return shown


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
        for part in claim.parts[: claims.SHOWN]:
            where = f"{part.at}: " if part.at and len(claim.parts) > 1 else ""
            mark = f"{part.mark} " if len(claim.parts) > 1 else ""
            body.append(
                f"\n{mark}{visible(where)}{part.brief if where else part.words}", style="dim"
            )
        if len(claim.parts) > claims.SHOWN:
            body.append(f"\n{len(claim.parts) - claims.SHOWN} more in the report", style="dim")
        if len(claim.parts) > 1 and claim.foot:
            body.append(f"\n({claim.foot})", style="dim")
        if claim.why:
            body.append(f"\n{visible(claim.why)}", style="dim")
        for warning in claim.warnings:
            body.append(f"\n{visible(warning)}", style="yellow")
        shown.add_row(verdict, body)
    return shown
