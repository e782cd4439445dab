"""When transactions are due: `rate`, `arrivals`, `find` and `think` of a group.

Closed loop: each session sends its next transaction when the last is answered (after `think`). A
`think` per operation is part of the transaction, and thus goes with either loop. Open loop:
transactions are due on a schedule, whether or not earlier ones are answered; only there does
response time (from when it was due) differ from service time. The models are at the file's edge;
`read` and `think` turn them into `types.Arrivals`, `Find` and `Think`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from dbdyno.errors import DynoError, Where
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.parser import parse_condition
from dbdyno.experiment.claims.types import shifted
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.types import Arrivals, Find, RateStep, Think
from dbdyno.experiment.values import units
from dbdyno.experiment.values.scalars import (
    Duration,
    Fraction,
    Rate,
    RateOrNone,
    Strict,
    positive_s,
)

STEPS_MAX = 1000
CONDITIONS_MAX = 20
WITHIN_MIN = 0.001  # noise of neighbouring trials is larger by far
THINK_MAX_S = 3600.0  # the engine's limit too
POISSON = "poisson"


class RateStepModel(Strict):
    """Step of a schedule: a constant rate (`at`), or a linear change from the previous rate (0 at
    first) to another one (`to`)."""

    length: Duration | None = Field(
        None, alias="for", description="length of the step; only the last step may omit it"
    )
    at: RateOrNone | None = Field(None, description="constant rate of the step")
    to: RateOrNone | None = Field(None, description="rate at the end of the step")


class FindModel(Strict):
    """Search within each trial for the highest rate that meets conditions, by probes."""

    rate: Literal["max"] = Field(description="quantity to maximise")
    conditions: list[str] = Field(
        alias="while",
        min_length=1,
        max_length=CONDITIONS_MAX,
        description="condition to meet, such as response_ms_p99 < 20",
    )
    start: Rate = Field(100.0, description="rate of the first probe")
    within: Fraction = Field(0.02, description="relative width at which the search ends")
    failed_max: Fraction = Field(
        0.001, description="largest share of failed arrivals at a rate that counts as sustained"
    )


class ThinkModel(Strict):
    """Think time: a pause with its distribution."""

    mean: Duration
    distribution: Literal["constant", "exponential"] = Field(
        "constant", description="exponential: like pauses of independent users"
    )
    per: Literal["transaction", "operation"] = Field(
        "transaction",
        description="operation: before each, part of the transaction's latency, in any loop",
    )


_RATE_TEXT = {"type": "string", "pattern": units.RATE_PATTERN, "examples": ["5000/s"]}
_TIME_TEXT = {"type": "string", "pattern": units.DURATION_PATTERN, "examples": ["10ms"]}
_STEPS = {
    "type": "array",
    "minItems": 1,
    "maxItems": STEPS_MAX,
    "items": RateStepModel.model_json_schema(),
}
_CONDITION = {"type": "string", "examples": ["response_ms_p99 < 20"]}


def _schedule(value: object) -> object:
    """One rate as the schedule that it abbreviates."""
    if isinstance(value, list):
        return value
    return [RateStepModel.model_validate({"at": f"{units.rate_per_s(value):.17g}/s"})]


def _search(value: object) -> object:
    """A single condition as the list that it abbreviates."""
    if isinstance(value, dict) and isinstance(value.get("while"), str):
        return {**value, "while": [value["while"]]}
    return value


def _pause(value: object) -> object:
    """A length alone as the constant pause that it abbreviates."""
    if isinstance(value, dict):
        return value
    positive_s(value)
    return {"mean": value}


def _search_schema() -> dict[str, Any]:
    schema = FindModel.model_json_schema()
    listed = schema["properties"]["while"]
    schema["properties"]["while"] = {
        "anyOf": [_CONDITION, listed],
        "description": listed.pop("description"),
    }
    return schema


Schedule = Annotated[
    list[RateStepModel],
    BeforeValidator(_schedule),
    WithJsonSchema({"anyOf": [_RATE_TEXT, _STEPS]}),
    Field(min_length=1, max_length=STEPS_MAX),
]
Search = Annotated[FindModel, BeforeValidator(_search), WithJsonSchema(_search_schema())]
ThinkTime = Annotated[
    ThinkModel,
    BeforeValidator(_pause),
    WithJsonSchema({"anyOf": [_TIME_TEXT, ThinkModel.model_json_schema()]}),
]


def read(
    name: str,
    rate: Sequence[RateStepModel] | None,
    process: str | None,
    find: FindModel | None,
    pause: ThinkModel | None,
    duration: tuple[float, Where],
    node: Node,
) -> tuple[Arrivals | None, Find | None, Think | None]:
    """The loop of group `name`: at most one of the first two, and of an open loop no pauses between
    transactions. `duration` of the cell in seconds, with
    its place; `node` is the group. DynoError for what contradicts itself."""
    _refuse_both(name, "rate", rate, "find", find, "the search chooses the rate", node)
    if pause is not None and pause.per == "transaction":
        for key, other in (("rate", rate), ("find", find)):
            cause = "in an open loop only the schedule defines when transactions are due"
            _refuse_both(name, "think", pause, key, other, cause, node)
    if process is not None and rate is None and find is None:
        raise DynoError(
            f"group `{name}`: `arrivals` needs `rate` or `find`",
            where=_key(node, "arrivals"),
            cause="a closed loop has no arrivals: it sends as fast as answers come",
            fix="add `rate: 1000/s`, or remove `arrivals`",
        )
    process = process or POISSON
    think = _think(name, pause, node)
    if rate is not None:
        return Arrivals(process, _steps(name, rate, duration, node)), None, think
    if find is not None:
        return None, _find(name, find, process, duration[0], node), think
    return None, None, think


def _think(name: str, pause: ThinkModel | None, node: Node) -> Think | None:
    if pause is None:
        return None
    if pause.mean > THINK_MAX_S:
        raise DynoError(
            f"group `{name}`: `think` {pause.mean:g} s is longer than an hour",
            where=_value(node, "think"),
            fix="write a shorter pause",
        )
    return Think(pause.mean, pause.distribution, pause.per)


def _steps(
    name: str, rate: Sequence[RateStepModel], duration: tuple[float, Where], node: Node
) -> tuple[RateStep, ...]:
    """The schedule with every step's rate at its beginning filled in."""
    places = node.mapping["rate"].items or (node.mapping["rate"],) * len(rate)
    steps: list[RateStep] = []
    before, begins_s = 0.0, 0.0
    for number, (step, place) in enumerate(zip(rate, places, strict=True), start=1):
        which = f"group `{name}`: step {number} of `rate`"
        if (step.at is None) == (step.to is None):
            raise DynoError(
                f"{which} {'has both `at` and `to`' if step.at is not None else 'has no rate'}",
                where=place.where,
                fix="write `at: 5000/s` for a constant rate, or `to: 5000/s` for a ramp to it",
            )
        if step.length is None and number < len(rate):
            raise DynoError(
                f"{which} has no `for`, so the steps after it would never begin",
                where=place.where,
                fix="give its length; only the last step may omit it",
            )
        if step.length is None and step.to is not None:
            raise DynoError(
                f"{which} has no `for`, so its ramp has no end",
                where=place.where,
                fix=f"write `{{for: 30s, to: {step.to:g}/s}}`, or `at:` for a constant rate",
            )
        if begins_s >= duration[0]:
            raise DynoError(
                f"{which} would never begin: the steps before it take {begins_s:g} s, and"
                f" `duration` is {duration[0]:g} s",
                where=place.where,
                fix="measure longer, or shorten the steps",
            )
        after = step.at if step.at is not None else step.to
        assert after is not None
        steps.append(RateStep(step.length, before if step.at is None else after, after))
        before, begins_s = after, begins_s + (step.length or 0.0)
    if not any(step.from_per_s or step.to_per_s for step in steps):
        raise DynoError(
            f"group `{name}`: `rate` is zero all along",
            where=_value(node, "rate"),
            fix="give a rate above zero",
        )
    return tuple(steps)


def _find(name: str, find: FindModel, process: str, duration_s: float, node: Node) -> Find:
    inner = node.mapping["find"]
    if find.within < WITHIN_MIN:
        raise DynoError(
            f"group `{name}`: `within` is {find.within:.2%}, and {WITHIN_MIN:.1%} is the least",
            where=_value(inner, "within"),
            cause="neighbouring trials differ by more than that",
            fix="write `within: 2%`",
        )
    places = inner.mapping["while"].items or (inner.mapping["while"],)
    texts = []
    for text, place in zip(find.conditions, places, strict=True):
        where = shifted(place.where, 1) if place.quoted else place.where
        texts.append(_condition(name, text, where, find.start * duration_s))
    return Find(tuple(texts), process, find.start, find.within, find.failed_max)


def _condition(name: str, text: str, where: Where | None, transactions: float) -> str:
    """A condition with its canonical, unprefixed metric. `transactions`: of the first probe."""
    condition = parse_condition(text, metrics.Scope((name,), open_loops=(name,)), where)
    known = metrics.info(condition.metric)
    if not metrics.rises_with_load(condition.metric):
        raise DynoError(
            f"group `{name}`: a search cannot depend on `{condition.metric}`",
            where=where,
            cause="it needs what grows with the rate: times and errors of this group",
            fix="write `while: response_ms_p99 < 20`; sustaining the rate is always required",
        )
    if condition.operator not in ("<", "<="):
        raise DynoError(
            f"group `{name}`: `{text}` is true at every high rate, so no rate is the highest",
            where=where,
            fix=f"write `{condition.metric} < {condition.threshold:g}`",
        )
    needed = metrics.values_needed(known.name)
    if transactions < needed:
        raise DynoError(
            f"group `{name}`: the first probe has about {transactions:,.0f} transactions, and"
            f" `{condition.metric}` needs {needed:,}",
            where=where,
            cause="a percentile is given only with ten values beyond it",
            fix=f"raise `start` or `duration`: start x duration must be {needed:,} or more",
        )
    return condition.text


def needed_for(conditions: Sequence[str]) -> int:
    """Transactions that a probe must have for all its conditions' percentiles."""
    names = [text.split()[0] for text in conditions]
    return max((metrics.values_needed(name) for name in names), default=1)


def lowest_per_s(conditions: Sequence[str], duration_s: float) -> float:
    """The lowest rate at which a probe judges all of `conditions`. Arrivals are as many as chance
    has them, so three standard deviations more are expected than are needed."""
    needed = needed_for(conditions)
    return (needed + 3 * math.sqrt(needed)) / duration_s


def scaled(arrivals: Arrivals, factor: float) -> Arrivals:
    """The same schedule in `factor` of the time: a quick run still sees all of its steps."""
    steps = tuple(
        RateStep(
            None if step.for_s is None else step.for_s * factor, step.from_per_s, step.to_per_s
        )
        for step in arrivals.steps
    )
    return Arrivals(arrivals.process, steps)


def mean_rate_per_s(arrivals: Arrivals, duration_s: float) -> float:
    """Arrivals a second over the measured phase, on average."""
    return _arrivals(arrivals, duration_s) / duration_s


def rate_max_per_s(arrivals: Arrivals) -> float:
    """The highest rate of a schedule."""
    return max(max(step.from_per_s, step.to_per_s) for step in arrivals.steps)


def _arrivals(arrivals: Arrivals, duration_s: float) -> float:
    left_s, total = duration_s, 0.0
    for number, step in enumerate(arrivals.steps, start=1):
        last = number == len(arrivals.steps)
        length_s = left_s if step.for_s is None else min(step.for_s, left_s)
        if step.for_s:
            end = step.from_per_s + (step.to_per_s - step.from_per_s) * length_s / step.for_s
            total += (step.from_per_s + end) / 2 * length_s
        else:
            total += step.to_per_s * length_s
        left_s -= length_s
        if last and left_s > 0:  # the last step holds its final rate
            total += step.to_per_s * left_s
    return total if math.isfinite(total) else 0.0


def _refuse_both(
    name: str, one: str, first: object, two: str, second: object, cause: str, node: Node
) -> None:
    if first is None or second is None:
        return
    raise DynoError(
        f"group `{name}` has both `{one}` and `{two}`",
        where=_key(node, one),
        cause=cause,
        fix=f"keep one of them; a level removes the other with `{two}: null`",
    )


def _key(node: Node, key: str) -> Where:
    return node.mapping[key].place if key in node.mapping else node.place


def _value(node: Node, key: str) -> Where:
    return node.mapping[key].where if key in node.mapping else node.place
