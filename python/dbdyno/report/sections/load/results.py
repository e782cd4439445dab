"""What each cell measured: the main numbers as tables, charts, and all numbers as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dbdyno.analysis.types import CellResult, Estimate, Findings
from dbdyno.experiment.claims.known_metrics import COST, OPEN, SEARCH
from dbdyno.experiment.claims.metrics import info, values_needed
from dbdyno.plan.types import Cell, Plan
from dbdyno.report.context import Context
from dbdyno.report.figures import SMALL, Figure, metric_figures, rate_figures
from dbdyno.report.layout import Layout, grouped
from dbdyno.report.section import Section
from dbdyno.report.sections.verdicts.claims import headline
from dbdyno.report.text.table import ROWS_MAX, terminal_table
from dbdyno.store.record import TrialRecord
from dbdyno.wording import hosts_text, names
from dbdyno.wording.names import Metric
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import bounded, interval
from dbdyno.wording.visible import visible

SAME = 5e-3  # relative: one operation a transaction, except for those in flight at the end


@dataclass(frozen=True)
class View:
    """The section on results; `counters` is in it."""

    name: str  # of the experiment, for the names of files
    repeats: str
    hosts: list[str]  # notes on the machines
    bounds: set[str]  # kinds of bounds among the numbers
    tables: list[CellTable]
    cells_csv: str
    trials_csv: str
    figures: list[Figure]
    multiples: list[Figure]  # small ones, of the other metrics


def view(context: Context) -> View:
    """Every run has results, if only the cells of its plan."""
    plan, findings, layout, groups = context.plan, context.findings, context.layout, context.groups
    multiples: list[Figure] = []
    for name in charted(context):
        metric = names.describe(name, groups)
        multiples += metric_figures(
            findings.cells, layout, metric, width=SMALL, sweeps=findings.sweeps
        )
    return View(
        plan.name,
        f"{plan.repeats}s",
        hosts_text.sentences(plan, [name for r in context.complete for name in r.metrics]),
        {one.bound for cell in findings.cells for one in cell.metrics.values()},
        cell_tables(findings, layout, groups, plan, context.complete),
        cells_csv(findings.cells, layout),
        trials_csv(context.records, plan, layout),
        headline(context)[1:] + rate_figures(findings.cells, plan, layout, groups),
        multiples,
    )


def charted(context: Context) -> list[str]:
    """Every known metric but the headline; one that was always zero is omitted."""
    findings, groups = context.findings, context.groups
    moving = {
        name
        for cell in findings.cells
        for name, estimate in cell.metrics.items()
        if any(estimate.values)
        and names.base_name(name, groups)[1] in names.KNOWN.keys() - names.UNCHARTED
    }
    moving -= {findings.headline_metric, *twins(findings, groups)}
    return names.order(moving, groups)


@dataclass(frozen=True)
class Value:
    """A number and its interval, as written; or why there is no number, which is `missing`."""

    mean: str
    interval: str = ""
    missing: bool = False


@dataclass(frozen=True)
class CellRow:
    """A line of the table of cells."""

    levels: tuple[str, ...]
    trials: int
    values: tuple[Value, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CellTable:
    """All cells, with the metrics that DBAs ask for first; one a group if there are several."""

    title: str
    factors: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: tuple[CellRow, ...]
    warnings: tuple[str, ...] = ()  # of all cells alike, if there are several


def cell_tables(
    findings: Findings,
    layout: Layout,
    groups: Sequence[str],
    plan: Plan,
    records: Sequence[TrialRecord],
) -> list[CellTable]:
    """The main tables, of which complete trials have `records`. A metric that was zero everywhere
    (errors) stays: that zero is a result."""
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
        return [_cell_table("", tuple(wanted), findings, layout, plan, records)]
    tables = []
    for i, group in enumerate(of_group):
        # What belongs to no group (CPU of the server) is in the first table.
        metrics = tuple(m for m in wanted if m.group == group or (i == 0 and not m.group))
        tables.append(_cell_table(group, metrics, findings, layout, plan, records))
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
    title: str,
    metrics: tuple[Metric, ...],
    findings: Findings,
    layout: Layout,
    plan: Plan,
    records: Sequence[TrialRecord],
) -> CellTable:
    of_cell: dict[int, list[TrialRecord]] = {}
    for record in records:
        of_cell.setdefault(record.cell, []).append(record)
    rows = [
        CellRow(
            tuple(grouped(cell.levels[f.name]) for f in layout.factors),
            cell.trials,
            tuple(
                _of_cell(cell, m, plan.cells[cell.index], of_cell.get(cell.index, ()))
                for m in metrics
            ),
            (*cell.warnings, *_partial(cell, metrics)),
        )
        for cell in findings.cells
    ]
    alike = _alike([row.warnings for row in rows])
    rows = [replace(r, warnings=tuple(w for w in r.warnings if w not in alike)) for r in rows]
    factors = tuple(layout.short(f.name) for f in layout.factors)
    return CellTable(title, factors, metrics, tuple(rows), alike)


def _alike(warnings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What all of several cells are warned of."""
    if len(warnings) < 2:
        return ()
    return tuple(one for one in warnings[0] if all(one in others for others in warnings))


def _of_cell(
    cell: CellResult, metric: Metric, planned: Cell, records: Sequence[TrialRecord]
) -> Value:
    """What the cell measured, or why it has no number."""
    if metric.name in cell.metrics:
        return _value(cell.metrics[metric.name])
    groups = [one for one in planned.groups if metric.group in ("", one.name)]
    known = info(metric.name)
    if not cell.trials:
        why = "no trial"
    elif not groups:
        why = "no such group"
    elif known.loop == OPEN and all(one.arrivals is None and one.find is None for one in groups):
        why = "closed loop"
    elif known.loop == SEARCH and all(one.find is None for one in groups):
        why = "no search"
    elif _too_few(metric, records):
        why = "too few operations"
    else:
        why = "not measured"
    return Value(why, missing=True)


def _too_few(metric: Metric, records: Sequence[TrialRecord]) -> bool:
    """Whether each trial of a cell committed too few transactions for a percentile: that is known
    where a trial has a throughput and a length."""
    prefix = f"{metric.group}." if metric.group else ""
    counts = [
        record.metrics[name] * (record.measured_s - (record.steady_from_s or 0.0))
        for record in records
        if (name := f"{prefix}transactions_per_s") in record.metrics and record.measured_s
    ]
    return len(counts) == len(records) > 0 and round(max(counts)) < values_needed(metric.name)


def _partial(cell: CellResult, metrics: Iterable[Metric]) -> list[str]:
    """What is not known for all trials, of the metrics that a table shows."""
    return [
        f"{one.column}: {cell.partial[one.name].sentence}"
        for one in metrics
        if one.name in cell.partial
    ]


def _value(estimate: Estimate) -> Value:
    if estimate.bound:
        return Value(bounded(sig3(estimate.mean), estimate.bound))
    low, high = estimate.ci_low, estimate.ci_high
    if low is None or high is None or low == high:
        return Value(sig3(estimate.mean))
    return Value(sig3(estimate.mean), interval(low, high))


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
    """Trials x metrics, wide form: one line a trial; metrics that are zero everywhere are
    omitted."""
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


def form(view: View) -> Iterator[RenderableType]:
    for table in view.tables:
        yield from (Text(), _drawn(table))


def _drawn(table: CellTable) -> Table:
    """The cells themselves, if there is nothing to compare them with."""
    shown = terminal_table(table.title)
    for factor in table.factors:
        shown.add_column(Text(visible(factor)), overflow="fold")
    kept = [i for i, metric in enumerate(table.metrics) if _fits(metric, table)]
    for i in kept:
        shown.add_column(Text(visible(table.metrics[i].short)), justify="right")
    for row in table.rows[:ROWS_MAX]:
        values = (Text(row.values[i].mean) for i in kept)
        shown.add_row(*(Text(visible(v)) for v in row.levels), *values)
    return shown


def _fits(metric: names.Metric, table: CellTable) -> bool:
    """Whether a column is shown: next to response times only the main one of service times, since a
    terminal is narrow."""
    if not any(".response_ms_" in f".{other.name}" for other in table.metrics):
        return True
    return not metric.name.endswith(("_ms_p50", "service_ms_p99"))


SECTION = Section(view, "Results", terminal=110, form=form)
