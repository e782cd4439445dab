"""Every model: its file is whole, its golden numbers hold, its page is what the file says, and what
it refuses it refuses clearly."""

from __future__ import annotations

import re
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given, kinds, sweep
from dbdyno.models.expression import CONSTANTS, FUNCTIONS, parsed
from dbdyno.models.model import Golden, Input, Model
from dbdyno.report.models import document, page, text
from dbdyno.wording.models import words
from fixtures.schemas import valid

ROOT = Path(__file__).parents[2]
ALL = [models.load(name) for name in models.names()]
GOLDEN = [(model, one) for model in ALL for one in model.golden]
NAMES = re.compile(r"\{(\w+)\}")
SECONDS_MAX = 60.0  # a hang, not a measure of speed


def asked(model: Model, one: Golden) -> given.Given:
    return given.take(model, one.given, {})


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_a_model_s_file_is_whole(model: Model) -> None:
    assert model.document.question.endswith("?")
    assert model.document.prose
    assert model.golden and model.inputs and model.outputs
    assert model.says[-1][0] == "", "the last sentence is for all other cases"
    known = {one.name for one in model.inputs}
    for one in model.inputs:
        assert one.about, one.name
        assert (one.kind_name == "word") == bool(one.words), one.name
        for written in filter(None, (one.default, one.low, one.high)):
            given.value_of(model, one, written)
    for step in model.document.steps:
        assert step.about, step.name
        assert step.name not in known, f"{step.name} is there twice"
        assert step.expression.names <= known | CONSTANTS.keys(), (step.name, step.expression.names)
        assert step.expression.functions <= FUNCTIONS.keys() | model.functions.keys(), step.name
        known.add(step.name)
    assert set(model.outputs) <= known
    conditions = [when for when, _ in model.says if when]
    conditions += [one.when for one in (*model.notes, *model.refusals)]
    for when in conditions:
        assert parsed(when).names <= known | CONSTANTS.keys(), when
        assert parsed(when).functions <= FUNCTIONS.keys() | model.functions.keys(), when
    for said in [*(said for _, said in model.says), *(note.text for note in model.notes)]:
        assert set(NAMES.findall(said)) <= known, said
    for one in model.refusals:
        assert set(NAMES.findall(one.text)) <= {asked.name for asked in model.inputs}, one.text
    for function in model.functions.values():
        assert function.__doc__, function


@pytest.mark.parametrize(("model", "one"), GOLDEN, ids=lambda x: getattr(x, "name", ""))
def test_golden_numbers_hold(model: Model, one: Golden) -> None:
    answer = calculate.answer(model, asked(model, one))
    assert one.gives
    for name, written in one.gives.items():
        kind, value = model.kind_of(name), answer.values[name]
        if not isinstance(value, float) or kind.name == "date":
            assert value == kind.parse(written), name
            continue
        figure, half = kinds.as_written(kind, written)
        assert abs(value - figure) <= half * (1 + 1e-9) + 1e-12 * abs(figure), (
            name,
            value,
            written,
        )


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_what_was_measured_is_near(model: Model) -> None:
    assert bool(model.measured) == bool(model.measured_on)
    for one in model.measured:
        values = calculate.answer(model, given.take(model, one.given, {})).values
        for name, written in one.gives.items():
            there, _ = kinds.as_written(model.kind_of(name), written)
            assert values[name] == pytest.approx(there, rel=one.within), (one.given, name)


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_a_sweep_is_what_single_answers_are(model: Model) -> None:
    base = asked(model, model.golden[0])
    for one in model.inputs:
        if not one.kind.is_number or one.many:
            continue
        low, high = ends(one, base)
        found = sweep.sweep(model, base, sweep.Range(one.name, low, high, ("", "")), 7)
        for i, x in enumerate(found.x.tolist()):
            again = given.Given({**base.values, one.name: x}, base.written, base.origin, "")
            try:
                values = calculate.answer(model, again).values
            except DynoError:  # refused: nothing is drawn there
                assert all(np.isnan(of[i]) for of in found.outputs.values())
                continue
            for name, of in found.outputs.items():
                assert of[i] == pytest.approx(values[name], rel=1e-12, nan_ok=True), (one.name, x)


def ends(one: Input, base: given.Given) -> tuple[float, float]:
    low, high = given.limits(one)
    value = base.values[one.name]
    assert isinstance(value, float)
    low = low if np.isfinite(low) else value / 2
    high = high if np.isfinite(high) else max(2 * value, low + 10)
    return low, high


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_ten_thousand_points_are_computed_at_once(model: Model) -> None:
    base = asked(model, model.golden[0])
    one = next((i for i in model.inputs if i.kind.is_number and not i.many), None)
    if one is None:  # lists and words alone
        return
    began = time.monotonic()
    sweep.sweep(model, base, sweep.Range(one.name, *ends(one, base), ("", "")), 10_000)
    assert time.monotonic() - began < SECONDS_MAX


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_every_drawing_of_an_answer_can_be_made(model: Model) -> None:
    for one in model.golden:
        answer = calculate.answer(model, asked(model, one))
        values = words.all_shown(answer)
        effects = sweep.sensitivity(model, answer.given, answer.values)
        said = text.text(answer, values, explain=True, effects=effects)
        assert words.sentence(answer, values) in " ".join(said.split("\n"))
        assert "nan" not in said and "{" not in said
        assert valid("model", document.to_json(answer, values, effects))["answer"]
        assert "</html>" in page.page(answer, values, effects, None)


@pytest.mark.parametrize("model", ALL, ids=lambda m: m.name)
def test_values_out_of_range_are_refused_with_an_example(model: Model) -> None:
    for one in model.inputs:
        for value, limit in ((one.low, -1.0), (one.high, 1.0)):
            if value is None:
                continue
            beyond = float(one.kind.parse(value)) + limit * max(
                1.0, abs(float(one.kind.parse(value)))
            )
            assert given.outside(one, beyond)
        with pytest.raises(DynoError) as error:
            given.value_of(model, one, "3 parsecs")
        assert one.name in str(error.value)
        assert "such as" in str(error.value) or "known:" in str(error.value)


def test_pages_are_what_the_files_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")  # where the program finds how pages are written
    code = import_module("model_pages").main(["--check"])
    assert code == 0, capsys.readouterr().err
