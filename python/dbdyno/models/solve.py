"""The inverse question: which value of an input gives a wanted value of an output.

The output is computed at points of the input's range. Where it only rises, or only falls, the
place at which it passes the wanted value is found by bisection; else the question has several
answers or none, and is refused. Bytes and counts are whole, and outputs may move in steps: the
least input that reaches the value is the answer then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.models import given as inputs
from dbdyno.models import sweep
from dbdyno.models.calculate import Answer, compute
from dbdyno.models.given import Given
from dbdyno.models.kinds import Kind
from dbdyno.models.model import Input, Model

POINTS = 257
BEYOND = 1e6  # how far from its example an input without limits is searched, as a ratio
SAME = 1e-6  # relative: an output that is no nearer to what was wanted moves in steps
HALVINGS = 200

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Wanted:
    """`name` between `low` and `high`, such that `output` is `value`; all in units of their
    kinds. `written`: the value as it was typed."""

    name: str
    low: float
    high: float
    output: str
    value: float
    written: str


def parse(model: Model, asked: str, target: str) -> Wanted:
    """`INPUT` or `INPUT=FROM..TO`, and `OUTPUT=VALUE`. DynoError says what would be right."""
    name, _, ends = asked.partition("=")
    one = inputs.known(model, name)
    if not sweep.is_swept(one):
        can = [each.name for each in model.inputs if sweep.is_swept(each)]
        raise DynoError(
            f"`{name}` is a {'list' if one.many else one.kind_name}, which nothing is solved for",
            fix=f"solve for one of {', '.join(can)}" if can else "give it as an input",
        )
    low, high = _limits(one)
    if ends:
        within = sweep.parse(model, asked)
        low, high = within.low, within.high
    output, equals, text = target.partition("=")
    steps = [step.name for step in model.document.steps if step.kind.is_number]
    if not equals or not text.strip():
        raise DynoError(
            f"`--for {target}` is no value of an output: OUTPUT=VALUE",
            fix=f"such as --for {steps[0]}={model.kind_of(steps[0]).example}",
        )
    if output not in steps:
        raise DynoError(
            f"{model.name} has no output `{output}` that is a number",
            fix=did_you_mean(output, steps),
        )
    kind = model.kind_of(output)
    try:
        value = float(kind.parse(text.strip()))
    except (ValueError, OverflowError) as error:
        raise DynoError(
            f"{model.name}: {output}={text} {error}",
            cause=f"`{output}` is a {kind.name}: {model.step(output).about}",
            fix=f"such as --for {output}={kind.example}",
        ) from None
    return Wanted(name, low, high, output, value, text.strip())


def place(model: Model, wanted: Wanted) -> str:
    """A value of the input with which the other inputs can be taken."""
    return written(inputs.known(model, wanted.name), wanted.low)


def solve(model: Model, given: Given, wanted: Wanted) -> Given:
    """`given` with the input that was solved for. DynoError where the output does not depend on it,
    does not reach the value, or both rises and falls."""
    one = inputs.known(model, wanted.name)

    def outputs(x: Array) -> Array:
        found = compute(model, {**given.values, wanted.name: x})[wanted.output]
        return np.broadcast_to(np.asarray(found, float), x.shape)

    x = _points(one, wanted)
    y = outputs(x)
    known = np.isfinite(y)
    if not known.any():
        raise DynoError(
            f"{model.name}: no {wanted.name} from {_shown(one, wanted.low)} to"
            f" {_shown(one, wanted.high)} gives a value of {wanted.output}",
            cause="every one is refused, or the output is not defined with the other inputs",
            fix=f"remove --solve and give {wanted.name}: the answer says what is wrong",
        )
    rises = _direction(model, wanted, x[known], y[known])
    first = int(np.argmax(known))

    def passes(values: Array) -> Array:
        slack = 1e-12 * abs(wanted.value)
        with np.errstate(invalid="ignore"):
            return values >= wanted.value - slack if rises else values <= wanted.value + slack

    there = passes(y) & known
    reached = int(np.argmax(there))
    beyond = there[first] and first == reached and not _near(float(y[first]), wanted.value)
    if not there.any() or beyond:
        raise _out_of_reach(model, one, wanted, x[known], y[known])
    low = float(x[reached - 1]) if reached else float(x[reached])
    value = _bisected(
        one, low, float(x[reached]), lambda at: bool(passes(outputs(np.array([at])))[0])
    )
    return Given(
        {**given.values, wanted.name: value},
        {**given.written, wanted.name: written(one, value)},
        {**given.origin, wanted.name: f"solved for {wanted.output}={wanted.written}"},
        given.currency,
    )


def sentence(answer: Answer, wanted: Wanted, shown: Mapping[str, str], asked: str) -> str:
    """The solution in words; `shown`: values of the answer, `asked`: what was wanted, with its
    unit."""
    name, output = wanted.name, wanted.output
    value = answer.values[output]
    assert isinstance(value, float)
    if _near(value, wanted.value):
        return f"{name} = {shown[name]} gives {output} = {shown[output]}."
    side = "at least" if value > wanted.value else "at most"
    return (
        f"{name} = {shown[name]} is the least with {output} {side} {asked}: it is {shown[output]}."
    )


def written(one: Input, value: float) -> str:
    """A value as it could be typed."""
    number = str(int(value)) if value == int(value) else repr(value)
    if one.kind_name == "share":
        return f"{value * 100:.12g}%"
    unit = {"throughput": "B/s", "duration": "s", "rate": "/s", "price": "/month"}
    return f"{number}{unit.get(one.kind_name, '')}"


def _limits(one: Input) -> tuple[float, float]:
    low, high = inputs.limits(one)
    parsed = abs(float(one.kind.parse(one.written.partition(",")[0]))) or 1.0
    if not math.isfinite(high):
        high = max(parsed, low if math.isfinite(low) else 0.0) * BEYOND
    return (low if math.isfinite(low) else -high), high


def _points(one: Input, wanted: Wanted) -> Array:
    """Points of the range: close together near zero, too, where it spans many sizes."""
    low, high = wanted.low, wanted.high
    even = np.linspace(low, high, POINTS)
    least = low if low > 0 else high / BEYOND**2
    by_factors = np.geomspace(least, high, POINTS) if high > 0 else even
    x = np.unique(np.concatenate((even, by_factors.clip(low, high), (low, high))))
    return np.unique(np.round(x)) if _is_whole(one) else x


def _is_whole(one: Input) -> bool:
    return one.whole or one.kind_name == "size"


def _direction(model: Model, wanted: Wanted, x: Array, y: Array) -> bool:
    """Whether the output rises. DynoError if it does neither, or both."""
    moved = np.diff(y)
    noise = 1e-9 * np.maximum(np.abs(y[1:]), np.abs(y[:-1]))
    up, down = moved > noise, moved < -noise
    if not up.any() and not down.any():
        raise DynoError(
            f"{model.name}: `{wanted.output}` does not depend on `{wanted.name}`"
            " with the other inputs as they are",
            fix=f"solve for another input; --sensitivity shows what moves the first output of"
            f" {model.name}",
        )
    if up.any() and down.any():
        turn = int(np.argmax(down if up[np.argmax(up | down)] else up))
        one = inputs.known(model, wanted.name)
        low, at, high = (written(one, v) for v in (wanted.low, float(x[turn]), wanted.high))
        raise DynoError(
            f"{model.name}: `{wanted.output}` both rises and falls with `{wanted.name}`, so that"
            " no one value can be found",
            cause=f"it turns near {wanted.name}={at}",
            fix=f"see --sweep {wanted.name}={low}..{high}, then solve within a part:"
            f" --solve {wanted.name}={low}..{at}, or --solve {wanted.name}={at}..{high}",
        )
    return bool(up.any())


def _bisected(one: Input, low: float, high: float, passes: Callable[[float], bool]) -> float:
    """The least value above `low` that passes; `high` does."""
    if passes(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _is_whole(one):
            middle = float(math.floor(middle))
        if middle in (low, high):
            break
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _near(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= SAME * max(abs(value), abs(wanted))


def _out_of_reach(model: Model, one: Input, wanted: Wanted, x: Array, y: Array) -> DynoError:
    kind = model.kind_of(wanted.output)
    ends = sorted((float(y[0]), float(y[-1])))
    return DynoError(
        f"{model.name}: no {wanted.name} gives {wanted.output}={wanted.written}: from"
        f" {_shown(one, float(x[0]))} to {_shown(one, float(x[-1]))} it is"
        f" {_plain(kind, ends[0])} to {_plain(kind, ends[1])}",
        cause="another input is the limit, or the value is beyond what the input may be",
        fix=f"ask for a value between these, or change another input"
        f" (--sweep {wanted.name}={written(one, float(x[0]))}..{written(one, float(x[-1]))})",
    )


def _shown(one: Input, value: float) -> str:
    return _plain(one.kind, value)


def _plain(kind: Kind, value: float) -> str:
    """A value with its unit."""
    if kind.name == "share":
        return f"{100 * value:.4g} %"
    if kind.name in ("size", "throughput"):
        place = max(0, min(4, int(math.log2(abs(value)) // 10))) if value else 0
        unit = ("B", "KiB", "MiB", "GiB", "TiB")[place]
        return f"{value / 1024**place:.4g} {unit}{'/s' if kind.name == 'throughput' else ''}"
    return f"{value:.6g} {kind.unit}".strip()
