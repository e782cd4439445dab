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

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from dbdyno.experiment.file.names import listed
from dbdyno.experiment.values.scalars import Fraction, Strict, Whole
from dbdyno.experiment.values.unions import one_of

VALUES_MAX = 100_000  # of `values:`, and of what `column:` reads
TEXT_MAX = 10_000  # characters of a pattern
DECIMALS_MAX = 18
END_MAX = 9_000_000_000_000_000_000
THETA_MAX = 10.0
PIECES_MAX = 10_000  # of a histogram
COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")

Value = str | int | float | bool | None
_Whole64 = Annotated[Whole, Field(ge=-END_MAX, le=END_MAX)]


def _in_order(value: list[Any]) -> list[Any]:
    if value[0] > value[1]:
        raise ValueError(f"must be [lowest, highest], and {value[0]} is above {value[1]}")
    return value


class Generator(Strict):
    """Options of all generators."""

    nulls: Fraction = Field(0.0, description="share of NULLs, 0 to 1")


AsText = Annotated[
    bool, Field(description="whether to convert the numbers to text, as for character columns")
]


class _Range(Generator):
    as_text: AsText = False
    decimals: int | None = Field(
        None, ge=0, le=DECIMALS_MAX, description="decimal places; default: those of the ends"
    )


Ends = Annotated[
    list[Annotated[int | float, Field(ge=-END_MAX, le=END_MAX)]],
    Field(min_length=2, max_length=2),
    AfterValidator(_in_order),
]
Scramble = Annotated[
    bool,
    Field(
        description="spread frequent values over the range; otherwise the lowest are most frequent"
    ),
]
Iterations = Annotated[int, Field(ge=1, le=1000, description="number of uniform draws averaged")]


class Uniform(_Range):
    """Uniform distribution over a range, ends included."""

    uniform: Ends = Field(description="[lowest, highest]")


class Zipfian(_Range):
    """Zipfian distribution over a range: the n-th most frequent number has weight n^-theta."""

    zipfian: Ends = Field(description="[lowest, highest]")
    theta: float = Field(0.99, ge=0, le=THETA_MAX, description="exponent")
    scramble: Scramble = True


class Gaussian(_Range):
    """Approximately normal distribution around the middle of a range."""

    gaussian: Ends = Field(description="[lowest, highest]")
    iterations: Iterations = 12


class Pareto(_Range):
    """Pareto distribution over a range: a share h of the numbers gets a share 1-h of draws."""

    pareto: Ends = Field(description="[lowest, highest]")
    h: float = Field(0.2, ge=0.001, le=0.999, description="share of frequent numbers")
    scramble: Scramble = True


class Special(_Range):
    """Distribution `special` of sysbench: a range with a more frequent part in its middle."""

    special: Ends = Field(description="[lowest, highest]")
    iterations: Iterations = 12
    pct: int = Field(1, ge=1, le=100, description="size of the frequent part, % of the range")
    res: int = Field(75, ge=0, le=100, description="share of draws from the frequent part, %")


class Sequence(Generator):
    """Ascending numbers from a first one, each once over all sessions of the group."""

    sequence: _Whole64 = Field(description="the first number")
    as_text: AsText = False


class Values(Generator):
    """A value drawn from a list."""

    values: list[Value] = Field(
        min_length=1, max_length=VALUES_MAX, description="values to draw from"
    )
    weights: list[Annotated[float, Field(ge=0)]] | None = Field(
        None, description="weights of the values; default: equal"
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


class Column(Generator):
    """A value of an existing column; the values are queried before the load starts."""

    column: Annotated[str, BeforeValidator(_column)] = Field(description="table.column")
    theta: float | None = Field(
        None,
        ge=0,
        le=THETA_MAX,
        description="exponent of a Zipfian distribution of the values; default: equal weights",
    )
    by_rows: bool | None = Field(
        None, description="whether to draw each value as often as rows have it"
    )
    meets: Annotated[Fraction, Field(gt=0)] | None = Field(
        None,
        description="share of the table's rows that have the value drawn, on average: those that "
        "more rows have are drawn as much more often, or less",
    )

    @model_validator(mode="after")
    def _check(self) -> Column:
        ways = [name for name in ("theta", "by_rows", "meets") if getattr(self, name)]
        if len(ways) > 1:
            raise ValueError(f"can have one of `{ways[0]}` and `{ways[1]}`")
        return self


class Text(Generator):
    """Text by a pattern: `#` is a digit, `@` a letter a to z, `*` either; a backslash makes the
    next character literal."""

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


class Dates(Generator):
    """Dates, uniformly distributed over a range."""

    dates: list[str] = Field(min_length=2, max_length=2, description="[first, last]")

    @model_validator(mode="after")
    def _check(self) -> Dates:
        _in_order([_day(text) for text in self.dates])
        return self


class Times(Generator):
    """Dates with times in seconds, uniformly distributed over a range."""

    times: list[str] = Field(min_length=2, max_length=2, description="[first, last]")

    @model_validator(mode="after")
    def _check(self) -> Times:
        _in_order([_moment(text) for text in self.times])
        return self


class Sum(Strict):
    """Sum of other parameters of the same statement: a number, date or time, plus numbers, days or
    seconds. The lower end plus a drawn width gives the upper end of a range."""

    sum: list[str] = Field(min_length=2, max_length=8, description="names of parameters")


_End = Annotated[int | float, Field(ge=-END_MAX, le=END_MAX)] | str


def _pieces(value: object) -> object:
    pieces: list[Any] = value if isinstance(value, list) else []
    for piece in pieces:
        if not isinstance(piece, list) or len(piece) not in (3, 4):
            raise ValueError(f"must hold [lowest, highest, weight, different values], not {piece}")
    return value


class Histogram(Generator):
    """Pieces of a range in ascending order, each `[lowest, highest, weight]` or `[lowest, highest,
    weight, different values]`: as many evenly spaced values, all equally frequent. Ends are
    numbers, days or times. A frequent value is a piece of its own. With `pattern`, `labels` or
    `keys` the values are numbers from 1 on, and say which text, label or key it is."""

    histogram: Annotated[list[list[_End]], BeforeValidator(_pieces)] = Field(
        min_length=1, max_length=PIECES_MAX, description="the pieces"
    )
    decimals: int | None = Field(
        None, ge=0, le=DECIMALS_MAX, description="decimal places; default: those of the ends"
    )
    shuffle: bool = Field(
        False, description="correlated columns see the pieces in another order than that of values"
    )
    keys: list[_End] | None = Field(
        None,
        min_length=3,
        max_length=3,
        description="[lowest, highest, how many]: the keys that another table has, evenly spaced",
    )
    labels: list[str] | None = Field(
        None, min_length=1, max_length=VALUES_MAX, description="texts by their number"
    )
    pattern: str | None = Field(
        None,
        min_length=1,
        max_length=TEXT_MAX,
        description="as of `text`; each number has a text of its own as far as there is room",
    )
    lengths: list[Annotated[Whole, Field(ge=0)]] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="[least, most] characters, to which a pattern is repeated and cut",
    )
    count: Whole | None = Field(
        None,
        ge=1,
        description="numbers of a pattern in all, if another column has more; they then have the "
        "same texts",
    )

    @model_validator(mode="after")
    def _check(self) -> Histogram:
        last: Any = None
        for low, high, *counts in self.histogram:
            if isinstance(low, str) != isinstance(high, str) or (low > high):  # type: ignore[operator]
                raise ValueError(f"must have pieces from a lowest to a highest, not {low}, {high}")
            if last is not None and (isinstance(low, str) != isinstance(last, str) or low <= last):
                raise ValueError(f"must be in ascending order, and {low} comes after {last}")
            if any(isinstance(count, str) or count < 0 for count in counts):
                raise ValueError("must have weights and numbers of values of at least 0")
            last = high
        ways = [name for name in ("keys", "labels", "pattern") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise ValueError(f"can have one of `{ways[0]}` and `{ways[1]}`")
        if self.pattern is None and (self.lengths or self.count) is not None:
            raise ValueError("has `lengths` or `count` without a `pattern`")
        return self


class Const(Generator):
    """A constant."""

    const: str | int | float | bool = Field(description="the value")


GENERATORS: Mapping[str, type[Strict]] = {
    "uniform": Uniform,
    "zipfian": Zipfian,
    "gaussian": Gaussian,
    "pareto": Pareto,
    "special": Special,
    "sequence": Sequence,
    "values": Values,
    "column": Column,
    "text": Text,
    "dates": Dates,
    "times": Times,
    "histogram": Histogram,
    "const": Const,
    "sum": Sum,
}
OF_OTHERS = ("sum",)  # draw nothing themselves


def generator(name: str, leave_out: tuple[str, ...] = (), **more: Any) -> Any:
    """The type of a mapping with one generator, and with the further keys `more`."""
    models = {key: model for key, model in GENERATORS.items() if key not in leave_out}

    def choose(value: Mapping[str, Any]) -> str | None:
        found = [key for key in models if key in value]
        return found[0] if len(found) == 1 else None

    branches = [
        (
            key,
            create_model(
                f"{model.__name__}{name}",
                __base__=model,
                __doc__=model.__doc__,
                **({} if key in OF_OTHERS else more),
            ),
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
        raise ValueError(f"does not define its values: give one of {listed(models)}")

    validators: Any = {"refuse": model_validator(mode="after")(refuse)}
    keys |= more
    return create_model(f"No{name}Generator", __base__=Strict, __validators__=validators, **keys)
