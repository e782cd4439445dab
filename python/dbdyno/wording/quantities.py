"""Numbers with what belongs to them, as tables and charts show them: bounds, intervals, factors,
durations, sizes. Each is written by `numbers.sig3`."""

from __future__ import annotations

import math

from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.wording.numbers import MISSING, sig3

# Before a measured value. Upper bounds are rates that were tried and failed: the truth is below.
_BOUNDS = {"": "", AT_LEAST: "≥ ", AT_MOST: "< "}


def bounded(text: str, bound: str) -> str:
    """A written number as the bound that it is, if it is one: ≥ 35.2."""
    return f"{_BOUNDS[bound]}{text}"


def tick(value: float) -> str:
    """A number on an axis: short, no trailing zeros, k and M above ten thousand."""
    if value == 0:
        return "0"
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{value / scale:g}{unit}".replace("-", "−")
    if size >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """An interval as "4.1 to 4.9"; a dash where it cannot be given."""
    if low is None or high is None:
        return MISSING
    return f"{sig3(low)} to {sig3(high)}"


def edge(value: float | None, *edges: float) -> str:
    """An end of an interval of ratios: past a thousand times either way, its size means nothing."""
    if value is None or 0.001 <= value <= 1000:
        return sig3(value, *edges)
    return "< 0.001" if value < 0.001 else "> 1,000"


def plus_minus(mean: float, half: float) -> str:
    """A mean and half its interval: 6.43 ± 0.004; half has two significant digits at most, and no
    more decimals than are meaningful next to the mean."""
    if half <= 0:
        return sig3(mean)
    places = max(0, 1 - math.floor(math.log10(half)))
    most = max(0, 3 - math.floor(math.log10(abs(mean)))) if mean else places
    text = f"{round(half, 1 - math.floor(math.log10(half))):,.{min(places, most)}f}"
    least = f"< {10.0**-most:.{most}f}"
    return f"{sig3(mean)} ± {text if float(text.replace(',', '')) else least}"


def times(ratio: float | None, *edges: float) -> str:
    """A ratio as a factor: 2.61×."""
    if ratio is None:
        return MISSING
    return f"{sig3(ratio, *edges)}×"


def change(ratio: float) -> str:
    """A ratio in words: "2.6 times", "42 % higher", "20 % lower", "about the same"."""
    if ratio >= 2:
        return f"{sig3(ratio)} times as high"
    if ratio == 1:
        return "the same"
    away = abs(ratio - 1) * 100
    text = f"{away:.0f}" if away >= 10 else f"{away:.1f}" if away >= 0.05 else f"{away:.1g}"
    return f"{text} % {'higher' if ratio > 1 else 'lower'}"


def seconds(value: float) -> str:
    """A duration: 30 s, 4 min, 1 h 05 min."""
    if value < 120:
        return f"{value:g} s"
    minutes = round(value / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"
