"""How values are made: parameters of a `mix`, columns of declared tables.

A generator is a mapping with exactly one of the keys below (`{zipfian: [1, 1000], theta: 0.9}`).
The engine makes the values, each a pure function of seed, session and number; this file lets an
error point into the user's. Same names as in `engine/workloads`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model, model_validator

from dbdyno.spec.names import listed
from dbdyno.spec.scalars import Strict, Whole
from dbdyno.spec.unions import one_of

VALUES_MAX = 100_000  # of `values:`, and of what `column:` looks up
TEXT_MAX = 10_000  # characters of a pattern
DECIMALS_MAX = 9
THETA_MAX = 10.0
COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_WHOLE_MAX = 2**63 - 1

Value = str | int | float | bool | None
_Whole64 = Annotated[Whole, Field(ge=-_WHOLE_MAX, le=_WHOLE_MAX)]


def _in_order(value: list[Any]) -> list[Any]:
    if value[0] > value[1]:
        raise ValueError(f"must be [lowest, highest], and {value[0]} is above {value[1]}")
    return value


class Uniform(Strict):
    """Evenly from a range, ends included. Whole numbers, or with `decimals` fractions."""

    uniform: list[int | float] = Field(min_length=2, max_length=2, description="[lowest, highest]")
    decimals: int | None = Field(
        None, ge=0, le=DECIMALS_MAX, description="digits behind the point; default: none"
    )

    @model_validator(mode="after")
    def _check(self) -> Uniform:
        _in_order(self.uniform)
        if not self.decimals and not all(float(end).is_integer() for end in self.uniform):
            raise ValueError("needs `decimals:`, as its range is not of whole numbers")
        return self


class Zipfian(Strict):
    """Number n of the range comes up in proportion to n^-theta: the lowest most often."""

    zipfian: list[_Whole64] = Field(min_length=2, max_length=2, description="[lowest, highest]")
    theta: float = Field(0.99, ge=0, le=THETA_MAX, description="exponent")

    @model_validator(mode="after")
    def _check(self) -> Zipfian:
        _in_order(self.zipfian)
        return self


class Sequence(Strict):
    """Numbers upwards from a first one, each once over all sessions."""

    sequence: _Whole64 = Field(description="the first number")


class Values(Strict):
    """One of a list."""

    values: list[Value] = Field(min_length=1, max_length=VALUES_MAX, description="what to choose")
    weights: list[Annotated[float, Field(ge=0)]] | None = Field(
        None, description="how often each, in proportion; default: all alike"
    )

    @model_validator(mode="after")
    def _check(self) -> Values:
        if self.weights is not None:
            if len(self.weights) != len(self.values):
                raise ValueError(
                    f"must have as many `weights` ({len(self.weights)}) "
                    f"as `values` ({len(self.values)})"
                )
            if not sum(self.weights) > 0:
                raise ValueError("must have a weight above 0")
        return self


def _column(value: object) -> object:
    if not isinstance(value, str) or not COLUMN.fullmatch(value):
        raise ValueError("must be `table.column`")
    return value


class Column(Strict):
    """One of the values that a column holds, all alike: looked up before the load starts."""

    column: Annotated[str, BeforeValidator(_column)] = Field(description="table.column")


class Text(Strict):
    """Text by a pattern: `#` is a digit, `@` a letter a to z, `*` either; a backslash before them
    takes them as they are."""

    text: str = Field(min_length=1, max_length=TEXT_MAX, description="the pattern")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must hold days such as 2024-12-31, and `{text}` is none") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise ValueError(
            f'must hold times such as "2024-12-31 23:59:59", and `{text}` is none'
        ) from None


class Dates(Strict):
    """Days, evenly from a range."""

    dates: list[str] = Field(min_length=2, max_length=2, description="[first, last]")

    @model_validator(mode="after")
    def _check(self) -> Dates:
        _in_order([_day(text) for text in self.dates])
        return self


class Times(Strict):
    """Moments with seconds, evenly from a range."""

    times: list[str] = Field(min_length=2, max_length=2, description="[first, last]")

    @model_validator(mode="after")
    def _check(self) -> Times:
        _in_order([_moment(text) for text in self.times])
        return self


class Const(Strict):
    """Always the same."""

    const: str | int | float | bool = Field(description="the value")


GENERATORS: Mapping[str, type[Strict]] = {
    "uniform": Uniform,
    "zipfian": Zipfian,
    "sequence": Sequence,
    "values": Values,
    "column": Column,
    "text": Text,
    "dates": Dates,
    "times": Times,
    "const": Const,
}


def generator(name: str, leave_out: tuple[str, ...] = (), **more: Any) -> Any:
    """The type of a mapping with one generator, and with the keys `more` beside it."""
    models = {key: model for key, model in GENERATORS.items() if key not in leave_out}

    def choose(value: Mapping[str, Any]) -> str | None:
        found = [key for key in models if key in value]
        return found[0] if len(found) == 1 else None

    branches = [
        (
            key,
            create_model(f"{model.__name__}{name}", __base__=model, __doc__=model.__doc__, **more),
        )
        for key, model in models.items()
    ]
    return one_of([*branches, ("none", _none_of(name, models, more))], choose)


def _none_of(
    name: str, models: Mapping[str, type[Strict]], more: Mapping[str, Any]
) -> type[Strict]:
    """The model of a mapping with no generator or several: it always has something to say."""
    keys: dict[str, Any] = {
        key: (Any, None) for model in models.values() for key in model.model_fields
    }

    def refuse(self: Any) -> Any:
        found = [key for key in models if key in self.model_fields_set]
        if len(found) > 1:
            raise ValueError(f"can have one of `{found[0]}` and `{found[1]}`")
        raise ValueError(f"does not say how values are made: give one of {listed(models)}")

    validators: Any = {"refuse": model_validator(mode="after")(refuse)}
    keys |= more
    return create_model(f"No{name}Generator", __base__=Strict, __validators__=validators, **keys)
