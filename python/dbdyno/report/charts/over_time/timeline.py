"""Curves one under the other on a common time axis, with stretches of time shaded and moments
marked through all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts.over_time import spans as rows
from dbdyno.report.charts.over_time.spans import Span
from dbdyno.report.charts.scale import Axis, Scale, linear_ticks
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

HEIGHTS = (150.0, 96.0)  # of the first curve's frame and of each other one
GAP, FOOT = 40.0, 38.0


@dataclass(frozen=True)
class Curve:
    """A value over time: `values[i]` holds from `edges[i]` to `edges[i + 1]`. None: not known."""

    label: str
    unit: str
    style: int
    edges: tuple[float, ...]
    values: tuple[float | None, ...]


def timeline(
    curves: Sequence[Curve],
    shaded: Sequence[tuple[float, float]],
    *,
    title: str,
    x_label: str,
    window: tuple[float, float],
    width: float,
    marks: Sequence[tuple[float, str]] = (),
    spans: Sequence[Span] = (),
) -> Markup:
    """Draws the curves within the `window` of seconds, each in its own frame from zero up; `shaded`
    are (start, end) in seconds, `marks` moments and what happened there, `spans` rows below."""
    axes = [_axis(one, window) for one in curves]
    left = max((text_width(tick(value)) for axis in axes for value in axis.ticks), default=0) + 8
    heights = [HEIGHTS[min(i, 1)] for i in range(len(curves))]
    tops, at = [], 0.0
    for height in heights:
        at += GAP
        tops.append(at)
        at += height
    below = at
    at += rows.height(spans)
    summary = _summary(curves, shaded, window, marks, spans)
    canvas = Canvas(width, at + FOOT, title, summary)
    x = Scale(*window, left, width - 10)
    for start, end in shaded:
        if end > window[0] and start < window[1]:
            canvas.rect(x(start), tops[0], x(end) - x(start), at - tops[0], "stalled")
    _mark(canvas, x, marks, tops[0], at, width)
    for one, axis, top, height in zip(curves, axes, tops, heights, strict=True):
        y = Scale(axis.low, axis.high, top + height, top)
        heading = f"{one.label}, {one.unit}" if one.unit else one.label
        canvas.text(0, top - 14, shorten(plain(heading), width), f"head s{one.style}")
        for value in axis.ticks:
            canvas.line(left, y(value), width - 10, y(value), "grid" if value else "zero")
            canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
        for piece in _pieces(one, window):
            canvas.path([(x(t), y(v)) for t, v in piece], f"l thin s{one.style}")
    rows.draw(canvas, spans, x, below, width)
    for value in _times(window, width):
        canvas.text(x(value), at + 17, tick(value), "tick", "middle")
    canvas.text((left + width - 10) / 2, at + FOOT - 4, x_label, "axis", "middle")
    return canvas.render()


def _mark(
    canvas: Canvas,
    x: Scale,
    marks: Sequence[tuple[float, str]],
    top: float,
    foot: float,
    width: float,
) -> None:
    """A line at each moment, with its words next to its head. Words that have no room are omitted:
    the table below the chart has them."""
    taken = -1.0
    for t_s, words in sorted(marks):
        at = x(t_s)
        canvas.line(at, top, at, foot, "mark")
        size = text_width(words)
        left = at + 4 if at + 4 + size <= width else at - 4 - size
        if left > taken:
            canvas.text(left, top + 10, words, "tick")
            taken = left + size + 6


def _axis(curve: Curve, window: tuple[float, float]) -> Axis:
    shown = [v for piece in _pieces(curve, window) for _, v in piece]
    return Axis(tuple(linear_ticks(max(shown, default=0.0) or 1.0, 3)))


def _pieces(curve: Curve, window: tuple[float, float]) -> list[list[tuple[float, float]]]:
    """The curve's steps as lines, broken where it is not known."""
    pieces: list[list[tuple[float, float]]] = [[]]
    low, high = window
    for start, end, value in zip(curve.edges, curve.edges[1:], curve.values, strict=False):
        if end <= low or start >= high:
            continue
        if value is None:
            pieces.append([])
            continue
        pieces[-1] += [(max(start, low), value), (min(end, high), value)]
    return [piece for piece in pieces if piece]


def _times(window: tuple[float, float], width: float) -> list[float]:
    """Round seconds within the window, where labels have room."""
    low, high = window
    steps = linear_ticks(high - low, max(3, int(width / 90)))
    step = steps[1] if len(steps) > 1 else 1.0
    first = int(low / step) * step
    every = [first + step * i for i in range(len(steps) + 2)]
    return [value for value in every if low <= value <= high + 1e-3 * step]


def _summary(
    curves: Sequence[Curve],
    shaded: Sequence[tuple[float, float]],
    window: tuple[float, float],
    marks: Sequence[tuple[float, str]],
    spans: Sequence[Span],
) -> str:
    """The chart in words, for screen readers."""
    inside = [one for one in shaded if one[1] > window[0] and one[0] < window[1]]
    when = ", ".join(f"{sig3(start)} to {sig3(end)} s" for start, end in inside)
    said = [f"shaded: {when}"] if inside else []
    said += [f"{words} at {sig3(t_s)} s" for t_s, words in sorted(marks)]
    said += [f"{each.label} from {sig3(each.start)} to {sig3(each.end)} s" for each in spans]
    for one in curves:
        known = [value for value in one.values if value is not None]
        if known:
            reach = f"{sig3(min(known))} to {sig3(max(known))} {one.unit}".rstrip()
            said.append(f"{one.label}: {reach}")
    return "; ".join(said)
