"""A time axis with the clock's own ticks (UTC)."""

from __future__ import annotations

import math
import time

from dbdyno.report.charts.scale import Scale
from dbdyno.report.charts.svg import Canvas

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
DAY = 86400
LABEL = 74.0  # px that a label takes


def clock_axis(
    canvas: Canvas, x: Scale, begin_unix_s: float, length_s: float, baseline: float
) -> None:
    """Labels at round moments; `x` maps seconds after the begin to pixels."""
    room = max(1.0, abs(x.end - x.start) / LABEL)
    step = next((s for s in STEPS if length_s / s <= room), None)
    if step is None:
        step = DAY * math.ceil(length_s / DAY / room)
    form = "%m-%d" if step >= DAY else "%H:%M:%S" if step < 60 else "%H:%M"
    if step < DAY < length_s:
        form = "%d. %H:%M"
    at = math.ceil(begin_unix_s / step) * step
    while at <= begin_unix_s + length_s:
        place = x(at - begin_unix_s)
        anchor = "end" if place > x.end - LABEL / 2.4 else "middle"
        anchor = "start" if place < x.start + LABEL / 2.4 else anchor
        canvas.text(place, baseline, time.strftime(form, time.gmtime(at)), "tick", anchor)
        at += step
