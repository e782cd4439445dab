"""A function over a range, as a plain line: no intervals, no points, since nothing was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from dbdyno.report.charts.scale import Axis, Scale, linear_ticks, log_ticks, magnitudes
from dbdyno.report.charts.svg import SERIES, Canvas, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

POINTS_MAX = 600  # that are drawn; a pixel shows no more
TIPS = 40  # places with a value under the pointer


def curve(
    x: Sequence[float],
    y: Sequence[float],
    *,
    title: str,
    unit: str,
    x_label: str,
    by_factors: bool,
    width: float,
    height: float,
    style: int = 0,
    mark: tuple[float, float] | None = None,
) -> Markup:
    """Draws it; gaps where `y` is not finite. `mark`: the point that was asked for."""
    there = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    values = [b for _, b in there]
    if mark is not None and not (math.isfinite(mark[1]) and x[0] <= mark[0] <= x[-1]):
        mark = None
    if mark is not None:
        values.append(mark[1])
    axis = _axis(values, 5 if height > 200 else 4)
    said = "; ".join(f"{sig3(b)} {unit} at {sig3(a)}" for a, b in (there[:1] + there[-1:]))
    canvas = Canvas(width, height, title, said)
    left = max(text_width(tick(value)) for value in axis.ticks) + 8
    places = Scale(x[0], x[-1], left + 8, width - 22, by_factors)
    up = Scale(axis.low, axis.high, height - 38, 26, axis.log)
    _frame(canvas, places, up, axis, unit, x_label)
    css = f"s{style % SERIES}"
    step = max(1, len(x) // POINTS_MAX)
    part: list[tuple[float, float]] = []
    for i in (*range(0, len(x) - 1, step), len(x) - 1):
        if math.isfinite(y[i]) and not (axis.log and y[i] <= 0):
            part.append((places(x[i]), up(y[i])))
        else:
            canvas.path(part, f"l {css}")
            part = []
    canvas.path(part, f"l {css}")
    _tips(canvas, x, y, places, up, unit)
    if mark is not None:
        tip = f"asked for: {sig3(mark[1])} {unit} at {sig3(mark[0])}"
        canvas.marker(places(mark[0]), up(mark[1]), style, tip, size=4.5)
    return canvas.render()


def _axis(values: Sequence[float], wanted: int) -> Axis:
    if not values:
        return Axis((0.0, 1.0))
    if min(values) < 0:
        reach = max(map(abs, values))
        ticks = linear_ticks(reach, max(2, wanted // 2))
        return Axis((*(-t for t in reversed(ticks[1:])), *ticks))
    axis = magnitudes(values, values, (), wanted)
    return axis if len(axis.ticks) > 1 else Axis((0.0, 1.0))


def _frame(canvas: Canvas, x: Scale, y: Scale, axis: Axis, unit: str, x_label: str) -> None:
    end = canvas.width - 14
    canvas.text(0, y.end - 14, axis.title(unit), "axis")
    for value in axis.ticks:
        canvas.line(x.start - 8, y(value), end, y(value), "zero" if value == axis.low else "grid")
        canvas.text(x.start - 14, y(value) + 4, tick(value), "tick", "end")
    if x.log:
        ticks = log_ticks(x.low, x.high)
    else:
        ticks = [v for v in linear_ticks(x.high, 6) if x.low <= v <= x.high]
    if len(ticks) < 2:
        ticks = [x.low, x.high]
    free = -1e9
    for value in ticks:
        wide = text_width(tick(value)) / 2
        if x(value) - wide > free + 6:
            canvas.text(x(value), y.start + 17, tick(value), "tick", "middle")
            free = x(value) + wide
    canvas.text((x.start + end) / 2, canvas.height - 4, x_label, "axis", "middle")


def _tips(
    canvas: Canvas, x: Sequence[float], y: Sequence[float], places: Scale, up: Scale, unit: str
) -> None:
    """Invisible columns that say the value under the pointer."""
    step = max(1, (len(x) - 1) // TIPS)
    wide = max(4.0, (places.end - places.start) / TIPS)
    for i in range(0, len(x), step):
        if math.isfinite(y[i]):
            tip = f"{sig3(x[i])}: {sig3(y[i])} {unit}".rstrip()
            canvas.rect(places(x[i]) - wide / 2, up.end, wide, up.start - up.end, "tip", tip)
