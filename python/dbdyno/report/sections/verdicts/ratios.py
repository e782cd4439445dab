"""Ratios to the baseline: a table of each metric over the levels of each factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.analysis.types import Comparison, Findings
from dbdyno.report.charts.dots import ratio_axis, ratio_dot
from dbdyno.report.charts.scale import ratio_range, reach
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout
from dbdyno.report.sections.verdicts.claims import CLAIMED, levels_note
from dbdyno.report.text import names
from dbdyno.report.text.names import Metric
from dbdyno.report.text.numbers import MISSING, change, edge, times

FIRST_METRICS = 3  # metrics whose table of ratios by the main factor is open, the others folded

PAIRED = "Compared within blocks: the geometric mean of each block's ratio, and its interval."
UNPAIRED = (
    "Unblocked: the ratio of the cells' geometric means over all runs, and its two-sample (Welch)"
    " interval."
)


@dataclass(frozen=True)
class View:
    """The tables, the headline's first, and how their ratios were made."""

    compared: str
    levels_note: str
    repeats: str
    tables: list[RatioTable]


def view(context: Context) -> View | None:
    """None if there is nothing to compare."""
    tables = ratio_tables(context.findings, context.layout, context.groups)
    if not tables:
        return None
    plan = context.plan
    compared = PAIRED if plan.paired else UNPAIRED
    return View(compared, levels_note(context.findings), f"{plan.repeats}s", tables)


@dataclass(frozen=True)
class RatioRow:
    """A cell against its baseline."""

    level: str
    baseline: str
    at: str
    ratio: str
    interval: str
    words: str
    blocks: int
    clear: bool  # the interval excludes 1
    dot: Markup


@dataclass(frozen=True)
class RatioTable:
    """Ratios of one metric over the levels of one factor, on one axis."""

    metric: Metric
    factor: str
    axis: Markup
    rows: tuple[RatioRow, ...]
    open: bool


def ratio_tables(findings: Findings, layout: Layout, groups: Sequence[str]) -> list[RatioTable]:
    """A table for each metric and factor, the headline and the main factor first."""
    found: dict[str, dict[str, list[Comparison]]] = {}
    for row in findings.comparisons:
        found.setdefault(row.metric, {}).setdefault(row.factor, []).append(row)
    main = [layout.main.name] if layout.main else []
    tables = []
    for i, name in enumerate(names.order(found, groups, findings.headline_metric)):
        metric = names.describe(name, groups)
        for factor in sorted(found[name], key=lambda factor: factor not in main):
            rows = found[name][factor]
            is_open = i < FIRST_METRICS and factor in (main or factor)
            tables.append(_ratio_table(metric, rows, layout, is_open))
    return tables


def _ratio_table(
    metric: Metric, rows: list[Comparison], layout: Layout, is_open: bool
) -> RatioTable:
    values = [
        v
        for row in rows
        for r in (row.ratio,)
        for v in (r.ratio, reach(r.ratio, r.ci_low), reach(r.ratio, r.ci_high))
        if v is not None and v > 0
    ]
    span = ratio_range(values)
    shown = tuple(_ratio_row(row, layout, span) for row in rows)
    return RatioTable(metric, layout.short(rows[0].factor), ratio_axis(span), shown, is_open)


def _ratio_row(row: Comparison, layout: Layout, span: tuple[float, float]) -> RatioRow:
    r = row.ratio
    clear = r.ci_low is not None and r.ci_high is not None and not r.ci_low <= 1 <= r.ci_high
    told = (1.0,) if clear else ()
    level = layout.level(row.factor, row.level)
    baseline = layout.level(row.factor, row.baseline)
    at = ", ".join(layout.level(name, value) for name, value in row.at.items())
    return RatioRow(
        level,
        baseline,
        at,
        times(r.ratio, *told),
        _interval(row),
        change(r.ratio)
        if clear
        else "no clear difference"
        if r.ci_low is not None
        else "not judged",
        r.n,
        clear,
        ratio_dot(
            r.ratio,
            r.ci_low,
            r.ci_high,
            span=span,
            css="clear" if clear else "undecided",
            width=200,
            title=f"{level} against {baseline}: {times(r.ratio, *told)}",
        ),
    )


def _interval(row: Comparison) -> str:
    low, high = row.ratio.ci_low, row.ratio.ci_high
    if low is None or high is None:
        return MISSING
    mark = f" {CLAIMED}" if row.claimed else ""
    return f"{edge(low, 1.0)}× to {edge(high, 1.0)}×{mark}"
