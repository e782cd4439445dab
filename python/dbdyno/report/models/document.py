"""An answer as JSON: values in base units (bytes, seconds, 1/s, fractions), and as they are
shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.models.calculate import Answer
from dbdyno.models.kinds import Kind, Value
from dbdyno.models.sweep import Effect, Sweep
from dbdyno.wording.models import words

SCHEMA_VERSION = 1


def to_json(
    answer: Answer,
    values: Mapping[str, str],
    effects: Sequence[Effect] | None = None,
    sweep: Sweep | None = None,
) -> dict[str, Any]:
    """The whole answer. Infinite values and those that are not defined are null."""
    model, given = answer.model, answer.given
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "model": model.name,
        "question": model.document.question,
        "answer": words.sentence(answer, values),
        "notes": words.notes(answer, values),
        "currency": given.currency or None,
        "inputs": {
            one.name: {
                **_value(one.kind, answer.values[one.name], values[one.name]),
                "written": given.written[one.name],
                "origin": given.origin[one.name],
            }
            for one in model.inputs
        },
        "outputs": {
            name: _value(model.kind_of(name), answer.values[name], values[name])
            for name in model.outputs
        },
        "steps": [
            {
                "name": step.name,
                "formula": step.expression.text,
                "about": step.about,
                **_value(step.kind, answer.values[step.name], values[step.name]),
            }
            for step in model.document.steps
        ],
    }
    if effects is not None:
        made["sensitivity"] = {
            "output": model.numeric(model.outputs)[0],
            "inputs": [
                {
                    "name": one.name,
                    "input": [one.low, one.high],
                    "output": [_finite(one.at_low), _finite(one.at_high)],
                    "elasticity": one.elasticity,
                }
                for one in effects
            ],
        }
    if sweep is not None:
        made["sweep"] = {
            "input": sweep.range.name,
            "unit": model.kind_of(sweep.range.name).unit,
            "values": sweep.x.tolist(),
            "outputs": {
                name: [_finite(value) for value in of.tolist()]
                for name, of in sweep.outputs.items()
            },
            "notes": [
                {"text": text, "first": first, "last": last, "points": count}
                for text, first, last, count in sweep.notes
            ],
        }
    return made


def _value(kind: Kind, value: Value, shown: str) -> dict[str, Any]:
    found: Any = value
    if isinstance(value, tuple):
        found = [_finite(one) for one in value]
    elif isinstance(value, float):
        found = _finite(value)
    return {"value": found, "unit": kind.unit, "shown": shown}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
