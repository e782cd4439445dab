"""The end of `dyno try` in the terminal: a line a variant, the ratios to the first one with a
verdict each, the answer, where the report is."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.types import SAME, UNDECIDED, Comparison, Estimate
from dbdyno.plan import level_text
from dbdyno.report.context import Context
from dbdyno.report.sections.setting import warnings
from dbdyno.report.sections.verdicts import answer
from dbdyno.report.text.table import ROWS_MAX
from dbdyno.wording import names, numbers
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import bounded, edge, times
from dbdyno.wording.verdicts import ratio_text
from dbdyno.wording.visible import visible

METRICS = ("transactions_per_s", "mib_per_s", "service_ms_p95")
COMPARED = ("transactions_per_s", "service_ms_p95")
_STYLE = {UNDECIDED: "yellow", SAME: "dim", ratio_text.NOT_JUDGED: "dim"}


def ending(context: Context, views: Mapping[str, Any], report: Path) -> RenderableType:
    """All of it; `views` of the sections by their names."""
    parts: list[RenderableType] = [_variants(context)]
    if rows := _compared(context):
        parts += [Text(), _ratios(context, rows)]
    parts.append(Text())
    for name, form in (("answer", answer.form), ("warnings", warnings.form)):
        if name in views:
            parts += form(views[name])
    path = Text(f"report: {report}", no_wrap=True, overflow="ignore")
    return Group(*parts, Text(), path)


def _variants(context: Context) -> Table:
    """Mean of each cell, and its spread from block to block."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    measured = {name for cell in context.findings.cells for name in cell.metrics}
    shown = [name for name in METRICS if name in measured]
    for name in shown:
        table.add_column(names.describe(name, context.groups).column, justify="right", no_wrap=True)
        table.add_column("±", justify="right", no_wrap=True)
    table.add_column("trials", justify="right")
    for cell in context.findings.cells:
        where = level_text.levels(context.plan, cell.levels) or context.plan.name
        values = [text for name in shown for text in _value(cell.metrics.get(name))]
        table.add_row(Text(visible(where)), *values, str(cell.trials))
    return table


def _value(estimate: Estimate | None) -> tuple[str, str]:
    if estimate is None:
        return "not measured", ""
    values = estimate.values
    spread = ""
    if len(values) > 1 and estimate.mean > 0 and not estimate.bound:
        spread = numbers.spread(statistics.stdev(values) / statistics.fmean(values))
    return bounded(sig3(estimate.mean), estimate.bound), spread


def _compared(context: Context) -> list[Comparison]:
    """The levels of the first factor against its first one, by metric."""
    factor = next((one.name for one in context.plan.factors if len(one.levels) > 1), "")
    rows = [row for row in context.findings.comparisons if row.factor == factor]
    return [row for name in COMPARED for row in rows if row.metric == name]


def _ratios(context: Context, rows: list[Comparison]) -> Table:
    plan = context.plan
    baseline = level_text.level(plan, rows[0].factor, rows[0].baseline)
    title = Text(visible(f"Against {baseline}, within blocks"), style="bold")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("", "of", "ratio", "interval", "verdict"):
        table.add_column(name, justify="right" if name in ("ratio", "interval") else "left")
    for row in rows[:ROWS_MAX]:
        where = {row.factor: row.level, **row.at}
        verdict = ratio_text.verdict(row.metric, row.ratio, plan.matters)
        table.add_row(
            Text(visible(level_text.levels(plan, where))),
            names.describe(row.metric, context.groups).column,
            *_numbers(row),
            Text(verdict, style=_STYLE.get(verdict, "green")),
        )
    if len(rows) > ROWS_MAX:
        table.caption = f"{count(len(rows) - ROWS_MAX, 'more row')} in the report"
    return table


def _numbers(row: Comparison) -> Iterator[str]:
    one = row.ratio
    yield times(one.ratio, 1.0)
    if one.ci_low is None or one.ci_high is None:
        yield "none"  # the verdict says that it is not judged
    else:
        yield f"{edge(one.ci_low, 1.0)}× to {edge(one.ci_high, 1.0)}×"
