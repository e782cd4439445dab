"""A forest plot: a ratio a run with its interval, the area of the square its weight; below them the
combination as a diamond, and where a further run is expected as a bar. Logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.analysis.between_runs.pooling.model import Pooled
from dbdyno.report.charts.scale import Scale, log_ticks
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

ROW, TOP, BOTTOM = 24.0, 12.0, 30.0
NAME_MAX = 0.35  # of the width


@dataclass(frozen=True)
class Mark:
    """A run: its ratio, interval, and share of the weight."""

    name: str
    ratio: float
    low: float
    high: float
    weight: float


def forest(marks: Sequence[Mark], pooled: Pooled, *, title: str, width: float) -> Markup:
    """At least one mark; all numbers above zero."""
    centre, low, high = (math.exp(one) for one in (pooled.mean, pooled.low, pooled.high))
    ends = [math.exp(one) for one in pooled.predicted or (pooled.low, pooled.high)]
    values = [v for one in marks for v in (one.low, one.high)] + [1.0, low, high, *ends]
    span = (min(values) / 1.02, max(values) * 1.02)
    names = [plain(one.name) for one in marks]
    left = min(width * NAME_MAX, max(map(text_width, [*names, "combined"])) + 14)
    height = TOP + ROW * (len(marks) + 2) + BOTTOM
    said = f"{len(marks)} runs; combined {sig3(centre)} ({sig3(low)} to {sig3(high)})"
    canvas = Canvas(width, height, title, said)
    x = Scale(span[0], span[1], left, width - 130, True)
    bottom = height - BOTTOM
    for value in log_ticks(*span, 5):
        if span[0] <= value <= span[1]:
            canvas.line(x(value), TOP, x(value), bottom, "grid")
            canvas.text(x(value), height - 10, f"{tick(value)}×", "tick", "middle")
    canvas.line(x(1), TOP, x(1), bottom, "zero")
    y = TOP + ROW / 2
    for name, one in zip(names, marks, strict=True):
        canvas.text(0, y + 4, shorten(name, left - 10), "name")
        canvas.line(x(one.low), y, x(one.high), y, "w s0")
        half = 2 + 7 * math.sqrt(one.weight)
        canvas.rect(x(one.ratio) - half, y - half, 2 * half, 2 * half, "f s0")
        _value(canvas, y, one.ratio, one.low, one.high)
        y += ROW
    canvas.text(0, y + 4, "combined", "name")
    diamond = [(x(low), y), (x(centre), y - 7), (x(high), y), (x(centre), y + 7), (x(low), y)]
    canvas.path(diamond, "l s1")
    canvas.path(diamond, "f s1")
    _value(canvas, y, centre, low, high)
    if pooled.predicted:
        y += ROW
        canvas.text(0, y + 4, shorten("a further run", left - 10), "name")
        canvas.line(x(ends[0]), y, x(ends[1]), y, "w thick s1")
        canvas.text(width, y + 4, f"{sig3(ends[0])} to {sig3(ends[1])}", "value", "end")
    return canvas.render()


def _value(canvas: Canvas, y: float, ratio: float, low: float, high: float) -> None:
    text = f"{sig3(ratio)}× ({sig3(low)}-{sig3(high)})"
    canvas.text(canvas.width, y + 4, text, "value", "end")
