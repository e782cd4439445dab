"""Ratios of percentiles with their intervals: a bar a percentile, a logarithmic axis of ratios."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.report.charts.scale import Scale, log_ticks, ratio_range
from dbdyno.report.charts.svg import Canvas, shorten, text_width
from dbdyno.wording.quantities import tick


@dataclass(frozen=True)
class Bar:
    """A percentile's ratio; an end that is None is open. `tip`: all of it in words."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    bound: str
    tip: str


def shift_chart(bars: list[Bar], *, title: str, up: str, down: str, width: float) -> Markup:
    """`up` and `down`: what ratios above and below 1 mean."""
    height = 250.0
    ends = [v for b in bars for v in (b.ratio, b.low, b.high) if v is not None and v > 0]
    low, high = ratio_range(ends)
    ticks = sorted({1.0, *log_ticks(low, high, 5)})
    left = max(text_width(f"{tick(v)}×") for v in ticks) + 8
    canvas = Canvas(width, height, title, "; ".join(b.tip for b in bars))
    y = Scale(low, high, height - 40, 26, True)
    canvas.text(left, 14, shorten(f"above 1×: {up}; below: {down}", width - left), "axis")
    free = height
    for value in ticks:
        if not low <= value <= high:
            continue
        canvas.line(left, y(value), width, y(value), "zero" if value == 1 else "grid")
        if value == 1 or (free - y(value) > 14 and abs(y(value) - y(1)) > 14):
            canvas.text(left - 6, y(value) + 4, f"{tick(value)}×", "tick", "end")
            free = y(value) if value != 1 else free
    step = (width - left) / len(bars)
    for place, bar in enumerate(bars):
        x = left + (place + 0.5) * step
        _bar(canvas, bar, x, y)
        canvas.text(x, height - 22, bar.name, "tick", "middle")
    canvas.text(left + (width - left) / 2, height - 4, "percentile", "axis", "middle")
    return canvas.render()


def _bar(canvas: Canvas, bar: Bar, x: float, y: Scale) -> None:
    bottom = y(bar.low) if bar.low else y.start
    top = y(bar.high) if bar.high else y.end
    canvas.line(x, bottom, x, top, "w s0")
    for end, value in ((bottom, bar.low), (top, bar.high)):
        if value:
            canvas.line(x - 6, end, x + 6, end, "w s0")
    if bar.bound:
        end, away = (top, 1) if bar.bound == AT_LEAST else (bottom, -1)
        canvas.path([(x - 4, end + 6 * away), (x, end), (x + 4, end + 6 * away)], "l s0")
    canvas.marker(x, y(bar.ratio), 0, bar.tip)
