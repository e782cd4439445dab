"""Plan -> JSON -> plan is the identity, and nothing else is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno import plan
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Looks
from dbdyno.plan import Machine, Plan
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.plan.types import (
    PLAN_VERSION,
    Cell,
    Factor,
    GroupPlan,
    Skipped,
    State,
    TrialPlan,
)
from dbdyno.systems.base import TargetPlan
from effort import examples

EXPERIMENTS = sorted((Path(__file__).parent / "experiments").glob("*.yaml"))
HERE = Machine(4, 8 << 30, "6.1", "CPU", (0, 1, 2, 3))

text = st.text(max_size=8)
number = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**53), 2**53)
scalar = st.one_of(st.none(), st.booleans(), whole, number, text)
anything = st.recursive(
    scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)


def tuples(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(inner, max_size=3).map(tuple)


targets = st.builds(
    TargetPlan,
    name=text,
    kind=text,
    config=st.dictionaries(text, scalar, max_size=3),
    durability=st.none() | text,
    isolation=st.none() | text,
    memory_bytes=st.none() | whole,
    basedir=st.none() | text,
    version=st.none() | text,
    options=st.dictionaries(text, anything, max_size=2),
)
groups = st.builds(
    GroupPlan,
    name=text,
    workload=text,
    target=text,
    sessions=whole,
    deadline_s=number,
    retries=whole,
    options=st.dictionaries(text, anything, max_size=2),
)
cells = st.builds(
    Cell,
    index=whole,
    levels=st.dictionaries(text, text, max_size=3),
    hard=text,
    targets=tuples(targets),
    groups=tuples(groups),
    state=st.builds(State, text, text),
    warmup_s=number,
    duration_s=number,
    interval_s=number,
    data_key=text,
)
trials = st.builds(TrialPlan, text, whole, whole, whole, whole, st.booleans())
factors = st.builds(Factor, text, tuples(text), st.none() | tuples(number), st.booleans())
plans = st.builds(
    Plan,
    version=st.just(PLAN_VERSION),
    name=text,
    question=text,
    factors=tuples(factors),
    cells=tuples(cells),
    trials=tuples(trials),
    blocks=whole,
    seed=whole,
    claims=tuples(text),
    untested=st.dictionaries(text, text, max_size=2),
    matters=number,
    require=tuples(text),
    generator_cpus=tuples(whole),
    server_cpus=tuples(whole),
    quick=st.booleans(),
    skipped=tuples(st.builds(Skipped, text, text, text)),
    notes=tuples(text),
    spec_text=text,
    looks=st.none() | st.builds(Looks, whole, whole, st.none() | whole),
)


@settings(max_examples=examples(200), deadline=None)
@given(plans)
def test_round_trip_is_exact(original: Plan) -> None:
    stored = json.dumps(to_json(original))
    read = from_json(json.loads(stored))
    assert read == original
    assert repr(read) == repr(original), "1 and 1.0 are equal, but not the same"
    assert json.dumps(to_json(read)) == stored


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_real_plans_round_trip(path: Path) -> None:
    for quick in (False, True):
        loaded = load(path)
        made = plan.make(loaded, HERE, quick=quick, data_settings=lambda target: target.config)
        assert from_json(json.loads(json.dumps(to_json(made)))) == made


def example() -> dict[str, Any]:
    loaded = load(EXPERIMENTS[0])
    return to_json(plan.make(loaded, HERE, data_settings=lambda target: {}))


def test_another_version_is_refused() -> None:
    with pytest.raises(DynoError, match="version 99"):
        from_json({**example(), "version": 99})
    with pytest.raises(DynoError, match="version None"):
        from_json({})


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("blocks",), "6", r"plan\.blocks is '6'"),
        (("extra",), 1, r"plan\.extra is not known"),
        (("cells",), {}, r"plan\.cells is not a list"),
        (("cells", 0, "targets", 0, "memory_bytes"), "1Gi", "memory_bytes cannot be '1Gi'"),
        (("cells", 0, "levels"), [], "levels is not an object"),
        (("cells", 0, "state"), "reuse", "state is not an object"),
        (("quick",), 1, "quick is 1"),
    ],
)
def test_damaged_plans_are_refused(path: tuple[Any, ...], value: Any, what: str) -> None:
    data = example()
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(DynoError, match=what):
        from_json(data)


def test_a_missing_field_is_refused_unless_it_has_a_default() -> None:
    data = example()
    del data["cells"][0]["targets"][0]["tls"]
    assert from_json(data).cells[0].targets[0].tls == "prefer"
    del data["cells"][0]["data_key"]
    with pytest.raises(DynoError, match=r"cells\[0\]\.data_key is missing"):
        from_json(data)


def test_whole_numbers_are_read_where_floats_are_wanted() -> None:
    data = example()
    data["matters"] = 0
    read = from_json(data)
    assert isinstance(read.matters, float)
    assert replace(read, matters=0.5) != read
