"""Numbers of claims, with the units that people write: `5ms`, `10k`, `600/min`, `1.5x`, `95%`.

A number without a unit is in the metric's own (ms, a second). `k`, `M` and `G` are thousands,
millions and billions of whatever it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TIME, RATE, RATIO, SHARE = "a time", "a rate", "a ratio", "a share"

AMOUNT = re.compile(
    r"(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?P<prefix>[kMG])?"
    r"(?:\s?(?P<unit>us|ms|s|min|x|%))?"
    r"(?:\s*/\s*(?P<per>s|sec|min|m|h)(?![A-Za-z0-9_.\[-]))?"
    r"(?![A-Za-z0-9_.%])"
)
_PREFIXES = {None: 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
# By unit: what kind of amount it is, and what it is multiplied and divided by (both exact): times
# in ms, rates a second.
_UNITS = {
    "us": (TIME, 1.0, 1000.0),
    "ms": (TIME, 1.0, 1.0),
    "s": (TIME, 1000.0, 1.0),
    "min": (TIME, 60_000.0, 1.0),
    "x": (RATIO, 1.0, 1.0),
    "%": (SHARE, 1.0, 100.0),
}
_PER = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
# From ms, and from a second, to the units that metrics have.
_TIMES = {"us": (1000.0, 1.0), "ms": (1.0, 1.0), "s": (1.0, 1000.0)}
_RATES = {"1/s": 1.0, "1/min": 60.0}


@dataclass(frozen=True)
class Amount:
    """A number as written; `kind` is empty without a unit. A time is in ms, a rate a second."""

    value: float
    kind: str
    text: str
    offset: int  # in the claim

    def in_unit(self, unit: str) -> float | None:
        """The value in a metric's unit, "" for one without; None if it is of another kind."""
        if self.kind == TIME and unit in _TIMES:
            times, over = _TIMES[unit]
            return self.value * times / over
        if self.kind == RATE and unit in _RATES:
            return self.value * _RATES[unit]
        if self.kind == SHARE and not unit:
            return self.value
        return None if self.kind else self.value


def read(text: str, at: int) -> tuple[Amount, int] | None:
    """The amount that begins at `at`, and where it ends; None if none does."""
    found = AMOUNT.match(text, at)
    if found is None or (found["per"] and found["unit"]):
        return None
    value = float(found["number"].replace("_", "")) * _PREFIXES[found["prefix"]]
    kind = ""
    if found["unit"]:
        kind, times, over = _UNITS[found["unit"]]
        value = value * times / over
    elif found["per"]:
        kind, value = RATE, value / _PER[found["per"]]
    return Amount(value, kind, found.group(), at), found.end()
