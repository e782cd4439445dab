"""Inverse questions to models: `dyno model NAME --solve INPUT --for OUTPUT=VALUE`."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner, Result

from dbdyno import models
from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given, solve
from dbdyno.models.model import Model
from fixtures.schemas import valid


def asked(*words: str) -> Result:
    return CliRunner().invoke(dyno, ["model", *words], standalone_mode=False)


def solved(name: str, asked_for: str, target: str, **typed: str) -> tuple[float, float]:
    """The input that was found, and the output that it gives."""
    model = models.load(name)
    wanted = solve.parse(model, asked_for, target)
    taken = given.take(model, {**typed, wanted.name: solve.place(model, wanted)}, {})
    found = solve.solve(model, taken, wanted)
    value = found.values[wanted.name]
    output = calculate.answer(model, found).values[wanted.output]
    assert isinstance(value, float) and isinstance(output, float)
    again = given.take(model, {**typed, wanted.name: found.written[wanted.name]}, {})
    assert again.values[wanted.name] == value  # what is written can be typed
    return value, output


def test_the_limit_for_four_gigabytes_of_cache() -> None:
    limit, cache = solved("wiredtiger-cache", "limit", "cache=4Gi", set_by="mongod")
    assert (limit, cache) == (9 * 2**30, 4 * 2**30)


def test_an_output_that_falls_is_solved_too() -> None:
    rtt, speed = solved("upload", "rtt", "speed=100MiB/s", threads="8")
    assert speed == pytest.approx(100 * 2**20, rel=1e-6)
    nearer = calculate.answer(
        models.load("upload"),
        given.take(models.load("upload"), {"threads": "8", "rtt": f"{rtt * 0.99}s"}, {}),
    )
    assert float(nearer.values["speed"]) > speed  # type: ignore[arg-type]


def test_whole_numbers_are_the_least_that_reaches_it() -> None:
    threads, speed = solved("upload", "threads", "speed=100MiB/s", rtt="100ms")
    assert threads == math.ceil(threads)
    assert speed >= 100 * 2**20
    fewer = given.take(
        models.load("upload"), {"rtt": "100ms", "threads": str(int(threads) - 1)}, {}
    )
    less = calculate.answer(models.load("upload"), fewer).values["speed"]
    assert float(less) < 100 * 2**20  # type: ignore[arg-type]


def test_an_input_without_limits_is_found() -> None:
    memory, load = solved("redis-restart", "memory", "load=1h")
    assert load == pytest.approx(3600)
    assert memory > 2**30


def test_a_solution_is_the_first_sentence_and_has_its_origin() -> None:
    words = ("wiredtiger-cache", "set_by=mongod", "--solve", "limit", "--for", "cache=4Gi")
    said = asked(*words).output
    assert said.startswith("limit = 9 GiB gives cache = 4 GiB. ")
    told = valid("model", json.loads(asked(*words, "--json").output))
    assert told["inputs"]["limit"]["origin"] == "solved for cache=4Gi"
    stepped = asked("upload", "rtt=100ms", "--solve", "threads", "--for", "speed=90MiB/s").output
    assert "is the least with speed at least 90 MiB/s" in " ".join(stepped.split())
    assert "</html>" in asked(*words, "--format", "html").output


def test_what_rises_and_falls_is_refused_with_a_part_that_does_not() -> None:
    words = ("stall-period", "write=20MiB/s", "--for", "stall=50ms", "--solve")
    error = asked(*words, "sync_binlog").exception
    assert isinstance(error, DynoError) and "both rises and falls" in error.what
    assert "--sweep" in str(error.fix) and "--solve sync_binlog=1..4294967295" in str(error.fix)
    said = asked(*words, "sync_binlog=1..4294967295").output
    assert said.startswith("sync_binlog = ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("upload", "--solve", "threads"), "go together"),
        (("upload", "--for", "speed=1MiB/s"), "go together"),
        (("upload", "--solve", "threads", "--for", "speed"), "OUTPUT=VALUE"),
        (("upload", "--solve", "threads", "--for", "sped=1MiB/s"), "did you mean `speed`"),
        (("upload", "--solve", "threads", "--for", "speed=3s"), "`speed` is a throughput"),
        (("upload", "--solve", "treads", "--for", "speed=1MiB/s"), "no input `treads`"),
        (("upload", "--solve", "ahead", "--for", "speed=1MiB/s"), "is a word"),
        (("upload", "--solve", "threads", "--for", "speed=100GiB/s"), "no threads gives"),
        (("upload", "--solve", "copies", "--for", "speed=1MiB/s"), "does not depend on"),
        (("upload", "threads=3", "--solve", "threads", "--for", "speed=1MiB/s"), "remove one"),
        (
            ("upload", "--solve", "rtt", "--for", "speed=1MiB/s", "--sweep", "rtt=1ms..2ms"),
            "two questions",
        ),
        (("--solve", "rtt"), "--solve needs the name of a model"),
    ],
)
def test_what_cannot_be_solved_is_said(words: tuple[str, ...], said: str) -> None:
    assert said in str(asked(*words).exception)


@pytest.mark.parametrize(
    "model", [models.load(name) for name in models.names()], ids=lambda m: m.name
)
def test_every_model_can_be_inverted_or_says_why_not(model: Model) -> None:
    """From the answer back to the input: the output is the same again."""
    golden = model.golden[0]
    answer = calculate.answer(model, given.take(model, golden.given, {}))
    output = model.numeric(model.outputs)[0]
    target = float(answer.values[output])  # type: ignore[arg-type]
    if not math.isfinite(target):
        return
    for one in model.inputs:
        try:
            wanted = solve.parse(model, one.name, f"{output}={model.kind_of(output).example}")
        except DynoError:  # a word, a list, or an output that it does not move
            continue
        wanted = solve.Wanted(wanted.name, wanted.low, wanted.high, output, target, "as before")
        try:
            found = solve.solve(model, answer.given, wanted)
        except DynoError:  # a word, a list, or an output that it does not move
            continue
        back = float(calculate.answer(model, found).values[output])  # type: ignore[arg-type]
        given_value = float(answer.given.values[one.name])  # type: ignore[arg-type]
        near = math.isclose(back, target, rel_tol=1e-5, abs_tol=1e-9)
        assert near or float(found.values[one.name]) <= given_value * (1 + 1e-9)  # type: ignore[arg-type]
