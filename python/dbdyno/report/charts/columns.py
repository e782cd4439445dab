"""Amounts as columns: by time, by degree of concurrency, by duration."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dbdyno.report.charts.over_time.clock import clock_axis
from dbdyno.report.charts.scale import Scale, linear_ticks
from dbdyno.report.charts.svg import Canvas, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

FOOT = 26.0


def columns(
    values: Sequence[float],
    labels: Sequence[str] = (),
    *,
    title: str,
    unit: str,
    width: float,
    height: float = 150.0,
    shade: int = 0,
    begin_unix_s: float | None = None,
    step_s: float = 1.0,
) -> Markup:
    """A column a value, `labels` below as far as there is room; with `begin_unix_s` the clock's
    time instead, each column `step_s` long."""
    ticks = linear_ticks(max(values, default=0.0) or 1.0, 3)
    left = max(text_width(tick(value)) for value in ticks) + 8
    shown = [f"{name} {sig3(value)}" for name, value in zip(labels, values, strict=False) if value]
    said = ", ".join(shown[:40]) or f"up to {sig3(max(values, default=0.0))} {unit}"
    canvas = Canvas(width, height, title, said)
    y = Scale(ticks[0], ticks[-1], height - FOOT, 24)
    canvas.text(0, 11, unit, "axis")
    for value in ticks:
        canvas.line(left, y(value), width - 10, y(value), "grid" if value else "zero")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    wide = (width - 10 - left) / max(1, len(values))
    gap = 2.0 if wide > 6 else 0.0
    free = -1e9
    for i, value in enumerate(values):
        if value > 0:
            top = min(y(value), y.start - 1.5)
            name = f"{labels[i]}: " if i < len(labels) else ""
            place = left + i * wide
            tip = f"{name}{sig3(value)} {unit}"
            canvas.rect(place, top, max(0.6, wide - gap), y.start - top, f"f k{shade}", tip)
        if i < len(labels):
            middle, half = left + (i + 0.5) * wide, text_width(labels[i]) / 2
            if middle - half > free + 6 and middle + half <= width:
                canvas.text(middle, height - 8, labels[i], "tick", "middle")
                free = middle + half
    if begin_unix_s is not None:
        x = Scale(0, len(values) * step_s, left, width - 10)
        clock_axis(canvas, x, begin_unix_s, len(values) * step_s, height - 8)
    return canvas.render()
