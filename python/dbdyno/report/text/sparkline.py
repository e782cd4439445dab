"""A series in one line of text: eight heights, a dot if there is no value."""

from __future__ import annotations

from collections.abc import Sequence

HEIGHTS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
LENGTH_MAX = 48  # values; of a longer series the last ones


def sparkline(values: Sequence[float | None], length_max: int = LENGTH_MAX) -> str:
    """From the lowest to the highest value shown, evenly; a constant series in the middle."""
    shown = values[-length_max:]
    there = [value for value in shown if value is not None]
    low, high = min(there, default=0.0), max(there, default=0.0)
    return "".join(NOTHING if value is None else _height(value, low, high) for value in shown)


def _height(value: float, low: float, high: float) -> str:
    # Halves first: the difference of two very large numbers may not be one.
    span = high / 2 - low / 2
    if span == 0:
        return HEIGHTS[len(HEIGHTS) // 2 - 1]
    share = (value / 2 - low / 2) / span
    return HEIGHTS[min(len(HEIGHTS) - 1, int(share * len(HEIGHTS)))]
