"""A model's answer: its formula, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdyno.errors import DynoError
from dbdyno.models.expression import CONSTANTS, parsed
from dbdyno.models.given import Given, example
from dbdyno.models.kinds import Value
from dbdyno.models.model import Model, Note


@dataclass(frozen=True)
class Answer:
    """Inputs and steps by name, in the order of the formula. `notes` are the texts of those that
    hold, and `sentence` the answer, both with {names} to be filled in."""

    model: Model
    given: Given
    values: Mapping[str, Value]
    sentence: str
    notes: tuple[str, ...]


def answer(model: Model, given: Given) -> Answer:
    """Computes it once. DynoError for inputs that cannot be together."""
    values: dict[str, Any] = dict(given.values)
    asked = frozenset(values)  # what only inputs decide is refused before anything is computed
    for one in model.refusals:
        if parsed(one.when).names <= asked | CONSTANTS.keys():
            _refuse(one, values, model, given)
    for step in model.document.steps:
        found = step.expression(values, model.functions)
        values[step.name] = str(found) if not step.kind.is_number else float(found)
    for one in model.refusals:
        _refuse(one, values, model, given)
    return Answer(
        model=model,
        given=given,
        values=values,
        sentence=next(text for when, text in model.says if _holds(when, values, model)),
        notes=tuple(note.text for note in model.notes if _holds(note.when, values, model)),
    )


def compute(model: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """All steps with arrays among the inputs: arrays of one length, or single values. Elements that
    a refusal refuses are nan."""
    found: dict[str, Any] = dict(values)
    for step in model.document.steps:
        found[step.name] = step.expression(found, model.functions)
    refused: Any = False
    for one in model.refusals:
        refused = np.logical_or(refused, parsed(one.when)(found, model.functions))
    if np.any(refused):
        for step in model.document.steps:
            if step.kind.is_number:
                found[step.name] = np.where(refused, np.nan, found[step.name])
    return found


def _refuse(one: Note, values: Mapping[str, Any], model: Model, given: Given) -> None:
    if _holds(one.when, values, model):
        raise DynoError(
            f"{model.name}: {fill(one.text, given.written)}",
            fix=f"such as dyno model {model.name} {example(model)}",
        )


def _holds(when: str, values: Mapping[str, Any], model: Model) -> bool:
    return not when or bool(parsed(when)(values, model.functions))


def fill(text: str, shown: Mapping[str, str]) -> str:
    """A text with its {names} filled in."""
    return text.format_map(shown)
