"""Dots with intervals in rows: magnitudes of cells that have no numeric order, from zero; and
ratios
against a threshold (a forest plot), on a logarithmic axis."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.report.charts.scale import Axis, Scale, linear_ticks, log_ticks, magnitudes
from dbdyno.report.charts.svg import SERIES, Canvas, plain, shorten, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import bounded, interval, plus_minus, tick


@dataclass(frozen=True)
class Row:
    """One cell: its label, the heading above it ("" for none), and its estimate."""

    heading: str
    label: str
    style: int
    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...] = ()
    bound: str = ""  # AT_LEAST or AT_MOST: the mean is one


def row_axis(rows: list[Row], wanted: int = 5) -> Axis:
    """The axis that shows all of `rows`."""
    others = [v for r in rows for v in (r.low, r.high, *r.values) if v is not None]
    means = [r.mean for r in rows]
    return magnitudes(means, means, others, wanted)


def dot_chart(
    rows: list[Row], *, title: str, unit: str, width: float, axis: Axis | None = None
) -> Markup:
    """Rows of dots, the value written at the end of each row; `axis` is shared by panels."""
    axis = axis or row_axis(rows, 5 if width > 500 else 3)
    names = max((text_width(plain(r.label)) for r in rows), default=0.0)
    left = min(width * 0.4, names + 14)
    numbers = [value_text(r) for r in rows]
    right = max((text_width(n) for n in numbers), default=0.0) + 16
    headings = [
        i for i, r in enumerate(rows) if r.heading and (i == 0 or rows[i - 1].heading != r.heading)
    ]
    height = 26 + len(rows) * 26 + len(headings) * 24 + 30
    canvas = Canvas(
        width,
        height,
        title,
        "; ".join(f"{r.heading} {r.label} {n}" for r, n in zip(rows, numbers, strict=True)),
    )
    x = Scale(axis.low, axis.high, left, width - right, axis.log)
    bottom = height - 26
    canvas.text(left, 12, axis.title(unit), "axis")
    for value in axis.ticks:
        canvas.line(x(value), 20, x(value), bottom, "zero" if value == axis.low else "grid")
        canvas.text(x(value), height - 10, tick(value), "tick", "middle")
    y = 36.0
    for i, row in enumerate(rows):
        if i in headings:
            canvas.text(0, y + 5, shorten(plain(row.heading), width * 0.9), "head")
            y += 24
        canvas.text(0, y + 4, shorten(plain(row.label), left - 10), f"name s{row.style % SERIES}")
        _whisker(canvas, row, x, y, unit)
        canvas.text(width, y + 4, numbers[i], "value", "end")
        y += 26
    return canvas.render()


def value_text(row: Row) -> str:
    """The number at the end of a row: the mean, with half its interval if there is one."""
    if row.bound:
        return bounded(sig3(row.mean), row.bound)
    if row.low is None or row.high is None:
        return sig3(row.mean)
    return plus_minus(row.mean, (row.high - row.low) / 2)


def _whisker(canvas: Canvas, row: Row, x: Scale, y: float, unit: str) -> None:
    css = f"s{row.style % SERIES}"
    if not x.log:  # a length from an arbitrary start means nothing
        canvas.line(x(0), y, x(row.mean), y, f"stem {css}")
    for value in row.values:
        canvas.rect(x(value) - 0.8, y - 6, 1.6, 12, f"f {css} faint")
    if row.low is not None and row.high is not None:
        canvas.line(x(row.low), y, x(row.high), y, f"w {css}")
        for end in (row.low, row.high):
            canvas.line(x(end), y - 4, x(end), y + 4, f"w {css}")
    tip = f"{row.label}: {value_text(row)} {unit}"
    if row.low is not None:
        tip = f"{row.label}: {sig3(row.mean)} {unit}, 95 % interval {interval(row.low, row.high)}"
    if row.bound:
        px, away = x(row.mean), 1 if row.bound == AT_LEAST else -1
        canvas.line(px + 5 * away, y, px + 14 * away, y, f"w {css}")
        ends = [(px + 10 * away, y - 4), (px + 15 * away, y), (px + 10 * away, y + 4)]
        canvas.path(ends, f"l {css}")
    canvas.marker(x(row.mean), y, row.style, tip)


def ratio_dot(
    ratio: float | None,
    low: float | None,
    high: float | None,
    *,
    span: tuple[float, float],
    threshold: float = 1.0,
    margin: tuple[float, float] | None = None,
    css: str = "plain",
    width: float = 132.0,
    title: str = "",
    axis: bool = False,
    unit: str = "×",
) -> Markup:
    """One ratio with its interval against a threshold, on a logarithmic axis over `span`; a value
    that may be zero, on one from zero.

    The dashed line is the threshold, the thin one equality; `margin` is shaded: what counts as
    equal to the threshold. With `axis`, ticks are written below.
    """
    height = 34.0 if axis else 20.0
    canvas = Canvas(width, height, title or "ratio")
    is_log = span[0] > 0
    x = Scale(span[0], span[1], 6, width - 6, is_log)
    if margin is not None:
        canvas.rect(x(margin[0]), 1, x(margin[1]) - x(margin[0]), 18, "margin")
    if unit == "×":
        canvas.line(x(1), 1, x(1), 19, "zero")
    if threshold > 0 and (threshold != 1 or unit != "×"):
        canvas.line(x(threshold), 1, x(threshold), 19, "threshold")
    if ratio is not None and (ratio > 0 or not is_log):
        if low is not None and high is not None and (low > 0 or not is_log):
            canvas.line(x(low), 10, x(high), 10, f"w thick {css}")
        hollow = " hollow" if css in {"undecided", "untested"} else ""
        canvas.parts.append(
            f'<circle cx="{x(ratio):.1f}" cy="10" r="4.2" class="m {css}{hollow}"/>'
        )
    if axis:
        first = [threshold, 1.0] if unit == "×" else [threshold]
        between = log_ticks(*span, 4) if is_log else linear_ticks(span[1], 3)
        _ticks(canvas, x, [*first, *between], 31, unit)
    return canvas.render("mini")


def _ticks(canvas: Canvas, x: Scale, values: list[float], y: float, unit: str) -> None:
    """Labels `values` in the order given, omitting those for which there is no room."""
    taken: list[tuple[float, float]] = []
    for value in values:
        if not x.low <= value <= x.high:
            continue
        text = f"{tick(value)}{unit}"
        half = text_width(text, 11) / 2
        at = min(max(x(value), half), canvas.width - half)
        if all(at + half + 5 < a or at - half - 5 > b for a, b in taken):
            canvas.text(at, y, text, "tick small", "middle")
            taken.append((at - half, at + half))


def ratio_axis(span: tuple[float, float]) -> Markup:
    """The axis in the head of a table of `ratio_dot`s."""
    width = 200.0
    canvas = Canvas(width, 16, "axis of ratios, logarithmic")
    x = Scale(span[0], span[1], 6, width - 6, True)
    _ticks(canvas, x, [1.0, *log_ticks(*span, 4)], 12, "×")
    return canvas.render("mini")
