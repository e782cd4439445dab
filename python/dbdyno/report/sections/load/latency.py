"""Latency distributions and heat maps of each cell, from the trials' histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from dbdyno.plan.types import Cell
from dbdyno.report.charts.over_time.heat import Heat, heat_map
from dbdyno.report.charts.percentiles import Distribution, latency_span, percentile_chart
from dbdyno.report.context import Context
from dbdyno.report.figures import SMALL, WIDE, Figure
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.report.trials.cells import CellLatency
from dbdyno.store.metrics.latency import Censored

POINTS = 110  # of a line: enough for a smooth one, small enough for a page of many
HEAT_MAX = 48  # maps in one report


@dataclass(frozen=True)
class View:
    """The section on latency; `latency_shift` and `classes` are in it."""

    repeats: str
    responses: bool  # whether any cell has response times
    distributions: list[Figure]
    heat: list[Figure]
    heat_all: int  # maps, of which `heat` are the first


def view(context: Context) -> View | None:
    """None without histograms."""
    cells, layout = context.trials.cells, context.layout
    distributions = _distributions(cells, context.plan.cells, layout)
    if not distributions:
        return None
    responses, heat = any(cell.responses for cell in cells), _heat(context)
    repeats = f"{context.plan.repeats}s"
    return View(repeats, responses, distributions, heat[:HEAT_MAX], len(heat))


def distribution(of: Censored, label: str, style: int, until_ms: float = math.inf) -> Distribution:
    """Latencies as a line of a percentile chart. Lower bounds are not drawn, nor what lies from
    `until_ms` on."""
    values, shares = of.ecdf(POINTS)
    points = tuple(
        (float(v) / 1e6, float(s))
        for v, s in zip(values, shares, strict=True)
        if float(v) / 1e6 < until_ms
    )
    return Distribution(label, style, points, of.all.count)


def _distributions(
    cells: Sequence[CellLatency], plan_cells: Sequence[Cell], layout: Layout
) -> list[Figure]:
    """Percentile charts: a panel for each level of the axis (and panel factors), a line a
    series."""
    panels: dict[tuple[str, ...], list[tuple[str, Distribution]]] = {}
    groups = {name for cell in cells for name in cell.groups}
    alone = len({layout.series_key(plan_cells[cell.cell].levels) for cell in cells}) == 1
    for cell in sorted(
        cells, key=lambda c: layout.styles[layout.series_key(plan_cells[c.cell].levels)]
    ):
        levels = plan_cells[cell.cell].levels
        over = (layout.x,) if layout.x else ()
        where = layout.label(levels, (*layout.panels, *over))
        key = layout.series_key(levels)
        for name in cell.groups:
            service = cell.service(name)
            label = layout.label(levels, layout.series) or name
            title = f"{name}{f', {where}' if where else ''}" if len(groups) > 1 else where
            order = [f.levels.index(levels[f.name]) for f in (*layout.panels, *over)]
            place = (name, *(f"{i:04d}" for i in order))
            style = layout.styles[key]
            response = cell.response(name)
            if response is None:
                line = distribution(service, label, style)
                panels.setdefault((*place, title), []).append((title, line))
                continue
            # Two lines a cell: in one chart where they are its only two, else in a chart each.
            until_ms = cell.at_least_ms.get(name, math.inf)
            for i, (what, of, end_ms) in enumerate(
                (("response", response, until_ms), ("service", service, math.inf))
            ):
                if alone:
                    line = distribution(of, what, style + i, end_ms)
                    panels.setdefault((*place, title), []).append((title, line))
                else:
                    headed = ", ".join(filter(None, (title, what)))
                    line = distribution(of, label, style, end_ms)
                    panels.setdefault((*place, str(i), headed), []).append((headed, line))
    span = latency_span([d for members in panels.values() for _, d in members])
    figures = []
    for key in sorted(panels):
        members = panels[key]
        title = members[0][0] or "All cells"
        draw = partial(_percentiles, [d for _, d in members], title, span)
        figures.append(
            Figure(title, "ms", f"latency-{title}", draw, SMALL if len(panels) > 1 else WIDE)
        )
    return figures


def _percentiles(
    lines: list[Distribution], title: str, span: tuple[float, float], width: float
) -> Markup:
    title = f"Latency by percentile, {title}"
    height = 360 if width == WIDE else 270
    return percentile_chart(lines, title=title, width=width, height=height, span=span)


def _heat(context: Context) -> list[Figure]:
    """A heat map a cell and group."""
    figures = []
    for cell in context.trials.cells:
        for name, heat in cell.heat.items():
            where = context.layout.cell(context.plan.cells[cell.cell].levels)
            title = f"{name}, {where}" if len(cell.heat) > 1 else where
            draw = partial(_heat_map, heat, title)
            figures.append(Figure(title, "ms", f"heat-{title}", draw, SMALL))
    return figures


def _heat_map(heat: Heat, title: str, width: float) -> Markup:
    return heat_map(heat, title=f"Latency over time, {title}", width=width, height=190)


SECTION = Section(view, "Latency")
