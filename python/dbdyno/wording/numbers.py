"""Numbers and levels in words.

A number next to a verdict gets the `edges` that it was compared with: it is written with enough
more digits to show on which side of them it lies, so that an interval of 1.002 to 1.004 does not
read "1.00-1.00" next to "more than 1".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Rounded = Callable[[float, int], float]

MISSING = "–"
MORE_DIGITS = 5  # than usual, to distinguish a number from an edge


def digits(value: float, usual: int, edges: Sequence[float], rounded: Rounded) -> int:
    """How many digits show on which side of each edge a value lies: `usual`, or up to
    `MORE_DIGITS` more if that is enough. `rounded(value, digits)` is the number as it is read."""

    def beside(shown: float, edge: float) -> bool:
        return (shown > edge, shown < edge) == (value > edge, value < edge)

    for places in range(usual, usual + MORE_DIGITS + 1):
        if all(beside(rounded(value, places), edge) for edge in edges):
            return places
    return usual


def significant(value: float, places: int) -> float:
    """A number to so many significant digits."""
    return float(f"{value:.{places}g}")


def sig3(value: float | None, *edges: float) -> str:
    """A number in a table or chart: three significant digits, also zeros, so that a column lines up
    and shows its precision; thousands separated: 12,300; 4.50; 0.00123. None and NaN give a dash.
    More digits where they show on which side of `edges` it lies."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    places = digits(value, 3, edges, significant)
    rounded = significant(value, places)
    # Rounding may carry into the next decade: 9.996 becomes 10.0, not 10.00.
    magnitude = math.floor(math.log10(abs(rounded)))
    if magnitude < -6 or magnitude > 14:
        text = f"{rounded:.{places - 1}e}"
    else:
        text = f"{rounded:,.{max(0, places - 1 - magnitude)}f}"
    return text.replace("-", "−")


def number(value: float, *edges: float) -> str:
    """The same in a sentence, without zeros at the end of decimals: 31,200; 4.5; 10."""
    text = sig3(value, *edges)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def ratio(value: float, *edges: float) -> str:
    """A ratio to the digits that a reader uses: 0.413 -> 0.41, 12.34 -> 12.3, 1.0034 -> 1.00."""
    if value >= 1000 or value < 0.001:
        return number(value, *edges)
    usual = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits(value, usual, edges, round)}f}"


def bound(value: float, *edges: float) -> str:
    """An end of an interval of ratios; beyond a thousand times either way its size means
    nothing."""
    if value < 0.001:
        return "under 0.001"
    return "over 1,000" if value > 1000 else ratio(value, *edges)


def size(value: float) -> str:
    """Bytes in binary units: 1 GiB, 23.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{number(value)} {unit}" if value % 1 or value >= 1000 else f"{value:g} {unit}"
        value /= 1024
    raise AssertionError("unreachable: the last unit always returns")


def percent(share: float) -> str:
    """A share: `98.3 %`. What is less than all is never `100 %`: with many comparisons an interval
    is at 99.995 %."""
    usual = digits(share * 100, 3, (100.0,), significant)
    return f"{significant(share * 100, usual):.{max(6, usual)}g} %"


def spread(share: float) -> str:
    """A standard deviation over its mean: `0.4 %`, `12 %`."""
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:,.0f} %"


def interval(low: float | None, high: float | None, *edges: float) -> str:
    """`0.38-0.44`, `under 0.001 to 29.7`; open ends are named."""
    if low is None and high is None:
        return "no interval"
    if low is None:
        return f"at most {bound(high or 0.0, *edges)}"
    if high is None:
        return f"at least {bound(low, *edges)}"
    ends = bound(low, *edges), bound(high, *edges)
    return (" to " if any(" " in end for end in ends) else "-").join(ends)


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def gib(size_bytes: float) -> str:
    """Memory or space: `0.25 GiB`, `15.6 GiB`, `1,024 GiB`."""
    return f"{number(size_bytes / 2**30)} GiB"
