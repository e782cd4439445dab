"""One input over a range, and what each input does to the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdyno.errors import DynoError
from dbdyno.models import given as inputs
from dbdyno.models.calculate import compute
from dbdyno.models.expression import parsed
from dbdyno.models.given import Given
from dbdyno.models.kinds import Value
from dbdyno.models.model import Input, Model

POINTS, POINTS_MAX = 200, 1_000_000
BY_FACTORS = 50.0  # from which ratio of its ends a range is walked by factors, not by steps
STEP = 0.1  # how far sensitivity moves an input


@dataclass(frozen=True)
class Range:
    """`name` from `low` to `high`, in its kind's unit."""

    name: str
    low: float
    high: float
    written: tuple[str, str]


@dataclass(frozen=True)
class Sweep:
    """Points in order. `outputs`: the numeric ones by name. `notes`: a text with the first and last
    point it holds for, and for how many it does."""

    range: Range
    by_factors: bool
    x: np.ndarray[Any, Any]
    outputs: Mapping[str, np.ndarray[Any, Any]]
    notes: tuple[tuple[str, float, float, int], ...]

    def moves(self, name: str) -> bool:
        """Whether an output has more than one value."""
        there = self.outputs[name][~np.isnan(self.outputs[name])]
        return len(there) > 1 and bool(there.min() != there.max())


def parse(model: Model, text: str) -> Range:
    """`k=a..b`. DynoError."""
    can = [one for one in model.inputs if is_swept(one)]
    if not can:
        raise DynoError(
            f"{model.name} has nothing that can be swept: its inputs are lists and words",
            fix="remove --sweep",
        )
    name, equals, ends = text.partition("=")
    first, dots, last = ends.partition("..")
    if not (equals and dots and first.strip() and last.strip()):
        one = can[0]
        raise DynoError(
            f"`--sweep {text}` is no range: NAME=FROM..TO",
            fix=f"such as --sweep {one.name}={one.written}..{one.high or one.written}",
        )
    one = inputs.known(model, name)
    if not is_swept(one):
        raise DynoError(
            f"`{name}` is a {'list' if one.many else one.kind_name}, and cannot be swept",
            fix=f"sweep one of {', '.join(i.name for i in can)}",
        )
    low, high = (float(inputs.value_of(model, one, end.strip())) for end in (first, last))  # type: ignore[arg-type]
    if not low < high:
        raise DynoError(
            f"`--sweep {text}` is empty: it ends at or before its beginning",
            fix="write the lower end first",
        )
    return Range(name, low, high, (first.strip(), last.strip()))


def is_swept(one: Input) -> bool:
    """Whether an input has a range: a number, no date, no list."""
    return one.kind.is_number and one.kind_name != "date" and not one.many


def sweep(model: Model, given: Given, over: Range, points: int = POINTS) -> Sweep:
    """Computes all points at once. `points` between 2 and `POINTS_MAX`."""
    if not 2 <= points <= POINTS_MAX:
        raise DynoError(f"{points} points", fix=f"2 to {POINTS_MAX:,}")
    x, by_factors = _places(model, over, points)
    found = compute(model, {**given.values, over.name: x})
    names = model.numeric(model.outputs)
    return Sweep(
        range=over,
        by_factors=by_factors,
        x=x,
        outputs={name: np.broadcast_to(np.asarray(found[name], float), x.shape) for name in names},
        notes=tuple(_notes(model, found, x)),
    )


def _places(model: Model, over: Range, points: int) -> tuple[np.ndarray[Any, Any], bool]:
    by_factors = over.low > 0 and over.high / over.low >= BY_FACTORS
    one = inputs.known(model, over.name)
    if one.whole and over.high - over.low < points:  # all of them
        return np.arange(over.low, over.high + 1), False
    if by_factors:
        x = np.geomspace(over.low, over.high, points)
        x[0], x[-1] = over.low, over.high
    else:
        x = np.linspace(over.low, over.high, points)
    if one.whole or one.kind_name in ("size", "date"):  # bytes and days are whole
        x = np.unique(np.round(x))
    return x, by_factors


def _notes(model: Model, found: Mapping[str, Any], x: Any) -> list[tuple[str, float, float, int]]:
    said = []
    for note in model.notes:
        holds = np.broadcast_to(parsed(note.when)(found, model.functions), x.shape)
        if holds.any():
            there = x[holds]
            said.append((note.text, float(there[0]), float(there[-1]), int(holds.sum())))
    return said


@dataclass(frozen=True)
class Effect:
    """What an input does to the first numeric output: its value with the input `low` and `high`
    instead; `elasticity` is the relative change of the output by that of the input."""

    name: str
    low: float
    high: float
    at_low: float
    at_high: float
    elasticity: float | None


def sensitivity(model: Model, given: Given, values: Mapping[str, Value]) -> list[Effect]:
    """Of each number among the inputs, a tenth less and more (of whole ones at least one), within
    its range; those that do most come first."""
    output = model.numeric(model.outputs)[0]
    effects = []
    for one in model.inputs:
        if not is_swept(one):
            continue
        low, high = _around(one, float(given.values[one.name]))  # type: ignore[arg-type]
        found = compute(model, {**given.values, one.name: np.array([low, high])})
        at = np.broadcast_to(np.asarray(found[output], float), (2,))
        effects.append(Effect(one.name, low, high, float(at[0]), float(at[1]),
                              _elasticity(low, high, at)))  # fmt: skip
    return sorted(effects, key=lambda e: -abs(e.elasticity or 0.0))


def _around(one: Input, value: float) -> tuple[float, float]:
    least, most = inputs.limits(one)
    away = abs(value) * STEP
    if one.whole:
        away = max(1.0, round(away))
    low, high = max(least, value - away), min(most, value + away)
    if one.kind_name == "size":
        low, high = math.floor(low), math.ceil(high)
    return low, high


def _elasticity(low: float, high: float, at: Any) -> float | None:
    middle = (at[0] + at[1]) / 2
    if high == low or not math.isfinite(middle) or middle == 0 or low + high == 0:
        return None
    return float((at[1] - at[0]) / middle / ((high - low) / ((high + low) / 2)))
