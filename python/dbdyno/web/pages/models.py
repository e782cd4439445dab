"""Models as forms: what is typed is computed at once, and one input is swept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import Model, calculate, given, sweep
from dbdyno.models.model import Input
from dbdyno.models.sweep import Effect
from dbdyno.report.models import document, page
from dbdyno.web.page import Page
from dbdyno.web.site import NotFound, Site
from dbdyno.wording.models import words

SWEPT, FROM, TO = "sweep", "sweep-from", "sweep-to"  # fields next to the inputs
# A sweep goes from an eighth of what is typed to eight times that, within its limits; sizes in
# binary units stay whole numbers of bytes.
SPAN = 8.0
_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """An input of the form, with what is typed. `step`: what its slider rounds numbers to, 0 for
    three digits; None: it has no slider."""

    one: Input
    value: str
    step: float | None


@dataclass(frozen=True)
class Solved:
    """What a model answers."""

    answer: calculate.Answer
    values: Mapping[str, str]
    effects: list[Effect]
    curve: sweep.Sweep | None


def listing(site: Site, request: Request) -> Page:
    """All models."""
    every = [models.load(name) for name in models.names()]
    return Page(
        "models.html.j2",
        lambda: {"models": every},
        lambda: [{"name": one.name, "question": one.document.question} for one in every],
    )


def shown(site: Site, request: Request) -> Page:
    """One model: its form, and the answer to what is typed in it."""
    name = request.path_params["name"]
    if name not in models.names():
        raise NotFound("There is no such model.")
    model = models.load(name)
    fields = [_field(one, request.query_params.get(one.name, "").strip()) for one in model.inputs]
    typed = {field.one.name: field.value for field in fields}
    swept = _swept(model, typed, request.query_params)
    form = {"model": model, "fields": fields, "swept_by": swept, "can": _can(model)}
    try:
        solved = _solved(model, typed, swept)
    except DynoError as error:
        facts = {"what": error.what, "cause": error.cause, "fix": error.fix}
        return Page(
            "model_wrong.html.j2", lambda: {**form, **facts}, lambda: {"error": facts}, status=422
        )

    def data() -> Mapping[str, Any]:
        return {
            **page.view(solved.answer, solved.values, solved.effects, solved.curve),
            **form,
        }

    def twin() -> Any:
        return document.to_json(solved.answer, solved.values, solved.effects, solved.curve)

    return Page("model_form.html.j2", data, twin)


def _solved(model: Model, typed: Mapping[str, str], swept: tuple[str, str, str] | None) -> Solved:
    asked = given.take(model, typed, {})
    curve = None
    if swept is not None:
        over = sweep.parse(model, "{}={}..{}".format(*swept))
        if model.kind_of(over.name).name == "price":
            asked = given.in_currency(asked, over.written)
        curve = sweep.sweep(model, asked, over)
    answer = calculate.answer(model, asked)
    effects = list(sweep.sensitivity(model, asked, answer.values))
    return Solved(answer, words.all_shown(answer), effects, curve)


def _field(one: Input, typed: str) -> Field:
    value = typed or one.written
    found = _NUMBER.fullmatch(value)
    return Field(one, value, _step(one, found[2]) if sweep.is_swept(one) and found else None)


def _step(one: Input, unit: str) -> float:
    """What numbers before a unit are multiples of: whole ones, whole bytes; 0: of nothing."""
    if one.whole or (one.kind_name == "size" and not unit):
        return 1.0
    return 2.0**-6 if one.kind_name == "size" and "i" in unit else 0.0


def _can(model: Model) -> list[str]:
    return [one.name for one in model.inputs if sweep.is_swept(one)]


def _swept(
    model: Model, typed: Mapping[str, str], query: Mapping[str, str]
) -> tuple[str, str, str] | None:
    """Which input is swept, from where to where: as typed, else the first one around its value;
    None if nothing can be."""
    can = _can(model)
    name = query.get(SWEPT) or (can[0] if can else "")
    one = model.input(name)
    if one is None or name not in can:
        return None
    low, high = _around(one, typed[name])
    return name, query.get(FROM, "").strip() or low, query.get(TO, "").strip() or high


def _around(one: Input, written: str) -> tuple[str, str]:
    """A range about a value, in its unit, within the limits of the input."""
    found = _NUMBER.fullmatch(written)
    if found is None:
        return written, written
    number, unit = float(found[1]), found[2]
    ends = (number / SPAN, number * SPAN) if number else (0.0, SPAN)
    if number and (step := _step(one, unit)):
        ends = (max(step, round(ends[0] / step) * step), round(ends[1] / step) * step)
    low, high = (f"{end:.10g}{unit}" for end in ends)
    return _limited(one, low, one.low, max), _limited(one, high, one.high, min)


def _limited(one: Input, text: str, limit: str | None, better: Any) -> str:
    if limit is None:
        return text
    try:
        value, edge = float(one.kind.parse(text)), float(one.kind.parse(limit))
    except (ValueError, OverflowError):  # the model's answer reports it
        return text
    return text if better(value, edge) == value else limit
