"""What all drawings of an answer share, as rows of text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dbdyno.models.calculate import Answer
from dbdyno.models.document import Step
from dbdyno.models.given import DEFAULT, TYPED
from dbdyno.models.model import Model
from dbdyno.models.sweep import Effect, Sweep
from dbdyno.wording.models import words
from dbdyno.wording.numbers import MISSING

_NAME = re.compile(r"\"[^\"]*\"|'[^']*'|[A-Za-z_]\w*(?!\w*\()")
SWEPT_ROWS = 11


def outputs(answer: Answer, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(name, value, what it is) of each output."""
    steps = [answer.model.step(name) for name in answer.model.outputs]
    return [(one.name, values[one.name], one.about) for one in steps]


def inputs(answer: Answer, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(name, value, where from) of each input. A size is repeated as it was written where that
    differs: 3G is 2.794 GiB."""
    rows = []
    for one in answer.model.inputs:
        origin, text = answer.given.origin[one.name], values[one.name]
        written = answer.given.written[one.name]
        if one.kind_name == "size" and written.replace(" ", "").rstrip("B") != text.replace(
            " ", ""
        ).rstrip("B"):
            text = f"{text} ({written})"
        source = {DEFAULT: "default", TYPED: ""}.get(origin, origin)
        rows.append((one.name, text, source))
    return rows


def explained(answer: Answer, values: Mapping[str, str]) -> list[tuple[str, str, str, str, str]]:
    """(name, formula, the same with its numbers, value, what it is) of each step."""
    return [
        (step.name, step.expression.text, _numbers(step, values), values[step.name], step.about)
        for step in answer.model.document.steps
    ]


def _numbers(step: Step, values: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: values.get(found.group(), found.group()), step.expression.text)


def effects(
    model: Model, found: Sequence[Effect], currency: str
) -> list[tuple[str, str, str, str]]:
    """(input, range, what the answer becomes, change by 1 % more) of each input."""
    output = model.numeric(model.outputs)[0]
    rows = []
    for one in found:
        ends = [words.one(model, one.name, value, currency) for value in (one.low, one.high)]
        at = [words.one(model, output, value, currency) for value in (one.at_low, one.at_high)]
        by = (
            MISSING
            if one.elasticity is None
            else f"{one.elasticity + 0.0:+.2f} %".replace("-", "−")
        )
        rows.append((one.name, " to ".join(ends), " to ".join(at), by))
    return rows


def drawn(model: Model, found: Sweep) -> list[str]:
    """Outputs that a curve can show: all but dates."""
    return [name for name in found.outputs if model.kind_of(name).name != "date"]


def swept(model: Model, found: Sweep, currency: str) -> list[tuple[str, ...]]:
    """Some points of a sweep: the input, then each output."""
    length = len(found.x)
    count = min(length, SWEPT_ROWS)
    places = [round(i * (length - 1) / max(1, count - 1)) for i in range(count)]
    return [
        (
            words.one(model, found.range.name, float(found.x[i]), currency),
            *(words.one(model, key, float(of[i]), currency) for key, of in found.outputs.items()),
        )
        for i in dict.fromkeys(places)
    ]


def swept_notes(model: Model, found: Sweep, currency: str) -> list[str]:
    """What limits parts of a sweep, and where. A note's values differ from point to point: their
    names replace them."""
    lines = []
    for text, first, last, count in found.notes:
        ends = [words.one(model, found.range.name, value, currency) for value in (first, last)]
        where = (
            "everywhere" if count == len(found.x) else f"{found.range.name} {ends[0]} to {ends[1]}"
        )
        lines.append(f"{where}: " + re.sub(r"\{(\w+)\}", r"`\1`", text))
    return lines
