"""From findings to charts: which cells become which lines, rows and panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.analysis.types import CellResult, Estimate, Sweep
from dbdyno.experiment.workloads.arrivals import mean_rate_per_s
from dbdyno.plan.types import Cell, Plan
from dbdyno.report.charts.dots import Row, dot_chart, row_axis
from dbdyno.report.charts.lines import Marks, Point, Series, line_chart, value_axis
from dbdyno.report.charts.scale import Axis
from dbdyno.report.charts.svg import SERIES
from dbdyno.report.layout import Layout
from dbdyno.wording.names import Metric

WIDE, NARROW, SMALL = 680.0, 350.0, 352.0  # px: page, phone, one of two columns
RATES_MIN = 3  # fewer are no line
OFFERED = SERIES - 1  # the colour of what no series of a small report has
NONE = Marks()


@dataclass(frozen=True)
class Figure:
    """A chart, its title, and a file name for the download. It is drawn when it is shown, in as
    many widths (px) as its medium needs: Markdown and the terminal need none."""

    title: str
    note: str
    name: str
    draw: Callable[[float], Markup]
    width: float = WIDE

    @property
    def wide(self) -> Markup:
        return self.draw(self.width)

    @property
    def narrow(self) -> Markup:
        return self.draw(NARROW)


def metric_figures(
    cells: tuple[CellResult, ...],
    layout: Layout,
    metric: Metric,
    *,
    width: float = WIDE,
    sweeps: tuple[Sweep, ...] = (),
) -> list[Figure]:
    """Charts of a metric over all cells: one, or one a panel on a common axis. Of `sweeps`, peak
    and knee are marked."""
    panels: dict[tuple[str, ...], list[CellResult]] = {}
    for cell in cells:
        if metric.name in cell.metrics:
            panels.setdefault(layout.panel_key(cell.levels), []).append(cell)
    if not panels:
        return []
    axis = None
    if len(panels) > 1:
        parts = list(panels.values())
        axis = (
            row_axis([row for part in parts for row in _rows(part, layout, metric.name)])
            if layout.x is None
            else _line_axis(parts, layout, metric)
        )
    elif layout.x is not None and _queueing(metric):
        axis = _line_axis(list(panels.values()), layout, metric)
    figures = []
    for members in panels.values():
        where = layout.label(members[0].levels, layout.panels)
        title = f"{metric.heading}{f', {where}' if where else ''}"
        draw = _drawing(members, layout, metric, title, axis, sweeps)
        name = f"{metric.name}-{where}" if where else metric.name
        figures.append(Figure(title, metric.unit, name, draw, width))
    return figures


def _line_axis(parts: list[list[CellResult]], layout: Layout, metric: Metric) -> Axis:
    lines = [line for part in parts for line in _lines(part, layout, metric.name)]
    return value_axis(lines, queueing=_queueing(metric))


def _queueing(metric: Metric) -> bool:
    return ".response_ms_" in f".{metric.name}"


def _drawing(
    members: list[CellResult],
    layout: Layout,
    metric: Metric,
    title: str,
    axis: Axis | None,
    sweeps: tuple[Sweep, ...],
) -> Callable[[float], Markup]:
    if layout.x is None:
        rows = _rows(members, layout, metric.name)
        return lambda width: dot_chart(rows, title=title, unit=metric.unit, width=width, axis=axis)
    series = _lines(members, layout, metric.name, sweeps)
    levels = [*(layout.x.values or ())]
    return lambda width: line_chart(
        series,
        title=title,
        unit=metric.unit,
        x_label=layout.x_label,
        x_levels=levels,
        width=width,
        height=340 if width > 400 else 250,
        axis=axis,
    )


def _lines(
    members: list[CellResult], layout: Layout, name: str, sweeps: tuple[Sweep, ...] = ()
) -> list[Series]:
    found: dict[tuple[str, ...], list[Point]] = {}
    label: dict[tuple[str, ...], str] = {}
    marked: dict[tuple[str, ...], Marks] = {}
    for cell in members:
        key = layout.series_key(cell.levels)
        label[key] = layout.label(cell.levels, layout.series)
        marked[key] = _marks(sweeps, layout, name, cell.levels)
        found.setdefault(key, []).append(_point(layout.x_value(cell.levels), cell.metrics[name]))
    return [
        Series(
            label[key],
            layout.styles[key],
            tuple(sorted(found[key], key=lambda p: p.x)),
            marked[key],
        )
        for key in sorted(found, key=lambda key: layout.styles[key])
    ]


def _marks(
    sweeps: tuple[Sweep, ...], layout: Layout, metric: str, levels: Mapping[str, str]
) -> Marks:
    """The marks on the line through the cell with these levels."""
    if layout.x is None:
        return NONE
    at = {name: level for name, level in levels.items() if name != layout.x.name}
    for sweep in sweeps:
        if (sweep.factor, sweep.metric) == (layout.x.name, metric) and dict(sweep.at) == at:
            rings = frozenset(sweep.peak_levels) if told_apart(sweep) else frozenset()
            if sweep.knee is None or sweep.knee_low is None or sweep.knee_high is None:
                return Marks(rings)
            return Marks(rings, (sweep.knee, sweep.knee_low, sweep.knee_high))
    return NONE


def told_apart(sweep: Sweep) -> bool:
    """Whether some level is not among the best: where all are, marking them means nothing."""
    return len(sweep.peak_levels) < len(sweep.cells)


def _point(x: float, estimate: Estimate) -> Point:
    e = estimate
    return Point(x, e.mean, e.ci_low, e.ci_high, e.values, e.bound)


def _rows(members: list[CellResult], layout: Layout, name: str) -> list[Row]:
    """Rows with the main factor innermost, since its levels are what is compared."""
    main = layout.main
    others = tuple(f for f in layout.factors if f is not main and f not in layout.panels)

    def key(cell: CellResult) -> list[int]:
        order = [*others, main] if main else []
        return [f.levels.index(cell.levels[f.name]) for f in order if f]

    rows = []
    for cell in sorted(members, key=key):
        estimate = cell.metrics[name]
        style = main.levels.index(cell.levels[main.name]) if main else 0
        inner = layout.level(main.name, cell.levels[main.name]) if main else "all trials"
        rows.append(
            Row(
                layout.label(cell.levels, others),
                inner,
                style,
                estimate.mean,
                estimate.ci_low,
                estimate.ci_high,
                estimate.values,
                estimate.bound,
            )
        )
    return rows


def rate_figures(
    cells: Sequence[CellResult], plan: Plan, layout: Layout, groups: Sequence[str]
) -> list[Figure]:
    """Achieved against offered rate, a chart a group that was driven at several rates.

    What was offered is the line on which a system that keeps up stays.
    """
    figures = []
    for group in groups:
        prefix = f"{group}." if len(groups) > 1 else ""
        lines: dict[tuple[str, ...], list[Point]] = {}
        label: dict[tuple[str, ...], str] = {}
        for cell in cells:
            offered_per_s = _offered(plan.cells[cell.index], group)
            done = cell.metrics.get(f"{prefix}transactions_per_s")
            if offered_per_s is None or done is None:
                continue
            others = tuple(f for f in layout.factors if not _is_rate(f.name))
            key = tuple(cell.levels[f.name] for f in others)
            label[key] = layout.label(cell.levels, others) or "achieved"
            point = Point(offered_per_s, done.mean, done.ci_low, done.ci_high, done.values)
            lines.setdefault(key, []).append(point)
        offered = sorted({point.x for points in lines.values() for point in points})
        if max((len(points) for points in lines.values()), default=0) < RATES_MIN:
            continue
        series = [Series("offered", OFFERED, tuple(Point(x, x, None, None) for x in offered))]
        for style, (key, points) in enumerate(lines.items()):
            ordered = tuple(sorted(points, key=lambda point: point.x))
            series.append(Series(label[key], style % OFFERED, ordered))
        title = "Offered and achieved rate" + (f", {group}" if prefix else "")
        draw = _rate_drawing(series, title, offered)
        figures.append(Figure(title, "transactions/s", f"rate-{group}", draw))
    return figures


def _rate_drawing(
    series: list[Series], title: str, offered: list[float]
) -> Callable[[float], Markup]:
    return lambda width: line_chart(
        series,
        title=title,
        unit="transactions/s",
        x_label="offered, transactions/s",
        x_levels=offered,
        log=False,
        width=width,
        height=340 if width > 400 else 250,
    )


def _is_rate(factor: str) -> bool:
    return factor.rpartition(".")[2] == "rate"


def _offered(cell: Cell, name: str) -> float | None:
    """The rate asked of a group, on average; None if it has none of its own."""
    group = next(group for group in cell.groups if group.name == name)
    if group.arrivals is None:
        return None
    return mean_rate_per_s(group.arrivals, cell.duration_s)
