"""How long a trial measures, and how often samplers read: `duration` and `sampling`.

`duration: 30s` is a length. `duration: {until: steady, max: 30m}` ends when throughput is steady
and known to within `matters`, at the latest after `max`. What comes back each `min` is in the
number: twice as long is measured at least (docs/decisions/steady-state.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.types import Cell, Group
from dbdyno.experiment.values import units
from dbdyno.experiment.values.scalars import Duration, Strict, positive_s
from dbdyno.experiment.values.unions import BRANCH

MIN_S = 60.0  # `min` by default
MIN_LEAST_S = 5.0  # less than two of these are too few
CYCLES = 2  # a steady part has at least so many of `min`
OFF = "off"
SAMPLING_MIN_S, SAMPLING_MAX_S = 0.1, 3600.0
_LENGTH, _STEADY = BRANCH + "length", BRANCH + "steady"


class SteadyModel(Strict):
    """Measures until the throughput is steady and its mean is known to within `matters`."""

    until: Literal["steady"]
    min: Duration | None = Field(
        None,
        description="slowest cycle to include, such as a checkpoint; the measured time is at least"
        " twice as long. Default: `60s`, or the server's own cycle if that is longer",
    )
    max: Duration = Field(description="maximum measured time")


def _shape(value: object) -> str:
    return _STEADY if isinstance(value, dict | SteadyModel) else _LENGTH


def _sampling_s(value: object) -> float | None:
    if value == OFF:
        return None
    seconds = positive_s(value)
    if not SAMPLING_MIN_S <= seconds <= SAMPLING_MAX_S:
        raise ValueError("must be between 100ms and 1h, or `off`")
    return seconds


_TIME_TEXT = {"type": "string", "pattern": units.DURATION_PATTERN, "examples": ["30s"]}


def _schema() -> dict[str, Any]:
    return {"anyOf": [_TIME_TEXT, SteadyModel.model_json_schema()]}


MeasuredTime = Annotated[
    Annotated[Duration, Tag(_LENGTH)] | Annotated[SteadyModel, Tag(_STEADY)],
    Discriminator(_shape),
    WithJsonSchema(_schema()),
]
Sampling = Annotated[
    float | None,
    BeforeValidator(_sampling_s),
    WithJsonSchema({"anyOf": [{"const": OFF}, {**_TIME_TEXT, "examples": ["1s"]}]}),
]


def longest_s(measured: float | SteadyModel) -> float:
    """How long a trial measures, at most."""
    return measured.max if isinstance(measured, SteadyModel) else measured


def check(measured: float | SteadyModel, groups: Sequence[Group], where: Where) -> None:
    """DynoError where waiting for a steady state makes no sense. `where`: the key's place."""
    if not isinstance(measured, SteadyModel):
        return
    if measured.min is not None and measured.min < MIN_LEAST_S:
        raise DynoError(
            f"`min` {measured.min:g} s is too short to detect a steady state",
            where=where,
            cause=f"of less than {CYCLES * MIN_LEAST_S:g} s neither a trend nor a mean is known",
            fix=f"write `min: {MIN_LEAST_S:g}s` or more, or give a length: `duration: 5s`",
        )
    least_s = CYCLES * (measured.min or MIN_S)
    if measured.max < least_s:
        given = "" if measured.min else ", the default"
        raise DynoError(
            f"`max` {measured.max:g} s leaves no room for a steady state",
            where=where,
            cause=f"a steady part lasts at least {least_s:g} s: {CYCLES} times `min`"
            f" ({measured.min or MIN_S:g} s{given})",
            fix="raise `max`, or write a shorter `min` if nothing slower matters, or give a length:"
            " `duration: 30s`",
        )
    for group in groups:
        key = "find" if group.find else "rate" if group.arrivals else None
        if key is not None:
            raise DynoError(
                f"group `{group.name}` has a `{key}`, and `duration` waits for a steady state",
                where=where,
                cause="the throughput of an open loop is its rate, steady or not; and its response"
                " times belong to all arrivals of the measured time, not to a part of it",
                fix="give a length, and a `warmup` that is long enough: `duration: 60s`",
            )


def check_matters(cells: Sequence[Cell], matters: float, where: Where | None) -> None:
    """DynoError if some cell waits until throughput is known to within nothing at all."""
    if matters <= 0 and any(cell.until_steady for cell in cells):
        raise DynoError(
            "`duration: {until: steady}` needs `matters`",
            where=where,
            cause="a trial ends once its throughput is known to within the smallest effect that"
            " matters, and none is given",
            fix="add `matters: 3%`",
        )
