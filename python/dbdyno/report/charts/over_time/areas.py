"""Parts of a whole over time, one on the other: load by class of statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts.key import MARK, places
from dbdyno.report.charts.over_time.clock import clock_axis
from dbdyno.report.charts.scale import Scale, linear_ticks
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

SHADES = 8
FOOT = 26.0


@dataclass(frozen=True)
class Band:
    """A part: one value a step, none below 0."""

    label: str
    values: tuple[float, ...]


def areas(
    bands: Sequence[Band],
    *,
    begin_unix_s: float,
    step_s: float,
    title: str,
    unit: str,
    width: float,
    height: float = 220.0,
) -> Markup:
    """Draws the bands, the first at the bottom, with a key above if there are several; colour k
    belongs to band k, and only eight have their own."""
    names = [shorten(plain(one.label), 260) for one in bands] if len(bands) > 1 else []
    placed, above = places(names, width)
    tops = [sum(values) for values in zip(*(one.values for one in bands), strict=True)]
    ticks = linear_ticks(max(tops, default=0.0) or 1.0, 4)
    left = max(text_width(tick(value)) for value in ticks) + 8
    said = "; ".join(f"{one.label}: up to {sig3(max(one.values))} {unit}" for one in bands)
    canvas = Canvas(width, height + above, title, said)
    for i, (name, (x, y)) in enumerate(zip(names, placed, strict=True)):
        canvas.rect(x, y - 9, 10, 10, f"f k{i % SHADES}")
        canvas.text(x + MARK, y, shorten(name, width - x - MARK), "tick dark")
    y_of = Scale(ticks[0], ticks[-1], height + above - FOOT, above + 24)
    canvas.text(0, above + 11, unit, "axis")
    for value in ticks:
        canvas.line(left, y_of(value), width - 10, y_of(value), "grid" if value else "zero")
        canvas.text(left - 6, y_of(value) + 4, tick(value), "tick", "end")
    steps = len(tops)
    x_of = Scale(0, steps * step_s, left, width - 10)
    floor = [0.0] * steps
    for i, one in enumerate(bands):
        roof = [low + value for low, value in zip(floor, one.values, strict=True)]
        outline = _outline(roof, step_s, x_of, y_of) + _outline(floor, step_s, x_of, y_of)[::-1]
        canvas.path(outline, f"f k{i % SHADES}", close=True)
        floor = roof
    clock_axis(canvas, x_of, begin_unix_s, steps * step_s, height + above - 8)
    return canvas.render()


def _outline(
    values: Sequence[float], step_s: float, x: Scale, y: Scale
) -> list[tuple[float, float]]:
    """A line of steps."""
    points = []
    for i, value in enumerate(values):
        points += [(x(i * step_s), y(value)), (x((i + 1) * step_s), y(value))]
    return points
