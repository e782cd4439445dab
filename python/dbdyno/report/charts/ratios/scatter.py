"""Two metrics against each other: a point a cell with its intervals."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts.scale import Axis, Scale, magnitudes
from dbdyno.report.charts.svg import Canvas, shorten, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import interval, tick


@dataclass(frozen=True)
class Extent:
    """A mean with its interval; None: not known."""

    mean: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return sig3(self.mean)
        return f"{sig3(self.mean)} ({interval(self.low, self.high)})"


@dataclass(frozen=True)
class Dot:
    """A cell. `front`: none is shown to beat it."""

    label: str
    x: Extent
    y: Extent
    front: bool


def scatter(
    dots: list[Dot], *, title: str, x_unit: str, y_unit: str, width: float, height: float
) -> Markup:
    """Draws the dots; those of the front filled and named."""
    x_axis, y_axis = (_axis([getattr(dot, at) for dot in dots]) for at in ("x", "y"))
    said = "; ".join(
        f"{dot.label}: {dot.x} {x_unit}, {dot.y} {y_unit}{'' if dot.front else ', beaten'}"
        for dot in dots
    )
    canvas = Canvas(width, height, title, said)
    left = max(text_width(tick(value)) for value in y_axis.ticks) + 8
    x = Scale(x_axis.low, x_axis.high, left + 8, width - 24, x_axis.log)
    y = Scale(y_axis.low, y_axis.high, height - 38, 26, y_axis.log)
    canvas.text(0, 12, y_axis.title(y_unit), "axis")
    for value in y_axis.ticks:
        canvas.line(left, y(value), width - 16, y(value), "zero" if value == y_axis.low else "grid")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    for value in x_axis.ticks:
        canvas.text(x(value), y.start + 17, tick(value), "tick", "middle")
    canvas.text((left + width) / 2, height - 4, x_axis.title(x_unit), "axis", "middle")
    for dot in sorted(dots, key=lambda dot: dot.front):
        _draw(canvas, dot, x, y, x_unit, y_unit)
    return canvas.render()


def _axis(extents: list[Extent]) -> Axis:
    means = [one.mean for one in extents]
    ends = [end for one in extents for end in (one.low, one.high) if end is not None]
    return magnitudes(means, means, ends, 5)


def _draw(canvas: Canvas, dot: Dot, x: Scale, y: Scale, x_unit: str, y_unit: str) -> None:
    style = 0 if dot.front else 7
    at = x(dot.x.mean), y(dot.y.mean)
    if dot.x.low is not None and dot.x.high is not None:
        canvas.line(x(dot.x.low), at[1], x(dot.x.high), at[1], f"w s{style}")
    if dot.y.low is not None and dot.y.high is not None:
        canvas.line(at[0], y(dot.y.low), at[0], y(dot.y.high), f"w s{style}")
    tip = f"{dot.label}: {dot.x} {x_unit}, {dot.y} {y_unit}"
    canvas.marker(*at, 0 if dot.front else 4, tip, hollow=not dot.front, size=4.5)
    if dot.front:
        beside = at[0] < canvas.width * 0.6
        label = shorten(dot.label, canvas.width * 0.35)
        shift = 9 if beside else -9
        canvas.text(at[0] + shift, at[1] - 7, label, "tick", "start" if beside else "end")
