"""Types of single values in an experiment file, and what every model of it is made of."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from dbdyno.experiment.values import units

VERSION_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,9}){0,3}$"
LENGTH_MAX_S = 30 * 86_400  # the engine's limit too


def _text(pattern: str, example: str, *, number: str = "") -> WithJsonSchema:
    text = {"type": "string", "pattern": pattern, "examples": [example]}
    return WithJsonSchema({"anyOf": [text, {"type": number, "minimum": 0}]} if number else text)


def _length(value: object) -> float:
    seconds = units.duration_s(value)
    if seconds > LENGTH_MAX_S:
        raise ValueError(f"must be at most {LENGTH_MAX_S // 86_400} days")
    return seconds


def positive_s(value: object) -> float:
    """A length above zero, in seconds. ValueError for anything else."""
    seconds = _length(value)
    if seconds <= 0:
        raise ValueError("must be longer than nothing")
    return seconds


def _either_way_s(value: object) -> float:
    """A length of time with a sign; none is `+`."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text[:1] in ("+", "-"):
        return float(f"{text[0]}{_length(text[1:])}")
    return _length(text)


def _version(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError('must be text in quotes, such as "11.8": 10.10 is the number 10.1 to YAML')
    if not re.fullmatch(VERSION_PATTERN, value):
        raise ValueError('must be the leading numbers of a version, such as "11.8"')
    return value


Size = Annotated[
    int, BeforeValidator(units.size_bytes), _text(units.SIZE_PATTERN, "1Gi", number="integer")
]
Duration = Annotated[float, BeforeValidator(positive_s), _text(units.DURATION_PATTERN, "30s")]
Pause = Annotated[float, BeforeValidator(_length), _text(units.DURATION_PATTERN, "10s")]
Shift = Annotated[
    float,
    BeforeValidator(_either_way_s),
    _text(units.DURATION_PATTERN.replace("^", "^[+-]?", 1), "-30s"),
]
Rate = Annotated[float, BeforeValidator(units.rate_per_s), _text(units.RATE_PATTERN, "66.7/s")]
RateOrNone = Annotated[
    float, BeforeValidator(units.rate_or_zero_per_s), _text(units.RATE_PATTERN, "0/s")
]
Fraction = Annotated[
    float,
    BeforeValidator(units.fraction),
    _text(units.PERCENT_PATTERN, "3%", number="number"),
]
Price = Annotated[
    float, BeforeValidator(units.price_per_month), _text(units.PRICE_PATTERN, "2035.49/month")
]
Version = Annotated[
    str, BeforeValidator(_version), WithJsonSchema({"type": "string", "pattern": VERSION_PATTERN})
]
Whole = Annotated[int, BeforeValidator(units.whole)]


class Strict(BaseModel):
    """Refuses unknown keys and converts nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
