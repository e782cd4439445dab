"""A metric over runs: a point a run, the level of each stretch, a line where it changes.

The vertical axis shows the range of the values, not zero: changes of a few per cent are the matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from dbdyno.report.charts.scale import Scale
from dbdyno.report.charts.svg import Canvas, text_width
from dbdyno.wording.numbers import sig3
from dbdyno.wording.quantities import tick

TICKS = 4
_POINT, _LEVEL = 0, 1  # series: colour and shape


def trend_chart(
    values: Sequence[float | None],
    names: Sequence[str],
    changes: Sequence[int],
    levels: Sequence[float],
    *,
    title: str,
    unit: str,
    width: float,
    height: float,
    outliers: Sequence[int] = (),
) -> Markup:
    """`values` by run (None: a cross at the bottom), `names` of the runs, `changes`: the first run
    after each change, ascending; `levels`: of the stretches, one more than changes."""
    if len(levels) != len(changes) + 1 or len(names) != len(values):
        raise ValueError("a level for each stretch, and a name for each value")
    there = [value for value in values if value is not None]
    ticks = _ticks(min(there, default=0.0), max(there, default=0.0))
    canvas = Canvas(width, height, title, _summary(values, names, changes, levels, unit))
    left = max(text_width(tick(value)) for value in ticks) + 12
    x = Scale(0, max(1, len(values) - 1), left + 10, width - 14)
    y = Scale(ticks[0], ticks[-1], height - 30, 26)
    canvas.text(0, 12, unit, "axis")
    for value in ticks:
        canvas.line(left, y(value), width - 4, y(value), "grid")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    canvas.text(x(0), height - 8, names[0], "tick")
    if len(names) > 1:
        canvas.text(x(len(names) - 1), height - 8, names[-1], "tick", "end")
    half = (x(1) - x(0)) / 2
    bounds = [0, *changes, len(values)]
    for start, end, level in zip(bounds, bounds[1:], levels, strict=False):
        canvas.line(x(start) - 4, y(level), x(end - 1) + 4, y(level), f"w s{_LEVEL}")
    for run in changes:
        canvas.line(x(run) - half, 20, x(run) - half, height - 30, f"knee s{_LEVEL}")
    for index, point in enumerate(values):
        if point is None:
            canvas.text(x(index), height - 32, "×", "tick", "middle")
            continue
        tip = f"{names[index]}: {sig3(point)} {unit}"
        if index in outliers:
            tip += ", stands apart"
        canvas.marker(x(index), y(point), _POINT, tip, hollow=index in outliers, size=3.6)
    return canvas.render()


def _ticks(low: float, high: float) -> list[float]:
    """Round values around [low, high], at least two."""
    if high <= low:
        low, high = (low * 0.9, high * 1.1) if high > 0 else (0.0, 1.0)
    rough = (high / TICKS) - (low / TICKS)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * number for number in range(first, last + 1)]


def _summary(
    values: Sequence[float | None],
    names: Sequence[str],
    changes: Sequence[int],
    levels: Sequence[float],
    unit: str,
) -> str:
    said = f"{len(values)} runs, {names[0]} to {names[-1]}"
    for run, before, after in zip(changes, levels, levels[1:], strict=False):
        said += f"; from {names[run]} on {sig3(after)} instead of {sig3(before)} {unit}"
    return said if changes else f"{said}; no change point"
