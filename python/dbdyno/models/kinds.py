"""Kinds of quantities: what may be typed for each, in which unit it is computed with.

All parsing is `experiment.units`; here a kind gets its name, its unit in JSON and an example. A
value is a float in the kind's unit (bytes, seconds, 1 a second, a month's price, a fraction of
one), a word for `word`, and for a list a tuple of them.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dbdyno.experiment.values import units

Value = float | str | tuple[float, ...]


@dataclass(frozen=True)
class Kind:
    """`parse` takes what was typed, or raises ValueError with what would be right."""

    name: str
    unit: str  # of the value, in JSON
    example: str
    parse: Callable[[str], float | str]

    @property
    def is_number(self) -> bool:
        """Whether there is something to compute with, sweep and draw."""
        return self.name != "word"


def _size(text: str) -> float:
    return float(units.size_bytes(int(text) if text.isdecimal() else text))


def _count(text: str) -> float:
    return units.count(text)


def _number(text: str) -> float:
    found = re.fullmatch(r"([+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)x?", text)
    if found is None:
        raise ValueError("must be a plain number such as 4 or 0.65")
    return float(found.group(1))


def _share(text: str) -> float:
    if re.fullmatch(r"[01](\.[0-9]+)?", text):
        return float(text)
    return units.fraction(text)


def _money(text: str) -> float:
    return float(units.price_and_currency(text + "/month")[0])


def _day(text: str) -> float:
    try:
        return float(datetime.date.fromisoformat(text).toordinal())
    except ValueError:
        raise ValueError("must be a date such as 2026-01-31") from None


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("size", "bytes", "3Gi", _size),
        Kind("throughput", "bytes/s", "245MB/s", units.throughput_bytes_per_s),
        Kind("duration", "s", "50ms", units.duration_s),
        Kind("rate", "1/s", "4000/s", units.rate_or_zero_per_s),
        Kind(
            "price", "currency/month", "2035.49 USD/month", lambda t: units.price_and_currency(t)[0]
        ),
        Kind("money", "currency", "1.89", _money),
        Kind("share", "fraction", "80%", _share),
        Kind("count", "", "16", _count),
        Kind("number", "", "0.8", _number),
        Kind("date", "ordinal day", "2026-01-31", _day),
        Kind("word", "", "yes", str),
    )
}


def as_written(kind: Kind, text: str) -> tuple[float, float]:
    """A number and half the unit of its last digit, both in the kind's unit: `1.44Gi` is 1.44 x
    2^30, give or take 0.005 x 2^30. For figures that somebody has rounded."""
    found = re.fullmatch(r"(-?)([0-9][0-9_]*)(?:\.([0-9]+))?\s*(.*)", text)
    if found is None or kind.name in ("date", "word"):
        raise ValueError(f"`{text}` is no figure of a {kind.name}")
    sign, whole, decimals, unit = found.groups()
    one = kind.parse(f"1{unit}" if kind.name != "price" else f"1 {unit}")
    assert isinstance(one, float)
    figure = float(f"{sign}{whole.replace('_', '')}.{decimals or 0}")
    return figure * one, 0.5 * 10.0 ** -len(decimals or "") * one
