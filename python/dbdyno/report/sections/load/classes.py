"""Latency by class of statement: where a transaction's time goes, and each class's percentiles.

From the class histograms (a line a trial in latency.hlog), merged over a cell's blocks. The bar is
the mean time that a committed transaction spent in each class: mean times number of statements,
over transactions. What the parts leave of a transaction's mean latency is time between statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.plan.types import Cell
from dbdyno.report.charts.stack import SHADES, Bar, stacked_bars
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.layout import Layout, grouped
from dbdyno.report.section import Section
from dbdyno.report.trials.cells import CellLatency
from dbdyno.store.metrics.histogram import Histogram
from dbdyno.wording.numbers import sig3

OTHER = "other"
QUANTILES = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
BEYOND = 10  # statements that must lie beyond a percentile for it to be given
TOO_FEW = "too few"


@dataclass(frozen=True)
class ClassRow:
    """One class in one cell; times in ms, as written."""

    levels: tuple[str, ...]
    name: str
    statements: str  # per transaction
    mean: str
    quantiles: tuple[str, ...]
    share: str  # of a transaction's statement time


@dataclass(frozen=True)
class Classes:
    """The statements of one group: a bar a cell, and the numbers behind it."""

    group: str
    factors: tuple[str, ...]
    figure: Figure
    rows: tuple[ClassRow, ...]


def view(context: Context) -> list[Classes] | None:
    """One a group whose transactions have at least two classes of statements; None without one."""
    cells, plan_cells, layout = context.trials.cells, context.plan.cells, context.layout
    groups = list(dict.fromkeys(name for cell in cells for name in cell.groups))
    found = []
    for group in groups:
        of_cell = {c.cell: _of(group, c) for c in cells if group in c.groups}
        if max((len(own) for own in of_cell.values()), default=0) < 2:
            continue
        transactions = {c.cell: c.groups[group].count for c in cells if group in c.groups}
        per_transaction = {
            index: {name: _total_ms(h) / transactions[index] for name, h in own.items()}
            for index, own in of_cell.items()
        }
        title = "Where a transaction's time goes"
        title = f"{group}: {title[0].lower()}{title[1:]}" if len(groups) > 1 else title
        rows = [
            row
            for index, own in of_cell.items()
            for row in _rows(plan_cells[index], own, transactions[index], layout)
        ]
        found.append(
            Classes(
                group if len(groups) > 1 else "",
                tuple(layout.short(f.name) for f in layout.factors),
                _figure(title, group, per_transaction, plan_cells, layout),
                tuple(rows),
            )
        )
    return found or None


def _of(group: str, cell: CellLatency) -> dict[str, Histogram]:
    prefix = f"{group}/"
    return {
        tag.removeprefix(prefix): histogram
        for tag, histogram in cell.classes.items()
        if tag.startswith(prefix)
    }


def _total_ms(histogram: Histogram) -> float:
    return (histogram.mean_ns() or 0.0) * histogram.count / 1e6


def _figure(
    title: str,
    group: str,
    by_cell: Mapping[int, Mapping[str, float]],
    plan_cells: Sequence[Cell],
    layout: Layout,
) -> Figure:
    weight: dict[str, float] = {}
    for own in by_cell.values():
        whole = sum(own.values()) or 1.0
        for name, value in own.items():
            weight[name] = weight.get(name, 0.0) + value / whole
    ranked = sorted(weight, key=lambda name: (-weight[name], name))
    kept = ranked if len(ranked) <= SHADES else ranked[: SHADES - 1]
    bars = []
    for index in sorted(by_cell, key=lambda index: layout.place(plan_cells[index].levels)):
        own = by_cell[index]
        parts = [(name, own.get(name, 0.0)) for name in kept]
        if len(kept) < len(ranked):
            parts.append((OTHER, sum(v for name, v in own.items() if name not in kept)))
        heading, label = layout.split(plan_cells[index].levels)
        bars.append(Bar(label, tuple(parts), heading))
    shown = [name for name, _ in bars[0].parts]

    def draw(width: float) -> Markup:
        return stacked_bars(bars, shown, title=title, width=width, unit="ms")

    return Figure(title, "ms", f"classes-{group}", draw)


def _rows(
    cell: Cell, own: Mapping[str, Histogram], transactions: int, layout: Layout
) -> list[ClassRow]:
    whole = sum(map(_total_ms, own.values())) or 1.0
    levels = tuple(grouped(cell.levels[f.name]) for f in layout.factors)
    return [
        ClassRow(
            levels,
            name,
            sig3(h.count / transactions),
            sig3((h.mean_ns() or 0.0) / 1e6),
            tuple(_quantile(h, q) for q, _ in QUANTILES),
            f"{100 * _total_ms(h) / whole:.0f} %",
        )
        for name, h in sorted(own.items(), key=lambda item: -_total_ms(item[1]))
    ]


def _quantile(histogram: Histogram, q: float) -> str:
    value = histogram.quantile_ns(q)
    if value is None or histogram.count * (1 - q) < BEYOND:
        return TOO_FEW
    return sig3(value / 1e6)


SECTION = Section(view, inside="latency")
