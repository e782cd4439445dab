"""The frame of models: units in, formulas, ranges, files that inputs are read from."""

from __future__ import annotations

import inspect
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, document, given, kinds, origins, sweep
from dbdyno.models.expression import parsed
from dbdyno.models.model import Golden, Input, Model, Note
from dbdyno.wording.models import words

DOCUMENT = """How long is a rope?

It is as long as its parts.

Formula:
    rope [size] = parts * part
        all of them
    packed [size] = max(rope,
        1 * MiB)
        at least a box

Assumptions:
    None.

Versions:
    All.

Source:
    Here.

Trap:
    Knots.
"""
MODEL = Model(
    name="rope",
    document=document.read(DOCUMENT),
    inputs=(
        Input("part", "size", "a part's length", None, "1", "1Gi",
              variables=("part_size", "rope_options/part"), paths=("spec.parts.0.size",)),
        Input("parts", "count", "how many", "2", "1", "1000", whole=True),
        Input("knots", "word", "whether it has some", "no", words=("yes", "no"),
              variables=("knots",)),
        Input("cost", "price", "what it costs", "1/month"),
        Input("ends", "duration", "its ends", "1s,2s", many=True),
    ),
    outputs=("packed", "rope"),
    says=(("knots == 'yes'", "It has knots."), ("", "It is {packed}.")),
    golden=(Golden({"part": "1Mi"}, {"packed": "2Mi"}, "by hand"),),
    notes=(Note("parts > 10", "{parts} parts is much"),),
    refusals=(Note("parts * part > GiB", "too long: {parts} x {part}"),),
)  # fmt: skip


def ask(**typed: str) -> calculate.Answer:
    return calculate.answer(MODEL, given.take(MODEL, typed, {}))


def test_binary_and_decimal_units_are_told_apart() -> None:
    assert ask(part="3M").values["rope"] == 6e6
    assert ask(part="3Mi").values["rope"] == 6 * 2**20


def test_an_answer_is_the_first_sentence_whose_condition_holds() -> None:
    found = ask(part="3Mi", parts="11")
    assert words.sentence(found, words.all_shown(found)) == "It is 33 MiB."
    assert words.notes(found, words.all_shown(found)) == ["11 parts is much"]
    assert ask(part="3Mi", knots="yes").sentence == "It has knots."


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"part": "50ms"}, "must be a size such as 64M or 1Gi"),
        ({"part": "2Gi"}, "at most 1Gi"),
        ({"part": "1Mi", "parts": "1.5"}, "a whole number"),
        ({"part": "1Mi", "parts": "0"}, "at least 1"),
        ({"part": "1Mi", "knots": "yse"}, "did you mean `yes`?"),
        ({"part": "1Gi", "parts": "2"}, "too long: 2 x 1Gi"),
        ({}, "needs `part` (a part's length)"),
    ],
)
def test_wrong_inputs_are_said(typed: dict[str, str], said: str) -> None:
    with pytest.raises(DynoError) as error:
        ask(**typed)
    assert said in str(error.value)
    assert "part=" in str(error.value) or "=" in str(error.value)


def test_wrong_names_and_forms_are_said() -> None:
    for typed, said in (
        (["prat=1"], "no input `prat`"),
        (["part"], "NAME=VALUE"),
        (["part=1", "part=2"], "given twice"),
    ):
        with pytest.raises(DynoError, match=said):
            given.take(MODEL, given.assignments(_known(typed), MODEL), {})
    with pytest.raises(DynoError, match="did you mean `cost`"):
        models.load("cots")


def _known(typed: list[str]) -> list[str]:
    for one in typed:
        if "=" in one:
            given.known(MODEL, one.partition("=")[0])
    return typed


def test_prices_of_two_currencies_are_refused() -> None:
    cost = models.load("cost")
    assert given.take(cost, {"price": "2 EUR/month", "rate": "1/s"}, {}).currency == "EUR"
    two = Model("two", MODEL.document, (Input("a", "price", "a"), Input("b", "price", "b")),
                (), (), ())  # fmt: skip
    asked = given.take(cost, {"price": "2/month", "rate": "1/s"}, {})
    assert given.in_currency(asked, ("1 EUR/month", "9/month")).currency == "EUR"
    with pytest.raises(DynoError, match="EUR and USD"):
        given.in_currency(asked, ("1 EUR/month", "9 USD/month"))
    with pytest.raises(DynoError, match="EUR and USD"):
        given.take(two, {"a": "2 EUR/month", "b": "2 USD/month"}, {})


def test_a_sweep_draws_nothing_where_it_is_refused_and_says_where_notes_hold() -> None:
    asked = given.take(MODEL, {"part": "100Mi"}, {})
    found = sweep.sweep(MODEL, asked, sweep.parse(MODEL, "parts=1..20"), 20)
    assert found.x.tolist() == list(range(1, 21))
    assert np.isnan(found.outputs["rope"][10:]).all()
    assert found.outputs["rope"][9] == 1000 * 2**20
    assert found.notes == (("{parts} parts is much", 11.0, 20.0, 10),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parts", "NAME=FROM..TO"),
        ("parts=5..5", "is empty"),
        ("parts=0..5", "at least 1"),
        ("ends=1s..2s", "is a list"),
        ("knots=yes..no", "is a word"),
        ("prats=1..2", "no input `prats`"),
    ],
)
def test_wrong_ranges_are_said(text: str, said: str) -> None:
    with pytest.raises(DynoError) as error:
        sweep.parse(MODEL, text)
    assert said in str(error.value)


def test_sensitivity_stays_within_ranges_and_puts_first_what_does_most() -> None:
    found = ask(part="1Gi", parts="1")
    effects = sweep.sensitivity(MODEL, found.given, found.values)
    by_name = {one.name: one for one in effects}
    assert (by_name["part"].low, by_name["part"].high) == (math.floor(0.9 * 2**30), 2**30)
    assert (by_name["parts"].low, by_name["parts"].high) == (1, 2)
    assert by_name["cost"].elasticity == 0
    assert effects[-1].name == "cost"


def test_formulas_are_the_same_on_arrays_and_on_numbers() -> None:
    formula = parsed("(a if a > 2 and not b == 1 else -b) + min(a, b, 3) // 2 + max((1, 5)[0:0], 1)"
                     .replace("max((1, 5)[0:0], 1)", "abs(a - b) ** 0.5"))  # fmt: skip
    a, b = np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0])
    single = [float(formula({"a": x, "b": y})) for x, y in zip(a, b, strict=True)]
    assert formula({"a": a, "b": b}).tolist() == single
    assert math.isnan(parsed("a / a")({"a": 0.0}))
    assert parsed("nth(t, 2) + len(t) + sum(t)")({"t": (1.0, 4.0, 2.0)}) == 12.0


@pytest.mark.parametrize("text", ["a.b", "[1]", "a if b", "lambda: 1", "a; b", "f(x=1)"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parsed(text)({"a": 1.0, "b": 1.0, "x": 1.0}, {"f": lambda x: x})


def test_a_docstring_without_a_part_is_refused() -> None:
    for section in document.SECTIONS:
        with pytest.raises(ValueError, match=section):
            document.read(DOCUMENT.replace(f"{section}:", "Else"))
    with pytest.raises(ValueError, match="is no step"):
        document.read(DOCUMENT.replace("rope [size]", "rope [miles]"))
    assert [step.about for step in document.read(inspect.cleandoc(DOCUMENT)).steps] == [
        "all of them",
        "at least a box",
    ]


@drawn(st.floats(1e-6, 1e6), st.integers(0, 4))
def test_a_figure_is_right_if_the_value_rounds_to_it(value: float, places: int) -> None:
    figure, half = kinds.as_written(kinds.KINDS["number"], f"{value:.{places}f}")
    assert abs(figure - value) <= half * (1 + 1e-9)


def test_units_of_shown_values_fit() -> None:
    shown = {
        ("size", 1.5 * 2**30): "1.5 GiB",
        ("duration", 0.0184): "18.4 ms",
        ("duration", -0.0184): "−18.4 ms",
        ("rate", 34870.0): "34,870/s",
        ("share", 0.257): "25.7 %",
        ("price", 2035.49): "2,035.49 EUR a month",
        ("money", 1.8923): "1.892 EUR",
        ("throughput", 49152000.0): "46.88 MiB/s",
        ("count", 4111896.0): "4,111,896",
        ("date", 738000.0): "2021-07-29",
        ("date", math.inf): "never",
        ("number", math.nan): "–",
    }
    for (kind, value), text in shown.items():
        assert words.shown(kinds.KINDS[kind], value, "EUR") == text


def test_an_option_file_counts_in_powers_of_1024_and_the_last_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(
        "[client]\npart_size=9M\n[mysqld-10.11]\nloose-part-size = 1M # old\n"
        "part_size=3M\nskip-knots\nknots=ON\n!includedir /x\n"
    )
    read = origins.read_file(MODEL, file)
    assert read["part"] == ("3Mi", f"{file}, part_size")
    assert read["knots"][0] == "yes"
    found = calculate.answer(MODEL, given.take(MODEL, {"parts": "4"}, read))
    assert found.values["rope"] == 12 * 2**20
    assert given.take(MODEL, {"part": "1"}, read).values["part"] == 1.0, "typed ones go first"


def test_yaml_files_are_read_by_paths_of_all_documents(tmp_path: Path) -> None:
    file = tmp_path / "cr.yaml"
    file.write_text("kind: other\n---\nspec:\n  parts:\n  - size: 3M\n")
    assert origins.read_file(MODEL, file)["part"] == ("3M", f"{file}, spec.parts.0.size")


@pytest.mark.parametrize("version", ["pxc.percona.com/v1", "psmdb.percona.com/v2", "v1"])
def test_a_manifest_of_something_else_is_refused(tmp_path: Path, version: str) -> None:
    model = models.load("wiredtiger-cache")
    replica_set = "replsets: [{resources: {limits: {memory: 3G}}}]"
    ratio = "mongod: {storage: {wiredTiger: {engineConfig: {cacheSizeRatio: 0.8}}}}"
    spec = f"spec: {{{replica_set}, {ratio}}}"
    file = tmp_path / "cr.yaml"
    file.write_text(f"apiVersion: {version}\nkind: Some\n{spec}\n")
    with pytest.raises(DynoError, match=f"does not read `{version}` .Some."):
        origins.read_file(model, file)
    file.write_text(f"apiVersion: v1\n---\napiVersion: psmdb.percona.com/v1-10-0\n{spec}\n")
    read = origins.read_file(model, file)
    assert (read["limit"][0], read["ratio"][0]) == ("3G", "0.8")


def test_words_and_periods_of_other_programs_are_put_into_ours(tmp_path: Path) -> None:
    redis, galera = tmp_path / "redis.conf", tmp_path / "my.cnf"
    redis.write_text("appendonly yes\nappendfsync always\n")
    galera.write_text("[mysqld]\nwsrep_provider_options='evs.suspect_timeout = PT1M2.5S; pc.x=1'\n")
    model = models.load("redis-restart")
    found = given.take(model, {"memory": "1Gi"}, origins.read_file(model, redis)).values
    assert (found["method"], found["sync"]) == ("aof", "always")
    model = models.load("cluster-timeline")
    assert given.take(model, {}, origins.read_file(model, galera)).values["suspect"] == 62.5


def test_a_key_within_a_variable_is_found() -> None:
    variables = {"rope_options": "gap = 1; part = 64; end = x"}
    assert origins.from_variables(MODEL, variables.get, "db1")["part"][0] == "64"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.cnf", "[mysqld]\nother=1\n", "part_size"),
        ("a.yaml", "a: [", "no YAML"),
        ("a.yaml", "- 1\n", "spec.parts.0.size"),
        ("a.txt", "", "neither an option file nor YAML"),
        ("a.cnf", None, "does not exist"),
    ],
)
def test_files_that_say_nothing_are_refused(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DynoError) as error:
        origins.read_file(MODEL, tmp_path / name)
    assert said in str(error.value)


def bson(fields: dict[str, str]) -> bytes:
    """A document of strings by the BSON specification 1.1."""
    body = b""
    for name, value in fields.items():
        text = value.encode() + b"\0"
        body += b"\x02" + name.encode() + b"\0" + len(text).to_bytes(4, "little") + text
    return (len(body) + 5).to_bytes(4, "little") + body + b"\0"


@drawn(st.dictionaries(st.text("abcdefgh", min_size=2, max_size=20), st.text("x"), min_size=1))
def test_short_names_save_in_bson_what_the_model_says(fields: dict[str, str]) -> None:
    assert bson({"hello": "world"})[:4] == b"\x16\0\0\0"  # the specification's own example
    long = bson(fields)
    short = bson({f"{i:02}": value for i, value in enumerate(fields.values())})
    typed = {
        "documents": "1",
        "document": str(len(long)),
        "names": str(sum(map(len, fields))),
        "fields": str(len(fields)),
        "short_name": "2",
    }
    model = models.load("document-overhead")
    found = calculate.answer(model, given.take(model, typed, {})).values
    assert found["saved"] == len(long) - len(short)
    assert found["raw"] == len(long)


def test_few_whole_numbers_are_all_swept() -> None:
    model = models.load("commit-ceiling")
    asked = given.take(model, {"fsyncs": "100/s"}, {})
    found = sweep.sweep(model, asked, sweep.parse(model, "sessions=1..64"))
    assert found.x.tolist() == list(range(1, 65))
    assert not found.by_factors
    assert sweep.sweep(model, asked, sweep.parse(model, "sessions=1..100k")).by_factors
