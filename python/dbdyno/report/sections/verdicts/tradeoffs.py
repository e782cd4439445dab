"""The trade-off between two metrics: a scatter of the cells, and which one beats which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.types import CellResult, Estimate
from dbdyno.report.charts.ratios.scatter import Dot, Extent, scatter
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.section import Section
from dbdyno.wording import names
from dbdyno.wording.visible import visible

WIDTH, HEIGHT = 640.0, 380.0


@dataclass(frozen=True)
class Row:
    """A cell, as written."""

    cell: str
    values: tuple[str, str]
    remark: str


@dataclass(frozen=True)
class View:
    """The section on trade-offs."""

    sentence: str
    judged: bool
    paired: bool
    columns: tuple[str, str]
    rows: tuple[Row, ...]
    figure: Figure


def view(context: Context) -> View | None:
    """None if there is no trade-off."""
    findings, plan, layout = context.findings, context.plan, context.layout
    found = findings.tradeoff
    if found is None:
        return None
    cells = {cell.index: cell for cell in findings.cells}
    known = [names.describe(metric, context.groups) for metric in found.metrics]
    titles = tuple(f"{one.short}" for one in known)
    rows, dots = [], []
    for point in found.points:
        label = layout.cell(plan.cells[point.cell].levels)
        x, y = (_extent(cells[point.cell], metric) for metric in found.metrics)
        front = point.beaten_by is None
        remark = "not shown to be beaten" if found.judged else ""
        if point.beaten_by is not None:
            by = layout.cell(plan.cells[point.beaten_by].levels)
            remark = f"beaten by {by}" + ("" if found.judged else " (by the means alone)")
        rows.append(Row(label, (str(x), str(y)), remark))
        dots.append(Dot(label, x, y, front))
    title = f"{titles[1]} against {titles[0]}"

    def draw(width: float) -> Markup:
        x_unit, y_unit = titles
        return scatter(dots, title=title, x_unit=x_unit, y_unit=y_unit, width=width, height=HEIGHT)

    figure = Figure(title, "", "trade-offs", draw, WIDTH)
    x_title, y_title = titles
    return View(found.sentence, found.judged, plan.paired, (x_title, y_title), tuple(rows), figure)


def _extent(cell: CellResult, metric: str) -> Extent:
    one: Estimate = cell.metrics[metric]
    return Extent(one.mean, one.ci_low, one.ci_high)


def form(view: View) -> Iterator[RenderableType]:
    yield Text(visible(view.sentence))


SECTION = Section(view, "Trade-offs", terminal=60, form=form)
