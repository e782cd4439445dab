"""Latency by percentile: a line a cell, both axes logarithmic.

The horizontal axis is -log10(1 - q), so that 90 %, 99 % and 99.9 % are equally far apart and the
tail, which an ECDF squeezes into its last pixel, is readable (the form that Gil Tene's HdrHistogram
plots made common). A line ends where fewer than ten operations lie beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts import key
from dbdyno.report.charts.scale import Scale, log_ticks
from dbdyno.report.charts.svg import FONT, SERIES, Canvas, plain, shorten, spread, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

NINES = (
    (0.0, "0"),
    (0.5, "50"),
    (0.9, "90"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
)
LEAST = 0.02  # the luckiest few would stretch the axis and say nothing
BEYOND = 10  # operations that must lie beyond a percentile for it to be drawn


@dataclass(frozen=True)
class Distribution:
    """Latencies of one cell merged over its blocks: ascending (ms, share at or below)."""

    label: str
    style: int
    points: tuple[tuple[float, float], ...]
    count: int


def drawn(one: Distribution) -> list[tuple[float, float]]:
    """(nines, ms) of the part of the line that enough operations support."""
    limit = 1 - BEYOND / one.count if one.count > BEYOND else 0.0
    return [(nines(share), ms) for ms, share in one.points if LEAST <= share <= limit and ms > 0]


def nines(share: float) -> float:
    """Position of a percentile on the axis: 0.9 is 1, 0.99 is 2."""
    return -math.log10(max(1e-9, 1 - share))


def percentile_chart(
    cells: list[Distribution],
    *,
    title: str,
    width: float,
    height: float,
    span: tuple[float, float] | None = None,
) -> Markup:
    """Draws the lines; `span` (ms) fixes the vertical axis so that panels compare."""
    lines = [(one, drawn(one)) for one in cells]
    lines = [(one, points) for one, points in lines if points]
    low, high = span or latency_span(cells)
    labels = [plain(one.label) for one, _ in lines]
    named = len(lines) > 1
    beside = named and key.fits(labels, width)
    room = max((text_width(x) for x in labels), default=0) + 14 if beside else 12.0
    above = key.places(labels, width)[1] if named and not beside else 0.0
    height += above
    ticks = log_ticks(low, high, 6)
    left = max((text_width(tick(v)) for v in ticks), default=20) + 8
    canvas = Canvas(width, height, title, "; ".join(_said(one) for one, _ in lines))
    reach = max((points[-1][0] for _, points in lines), default=1.0)
    x = Scale(0, max(1.0, reach), left, width - room)
    y = Scale(low, high, height - 38, above + 26, True)
    canvas.text(0, above + 12, "ms", "axis")
    for value in ticks:
        canvas.line(left, y(value), width - room, y(value), "grid")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    free = -1e9
    for share, name in NINES:
        at = nines(share)
        half = text_width(name) / 2
        if at <= reach + 1e-9:
            canvas.line(x(at), y.end, x(at), y.start, "grid")
            if x(at) - half > free + 4:
                canvas.text(x(at), height - 21, name, "tick", "middle")
                free = x(at) + half
    canvas.line(left, y.start, width - room, y.start, "zero")
    canvas.text(
        (left + width - room) / 2, height - 4, "percentile of transactions", "axis", "middle"
    )
    for one, points in lines:
        css = f"s{one.style % SERIES}"
        canvas.path([(x(a), y(ms)) for a, ms in points], f"l {css}")
    placed = spread([y(p[-1][1]) + 4 for _, p in lines], FONT + 2.5, y.end + 4, y.start + 4)
    for (one, points), label, at_y in zip(lines, labels, placed, strict=True):
        css = f"s{one.style % SERIES}"
        end_x, end_y = x(points[-1][0]), y(points[-1][1])
        if beside:
            text_x = width - room + 8
            if abs(at_y - 4 - end_y) > 8 or end_x < text_x - 14:
                canvas.line(end_x + 2, end_y, text_x - 2, at_y - 4, f"lead {css}")
            canvas.text(text_x, at_y, shorten(label, room - 8), f"name {css}")
    if named and not beside:
        key.line_key(canvas, labels, [one.style for one, _ in lines])
    return canvas.render()


def latency_span(cells: list[Distribution]) -> tuple[float, float]:
    """A range in ms, on round ends, that shows all of `cells`."""
    values = [ms for one in cells for _, ms in drawn(one)]
    if not values:
        return 0.1, 10.0
    low, high = min(values), max(values)
    return _floor(low), _ceil(high)


def _floor(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * 1.0001)


def _ceil(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return min(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.9999)


def _said(one: Distribution) -> str:
    found = []
    for share, name in NINES[1:]:
        at = next((ms for ms, s in one.points if s >= share), None)
        if at is not None and one.count * (1 - share) >= BEYOND:
            found.append(f"p{name} {sig3(at)} ms")
    return f"{one.label}: {', '.join(found)}"
