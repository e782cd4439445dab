"""Values of models as people read them: four significant digits, a unit that fits, whole numbers
whole. Sizes are shown in binary units."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from dbdyno.models.calculate import Answer, fill
from dbdyno.models.kinds import Kind, Value
from dbdyno.models.model import Model
from dbdyno.wording.numbers import MISSING

DIGITS = 4
LISTED = 6  # values of a list that are shown
_SIZES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_FROM = {
    "d": 2.0,
    "h": 3.0,
    "min": 10.0,
}  # how many of a unit there must be: 102.4 s, not 1.707 min


def plain(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits at least, all of a whole part, no zeros at its
    end: 697,400; 1.892; 0.00012."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 15 or magnitude < -9:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    text = f"{value:,.{max(0, digits - 1 - magnitude)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")


def unit_of(kind: Kind, top: float, currency: str = "") -> tuple[float, str]:
    """The unit in which values up to `top` are drawn: how large one is, and its name."""
    if kind.name in ("size", "throughput"):
        one, name = _fitting(_SIZES, top)
        return one, name if kind.name == "size" else f"{name}/s"
    if kind.name == "duration":
        return _time_unit(abs(top))
    names = {
        "rate": "1/s",
        "share": "%",
        "price": f"{currency} a month".strip(),
        "money": currency,
        "date": "day",
    }
    return (0.01 if kind.name == "share" else 1.0), names.get(kind.name, "")


def _fitting(units: tuple[tuple[float, str], ...], value: float) -> tuple[float, str]:
    if not math.isfinite(value) or value == 0:
        return next(one for one in units if one[0] == 1.0)
    return next((one for one in units if abs(value) >= one[0] * (1 - 1e-9)), units[-1])


def _time_unit(value: float) -> tuple[float, str]:
    """The largest unit of which it is a whole number, else the largest of which it is some."""
    for one in _TIMES[:3]:
        if value and value % one[0] == 0 and value / one[0] < 100:
            return one
    return _fitting(
        tuple(one for one in _TIMES if value >= one[0] * _FROM.get(one[1], 0)) or _TIMES[-1:], value
    )


def shown(kind: Kind, value: Value, currency: str = "", of: str = "") -> str:
    """A value with its unit."""
    if isinstance(value, tuple):
        text = ", ".join(shown(kind, one, currency) for one in value[:LISTED])
        return text if len(value) <= LISTED else f"{text} and {len(value) - LISTED:,} more"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return MISSING
    if kind.name == "date":
        return _date(value)
    one, unit = unit_of(kind, value, currency)
    text = plain(value / one)
    if kind.name in ("price", "money") and 0.1 <= abs(value) < 1e6:
        text = _cents(value)
    if kind.name == "rate":
        return f"{text}/s"
    return f"{text} {unit or of}".strip()


def _cents(value: float) -> str:
    """An amount of money with two decimals, or as many as it has digits that count."""
    text = f"{value:,.{max(2, DIGITS - 1 - math.floor(math.log10(abs(value))))}f}"
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<2}"


def _date(day: float) -> str:
    if not math.isfinite(day) or not 1 <= day < 3_652_060:  # the calendar's last day is in 9999
        return "never"
    return datetime.date.fromordinal(math.floor(day)).isoformat()


def name(word: str) -> str:
    """A name of a formula for people."""
    return word.replace("_", " ")


def all_shown(answer: Answer) -> dict[str, str]:
    """Every value of an answer, by name."""
    return {
        key: one(answer.model, key, value, answer.given.currency)
        for key, value in answer.values.items()
    }


def one(model: Model, key: str, value: Value, currency: str = "") -> str:
    """A value by its name in the model."""
    asked = model.input(key)
    return shown(model.kind_of(key), value, currency, asked.of if asked else "")


def sentence(answer: Answer, values: Mapping[str, str]) -> str:
    """The answer in a sentence."""
    return fill(answer.sentence, values)


def notes(answer: Answer, values: Mapping[str, str]) -> list[str]:
    """What limits it."""
    return [fill(note, values) for note in answer.notes]
