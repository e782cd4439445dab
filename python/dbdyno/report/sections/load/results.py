"""The tables of a report, and the same as CSV."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from dbdyno.analysis.types import CellResult, Comparison, Estimate, Findings
from dbdyno.experiment.claims.metrics import COST
from dbdyno.plan.types import Plan
from dbdyno.report.charts.dots import ratio_axis, ratio_dot
from dbdyno.report.charts.scale import ratio_range, reach
from dbdyno.report.layout import Layout, grouped
from dbdyno.report.sections.verdicts.claims import CLAIMED
from dbdyno.report.text import names
from dbdyno.report.text.names import Metric
from dbdyno.report.text.numbers import MISSING, bounded, change, edge, interval, sig3, times
from dbdyno.store.record import TrialRecord

FIRST_METRICS = 3  # metrics whose table of ratios by the main factor is open, the others folded

SAME = 5e-3  # relative: one operation a transaction, but for those in flight at the end


@dataclass(frozen=True)
class Value:
    """A number and its interval, as written."""

    mean: str
    interval: str


@dataclass(frozen=True)
class CellRow:
    """A line of the table of cells."""

    levels: tuple[str, ...]
    trials: int
    values: tuple[Value, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CellTable:
    """All cells, with the metrics that DBAs ask for first; one a group where there are several."""

    title: str
    factors: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: tuple[CellRow, ...]


def cell_tables(findings: Findings, layout: Layout, groups: Sequence[str]) -> list[CellTable]:
    """The main tables. A metric that was zero everywhere (errors) stays: that zero is a result."""
    measured = {name for cell in findings.cells for name in cell.metrics}
    wanted = [
        names.describe(name, groups)
        for name in names.order(measured, groups, findings.headline_metric)
        if names.base_name(name, groups)[1] in names.TABLE or name == findings.headline_metric
    ]
    same = twins(findings, groups)
    open_loops = {m.group for m in wanted if "response_ms_" in m.name}
    wanted = [
        replace(m, short=f"service {m.short}")
        if "service_ms_" in m.name and m.group in open_loops
        else m
        for m in wanted
        if m.name not in same
    ]
    of_group = list(dict.fromkeys(m.group for m in wanted if m.group))
    if not of_group:
        return [_cell_table("", tuple(wanted), findings, layout)]
    tables = []
    for i, group in enumerate(of_group):
        # What belongs to no group (CPU of the server) stands in the first table.
        metrics = tuple(m for m in wanted if m.group == group or (i == 0 and not m.group))
        tables.append(_cell_table(group, metrics, findings, layout))
    return tables


def twins(findings: Findings, groups: Sequence[str]) -> frozenset[str]:
    """Throughputs that say what another says: where each transaction is one operation, qps and tps
    are one number, and the one that the report leads with (else tps) stays."""
    found = set()
    for group in groups or ("",):
        prefix = f"{group}." if len(groups) > 1 else ""
        tps, qps = f"{prefix}transactions_per_s", f"{prefix}operations_per_s"
        cells = [c.metrics for c in findings.cells if tps in c.metrics and qps in c.metrics]
        if cells and all(math.isclose(c[tps].mean, c[qps].mean, rel_tol=SAME) for c in cells):
            leads = findings.headline_metric in (qps, f"{COST}operations")
            found.add(tps if leads else qps)
            if len(groups) <= 1:  # the cost of several groups is that of all together
                found.add(f"{COST}{'transactions' if leads else 'operations'}")
    return frozenset(found) & {name for cell in findings.cells for name in cell.metrics}


def _cell_table(
    title: str, metrics: tuple[Metric, ...], findings: Findings, layout: Layout
) -> CellTable:
    rows = tuple(
        CellRow(
            tuple(grouped(cell.levels[f.name]) for f in layout.factors),
            cell.trials,
            tuple(_value(cell.metrics.get(m.name)) for m in metrics),
            (*cell.warnings, *_partial(cell, metrics)),
        )
        for cell in findings.cells
    )
    return CellTable(title, tuple(layout.short(f.name) for f in layout.factors), metrics, rows)


def _partial(cell: CellResult, metrics: Iterable[Metric]) -> list[str]:
    """What is not known of all trials, of the metrics that a table shows."""
    return [
        f"{one.column}: {cell.partial[one.name].sentence}"
        for one in metrics
        if one.name in cell.partial
    ]


def _value(estimate: Estimate | None) -> Value:
    if estimate is None:
        return Value(MISSING, "")
    if estimate.bound:
        return Value(bounded(sig3(estimate.mean), estimate.bound), "")
    low, high = estimate.ci_low, estimate.ci_high
    if low is None or high is None or low == high:
        return Value(sig3(estimate.mean), "")
    return Value(sig3(estimate.mean), interval(low, high))


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


def cells_csv(cells: Sequence[CellResult], layout: Layout) -> str:
    """Cells x metrics, long form: one line a cell and metric."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    factors = [f.name for f in layout.factors]
    writer.writerow([*factors, "metric", "mean", "ci_low", "ci_high", "blocks", "bound"])
    for cell in cells:
        levels = [_safe(cell.levels[name]) for name in factors]
        for name, e in sorted(cell.metrics.items()):
            row = [_number(e.mean), _number(e.ci_low), _number(e.ci_high), len(e.values)]
            row.append(e.bound)
            writer.writerow([*levels, _safe(name), *row])
    return out.getvalue()


def trials_csv(records: Sequence[TrialRecord], plan: Plan, layout: Layout) -> str:
    """Trials x metrics, wide form: one line a trial; metrics that are zero everywhere are left
    out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    factors = [f.name for f in layout.factors]
    columns = sorted({name for r in records for name, v in r.metrics.items() if v != 0})
    writer.writerow(["trial", "block", "status", "started_unix_s", *factors, *map(_safe, columns)])
    for r in records:
        levels = [_safe(plan.cells[r.cell].levels[name]) for name in factors]
        values = [_number(r.metrics.get(name)) for name in columns]
        writer.writerow([r.id, r.block, r.status, f"{r.started_unix_s:.3f}", *levels, *values])
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _safe(text: str) -> str:
    """A cell that a spreadsheet will not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def data_link(text: str, kind: str) -> str:
    """A data: URL of a file."""
    encoded = base64.b64encode(text.encode()).decode("ascii")
    return f"data:{kind};charset=utf-8;base64,{encoded}"
