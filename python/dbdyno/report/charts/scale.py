"""Axes: from values to pixels, and positions of ticks.

Magnitudes start at zero, unless they lie so far apart that the small ones would be a line on zero
(`WIDE` times): then the axis is logarithmic, and labelled so. A logarithmic axis is also used where
the levels themselves grow by factors (sessions 1, 4, 16, 64), for ratios, and for latency
distributions, which span decades.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDE = 30.0  # largest over smallest mean beyond which zero is no useful start
LOGARITHMIC = ", logarithmic"  # what the axis' unit says then


@dataclass(frozen=True)
class Axis:
    """An axis of magnitudes with its ticks; the first tick is its low end."""

    ticks: tuple[float, ...]
    log: bool = False

    @property
    def low(self) -> float:
        """The value at the start of the axis."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """The value at its end."""
        return self.ticks[-1]

    def title(self, unit: str) -> str:
        """The label next to the axis."""
        return f"{unit}{LOGARITHMIC}".lstrip(", ") if self.log else unit


def magnitudes(
    tops: Sequence[float], means: Sequence[float], others: Sequence[float], wanted: int
) -> Axis:
    """The axis for `means`, and for `others` (ends of intervals, single values) as far as they do
    not flatten the means: what reaches beyond twice the largest mean is cut there.

    `tops`: the largest mean of each line or row, whose spread decides between the scales: a line
    that itself rises from near zero is read well from zero.
    """
    top = max(means, default=0.0)
    reach = min(max([top, *others]), 2 * top) or 1.0
    if not means or min(means) <= 0 or max(tops) / min(tops) <= WIDE:
        return Axis(tuple(linear_ticks(reach, wanted)))
    low = min([v for v in (*means, *others) if v > 0])
    first = math.floor(math.log10(max(low, min(means) / 3)))
    last = math.ceil(math.log10(reach) - 1e-9)
    return Axis(tuple(10.0**power for power in range(first, last + 1)), log=True)


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] to the pixels [start, end]; `log` for a logarithmic axis (low > 0)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Pixel of a value; values outside are clipped to the edge."""
        low, high = self.low, self.high
        value = min(max(value, min(low, high)), max(low, high))
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low) if high != low else 0.5
        return self.start + share * (self.end - self.start)


def linear_ticks(high: float, wanted: int = 5) -> list[float]:
    """Round ticks from 0, about `wanted` of them; the last is the first at or above `high`."""
    if high <= 0:
        return [0.0]
    raw = high / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    return [step * i for i in range(math.ceil(high / step * 0.999999) + 1)]


def log_ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Ticks within [low, high]: decades, 1-2-5 where few decades are shown, even steps for less."""
    if high / low < 2.2:
        even = linear_ticks(high, math.ceil(wanted * high / (high - low)))
        return [value for value in even if low <= value <= high][-wanted:]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)):
        ticks = [
            step * 10.0**power
            for power in range(first, last + 1)
            for step in steps
            if low * 0.999 <= step * 10.0**power <= high * 1.001
        ]
        if len(ticks) >= min(3, wanted):
            return ticks[:: max(1, math.ceil(len(ticks) / wanted))]
    return ticks


def ratio_range(values: list[float], unity: bool = True) -> tuple[float, float]:
    """A range for a logarithmic axis that shows all positive `values`, and 1 if `unity`."""
    shown = [v for v in values if v > 0 and math.isfinite(v)]
    logs = [math.log(v) for v in ([*shown, 1.0] if unity or not shown else shown)]
    low, high = min(logs), max(logs)
    margin = max(0.06, (high - low) * 0.08)
    return math.exp(low - margin), math.exp(high + margin)


def reach(ratio: float, end: float | None) -> float | None:
    """An interval's end as far as an axis of ratios should show it: a thousand times either way,
    or as far as the ratio itself lies; beyond, the whisker is cut at the edge."""
    if end is None:
        return None
    return min(max(end, min(0.001, ratio)), max(1000.0, ratio))


def wants_log(values: list[float]) -> bool:
    """Whether the levels of a factor grow by factors rather than by steps."""
    ordered = sorted(values)
    if len(ordered) < 3 or ordered[0] <= 0:
        return False
    return ordered[-1] / ordered[0] >= 8 and ordered[1] / ordered[0] >= 1.4
