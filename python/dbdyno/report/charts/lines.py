"""A metric against a numeric factor: lines with intervals and direct labels.

Each point is the mean over blocks with its 95 % interval; faint dots next to it are the single
trials.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.report.charts import key
from dbdyno.report.charts.scale import Axis, Scale, magnitudes, wants_log
from dbdyno.report.charts.svg import FONT, SERIES, Canvas, plain, shorten, spread, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import bounded, interval, tick


@dataclass(frozen=True)
class Point:
    """A mean with its interval (None: too few blocks) and the single trials behind it."""

    x: float
    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...] = ()
    bound: str = ""  # AT_LEAST or AT_MOST: the mean is one


@dataclass(frozen=True)
class Marks:
    """What is marked on a line: rings around the points at some levels, and a knee on the
    horizontal axis with the ends of its interval."""

    rings: frozenset[float] = frozenset()
    knee: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Series:
    """A line; `style` chooses colour and marker and is the same in every chart of a report."""

    label: str
    style: int
    points: tuple[Point, ...]
    marks: Marks = Marks()


def line_chart(
    series: list[Series],
    *,
    title: str,
    unit: str,
    x_label: str,
    x_levels: list[float],
    width: float,
    height: float,
    axis: Axis | None = None,
    log: bool | None = None,
) -> Markup:
    """Draws the chart; `axis` fixes the vertical axis so that neighbouring panels compare, `log`
    the kind of the horizontal one.

    Names are at the lines' ends if they fit there whole, else in a key above, which adds to
    `height`.
    """
    axis = axis or value_axis(series, 5 if height > 280 else 4)
    labels = [plain(one.label) for one in series]
    named = len(series) > 1
    beside = named and key.fits(labels, width)
    room = max((text_width(label) for label in labels), default=0) + 16
    right = room if beside else 18
    above = key.places(labels, width)[1] if named and not beside else 0.0
    height += above
    left = max(text_width(tick(value)) for value in axis.ticks) + 8
    canvas = Canvas(width, height, title, summary(series, unit, x_label))
    log = wants_log(x_levels) if log is None else log
    x_low, x_high = min(x_levels), max(x_levels)
    if not log:
        x_low = min(0.0, x_low) if x_low <= (x_high - x_low) else x_low
    x = Scale(x_low, x_high, left + 8, width - right - 8, log)
    y = Scale(axis.low, axis.high, height - 38, above + 26, axis.log)
    _frame(canvas, x, y, axis, x_levels, left, right, axis.title(unit), x_label)
    for i, one in enumerate(series):
        _knee(canvas, one, x, y, y.start - 4 - 4 * i, x_label)
    shift = _dodge(len(series))
    for i, one in enumerate(series):
        _draw(canvas, one, x, y, shift[i], unit, x_label)
    if beside:
        _labels(canvas, series, labels, x, y, room)
    elif named:
        key.line_key(canvas, labels, [one.style for one in series])
    return canvas.render()


def value_axis(series: list[Series], wanted: int = 5, *, queueing: bool = False) -> Axis:
    """The vertical axis that shows all of `series`. `queueing`: times that grow a thousandfold
    past some load, of which a linear axis would show only the end."""
    points = [p for one in series for p in one.points]
    others = [v for p in points for v in (p.low, p.high, *p.values) if v is not None]
    means = [p.mean for p in points]
    tops = [max(p.mean for p in one.points) for one in series if one.points]
    return magnitudes(means if queueing else tops, means, others, wanted)


def summary(series: list[Series], unit: str, x_label: str) -> str:
    """The chart in words, for screen readers."""
    said = []
    for one in series:
        ends = (one.points[0], one.points[-1]) if one.points else ()
        said.append(
            f"{one.label}: "
            + ", ".join(f"{_said(p)} {unit} at {sig3(p.x)} {x_label}" for p in ends)
            + (f", knee at {sig3(one.marks.knee[0])}" if one.marks.knee else "")
        )
    return "; ".join(said)


def _said(point: Point) -> str:
    return bounded(sig3(point.mean), point.bound)


def _frame(
    canvas: Canvas,
    x: Scale,
    y: Scale,
    axis: Axis,
    x_levels: list[float],
    left: float,
    right: float,
    unit: str,
    x_label: str,
) -> None:
    end = canvas.width - right
    canvas.text(0, y.end - 14, unit, "axis")
    for value in axis.ticks:
        canvas.line(left, y(value), end, y(value), "zero" if value == axis.low else "grid")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    free = -1e9
    for level in sorted(x_levels):
        wide = text_width(tick(level)) / 2
        if x(level) - wide > free + 4:
            canvas.text(x(level), y.start + 17, tick(level), "tick", "middle")
            free = x(level) + wide
    canvas.text((left + end) / 2, canvas.height - 4, x_label, "axis", "middle")


def _dodge(count: int) -> list[float]:
    """Sideways shift of each series in pixels, so that intervals at one level do not hide each
    other."""
    step = 3.0 if count <= 4 else 2.0
    return [(i - (count - 1) / 2) * step for i in range(count)]


def _draw(
    canvas: Canvas, one: Series, x: Scale, y: Scale, shift: float, unit: str, x_label: str
) -> None:
    css = f"s{one.style % SERIES}"
    canvas.path([(x(p.x) + shift, y(p.mean)) for p in one.points], f"l {css}")
    for p in one.points:
        px = x(p.x) + shift
        for value in p.values:
            canvas.rect(px - 1.2, y(value) - 1.2, 2.4, 2.4, f"f {css} faint")
        if p.low is not None and p.high is not None:
            canvas.line(px, y(p.low), px, y(p.high), f"w {css}")
            for end in (p.low, p.high):
                canvas.line(px - 3, y(end), px + 3, y(end), f"w {css}")
        if p.bound:
            py, away = y(p.mean), -1 if p.bound == AT_LEAST else 1
            canvas.line(px, py + 4 * away, px, py + 14 * away, f"w {css}")
            ends = [(px - 4, py + 10 * away), (px, py + 15 * away), (px + 4, py + 10 * away)]
            canvas.path(ends, f"l {css}")
        tip = f"{one.label}, {x_label} {sig3(p.x)}: {_said(p)} {unit}"
        if p.low is not None:
            tip += f" (95 % interval {interval(p.low, p.high)})"
        if p.x in one.marks.rings:
            canvas.marker(px, y(p.mean), one.style, tip, hollow=True, size=7)
        canvas.marker(px, y(p.mean), one.style, tip, size=3.4)


def _knee(canvas: Canvas, one: Series, x: Scale, y: Scale, row: float, x_label: str) -> None:
    """The knee as a dashed line up to the highest mean, its interval as a bar at `row`."""
    if one.marks.knee is None or not one.points:
        return
    css = f"s{one.style % SERIES}"
    knee, low, high = one.marks.knee
    top = max(p.mean for p in one.points)
    canvas.line(x(knee), y.start, x(knee), y(top), f"knee {css}")
    tip = f"{one.label}, knee at {sig3(knee)} {x_label} (95 % interval {interval(low, high)})"
    canvas.rect(x(low), row - 1.5, max(3.0, x(high) - x(low)), 3, f"f {css}", tip)


def _labels(
    canvas: Canvas, series: list[Series], labels: list[str], x: Scale, y: Scale, room: float
) -> None:
    ends = [(one.points[-1].x, one.points[-1].mean) if one.points else (0, 0) for one in series]
    placed = spread([y(mean) + 4 for _, mean in ends], FONT + 2.5, y.end + 4, y.start + 4)
    at = canvas.width - room + 6
    for one, label, (end_x, mean), label_y in zip(series, labels, ends, placed, strict=True):
        if not one.points:
            continue
        css = f"s{one.style % SERIES}"
        if abs(label_y - 4 - y(mean)) > 8 or x(end_x) < x.end - 12:
            canvas.line(x(end_x) + 12, y(mean), at - 3, label_y - 4, f"lead {css}")
        canvas.text(at, label_y, shorten(label, room - 6), f"name {css}")
