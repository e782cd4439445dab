"""Ratios to the baseline: a table of each metric over the levels of each factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.types import Comparison, Findings
from dbdyno.report.charts.dots import ratio_axis, ratio_dot
from dbdyno.report.charts.scale import ratio_range, reach
from dbdyno.report.context import Context
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.report.sections.verdicts.claims import CLAIMED, NONE, levels_note
from dbdyno.report.text.table import ROWS_MAX, terminal_table
from dbdyno.wording import names
from dbdyno.wording.names import Metric
from dbdyno.wording.quantities import change, edge, times
from dbdyno.wording.visible import visible

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
    unjudged = _why(any(row.ratio.ci_low is not None for row in findings.comparisons))
    tables = []
    for i, name in enumerate(names.order(found, groups, findings.headline_metric)):
        metric = names.describe(name, groups)
        for factor in sorted(found[name], key=lambda factor: factor not in main):
            rows = found[name][factor]
            is_open = i < FIRST_METRICS and factor in (main or factor)
            tables.append(_ratio_table(metric, rows, layout, is_open, unjudged))
    return tables


def _why(judged: bool) -> Callable[[int], str]:
    """Words for a ratio without an interval, by its blocks: the reason, if others have one; else
    the head of the report says it once."""
    few = f"not judged: fewer than {BLOCKS_MIN} blocks"
    return lambda blocks: few if judged and blocks < BLOCKS_MIN else "not judged"


def _ratio_table(
    metric: Metric,
    rows: list[Comparison],
    layout: Layout,
    is_open: bool,
    unjudged: Callable[[int], str],
) -> RatioTable:
    values = [
        v
        for row in rows
        for r in (row.ratio,)
        for v in (r.ratio, reach(r.ratio, r.ci_low), reach(r.ratio, r.ci_high))
        if v is not None and v > 0
    ]
    span = ratio_range(values)
    shown = tuple(_ratio_row(row, layout, span, unjudged) for row in rows)
    return RatioTable(metric, layout.short(rows[0].factor), ratio_axis(span), shown, is_open)


def _ratio_row(
    row: Comparison,
    layout: Layout,
    span: tuple[float, float],
    unjudged: Callable[[int], str],
) -> RatioRow:
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
        else unjudged(r.n),
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
        return NONE
    mark = f" {CLAIMED}" if row.claimed else ""
    return f"{edge(low, 1.0)}× to {edge(high, 1.0)}×{mark}"


def form(view: View) -> Iterator[RenderableType]:
    yield from (Text(), _drawn(view.tables[0]))
    if view.levels_note:
        yield Text(view.levels_note, style="dim")


def _drawn(table: RatioTable) -> Table:
    """One line a ratio; what all lines share is in the title."""
    pairs = {(row.level, row.baseline) for row in table.rows}
    title = f"{table.metric.column}, by {table.factor}"
    columns: list[tuple[str, Callable[[RatioRow], str]]] = []
    if len(pairs) == 1:
        level, baseline = pairs.pop()
        title = f"{table.metric.column}, {visible(level)} against {visible(baseline)}"
    else:
        factor = f"{table.factor} "  # is in the title
        columns += [
            ("level", lambda row: row.level.removeprefix(factor)),
            ("against", lambda row: row.baseline.removeprefix(factor)),
        ]
    if any(row.at for row in table.rows):
        columns.append(("at", lambda row: row.at))
    shown = terminal_table(title)
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


def _words(row: RatioRow) -> str:
    """A ratio in a word or two; from 2 on it is unquoted."""
    if row.interval == NONE:
        return row.words  # not judged
    if not row.clear:
        return "not clear"
    return "higher" if row.words.endswith(" times as high") else row.words


SECTION = Section(view, "Ratios", terminal=100, form=form)
