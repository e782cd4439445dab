"""Stretches of time with a name, a row each, below curves on the same time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dbdyno.report.charts.scale import Scale
from dbdyno.report.charts.svg import Canvas, shorten, text_width

ROW, BAR, WIDTH_MIN = 18.0, 12.0, 1.5


class Span(NamedTuple):
    """From `start` to `end`, in seconds."""

    label: str
    start: float
    end: float


def height(spans: Sequence[Span]) -> float:
    """Of all rows, with the room above them."""
    return len(spans) * ROW + 10 if spans else 0.0


def draw(canvas: Canvas, spans: Sequence[Span], x: Scale, top: float, right: float) -> None:
    """A bar a row, its words where they have more room: after it, or before it."""
    for number, span in enumerate(spans):
        y = top + 10 + number * ROW
        begin, end = x(span.start), x(span.end)
        canvas.rect(begin, y, max(WIDTH_MIN, end - begin), BAR, "span", span.label)
        after = right - end - 6
        size = text_width(span.label)
        if size <= after or after >= begin:
            canvas.text(end + 6, y + BAR - 2, shorten(span.label, after), "tick")
        else:
            canvas.text(begin - 6, y + BAR - 2, shorten(span.label, begin - 6), "tick", "end")
