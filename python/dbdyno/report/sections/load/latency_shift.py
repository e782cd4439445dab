"""The section that compares two latency curves: a chart, and its numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.analysis.types import LatencyShift, Moved
from dbdyno.report.charts.ratios.latency_shift import Bar, shift_chart
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.section import Section
from dbdyno.wording.headlines import shift_text
from dbdyno.wording.numbers import percent
from dbdyno.wording.quantities import bounded, edge, times


@dataclass(frozen=True)
class Line:
    """A percentile as a row of the table."""

    name: str
    ratio: str
    interval: str


@dataclass(frozen=True)
class View:
    """The curves' ratio, as a chart and as a table."""

    title: str
    note: str
    said: str
    figure: Figure
    lines: tuple[Line, ...]
    missing: str


def view(context: Context) -> View | None:
    """The shift of the leading comparison, if there is one."""
    found, layout = context.findings.shift, context.layout
    if found is None:
        return None
    cells = {cell.index: cell for cell in context.plan.cells}
    left, right = cells[found.left].levels, cells[found.right].levels
    apart = tuple(f for f in layout.factors if left[f.name] != right[f.name])
    common = tuple(f for f in layout.factors if f not in apart)
    names = layout.label(left, apart), layout.label(right, apart)
    where = layout.label(left, common)
    several = len(cells[found.left].groups) > 1
    kind = f"{found.kind.capitalize()} time{f' of {found.group}' if several else ''}"
    title = f"{kind} by percentile: {names[0]} over {names[1]}{f', at {where}' if where else ''}"
    together, each = percent(found.level), percent(found.level_each)
    note = (
        f"Percentile of each trial, ratio within each of {found.blocks} blocks, their geometric"
        f" mean. The {len(found.moved)} intervals hold together at {together} (each at {each}), so"
        " each is wider than a claim's on one percentile."
    )
    bars = [_bar(one, together) for one in found.moved]
    up, down = f"{names[0]} is slower", f"{names[0]} is faster"

    def draw(width: float) -> Markup:
        return shift_chart(
            bars, title=f"{title}; together {together}", up=up, down=down, width=width
        )

    heading = f"{title} ({together} for all percentiles together)"
    return View(
        title,
        note,
        shift_text.sentence(found),
        Figure(heading, "ratio", "latency-shift", draw),
        tuple(_line(one) for one in found.moved),
        _missing(found),
    )


def _missing(found: LatencyShift) -> str:
    return f"Not compared: {found.missing}." if found.missing else ""


def _ratio(one: Moved) -> str:
    text = times(one.ratio)
    return bounded(text, one.bound) if one.bound else text


def _interval(one: Moved) -> str:
    if one.ci_low is None:
        return f"at most {edge(one.ci_high)}" if one.ci_high is not None else "open"
    if one.ci_high is None:
        return f"at least {edge(one.ci_low)}"
    return f"{edge(one.ci_low)} to {edge(one.ci_high)}"


def _line(one: Moved) -> Line:
    return Line(shift_text.name(one.quantile), _ratio(one), _interval(one))


def _bar(one: Moved, together: str) -> Bar:
    name = shift_text.name(one.quantile)
    tip = f"{name}: {_ratio(one)}, {_interval(one)} (all together {together})"
    return Bar(name, one.ratio, one.ci_low, one.ci_high, one.bound, tip)


SECTION = Section(view, inside="latency")
