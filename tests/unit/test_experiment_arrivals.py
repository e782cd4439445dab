"""Open loops, searches and pauses as written: what they become, and what is refused where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.experiment import Spec
from dbdyno.experiment import load as load_file
from dbdyno.experiment.types import Arrivals, Find, Group, RateStep, Think
from dbdyno.experiment.workloads import arrivals

FILE = """experiment: open
targets:
  db: {{kind: null}}
groups:
  app:
    kind: oltp
{group}
duration: 30s
{rest}
"""


def load(group: str, rest: str = "") -> Spec:
    indented = "\n".join(f"    {line}" for line in group.splitlines())
    return load_file(FILE.format(group=indented, rest=rest))


def only(group: str) -> Group:
    return load(group).cells[0].groups[0]


def test_one_rate_is_a_schedule_without_an_end() -> None:
    flat = (RateStep(None, 5000.0, 5000.0),)
    assert only("rate: 5000/s").arrivals == Arrivals("poisson", flat)
    assert only("rate: 5000/s\narrivals: uniform").arrivals == Arrivals("uniform", flat)


def test_a_ramp_starts_where_the_rate_was() -> None:
    steps = "rate: [{for: 10s, to: 5000/s}, {for: 5s, at: 20000/s}, {for: 5s, to: 0/s}, {at: 9/s}]"
    found = only(steps).arrivals
    assert found is not None
    assert found.steps == (
        RateStep(10.0, 0.0, 5000.0),
        RateStep(5.0, 20000.0, 20000.0),
        RateStep(5.0, 20000.0, 0.0),
        RateStep(None, 9.0, 9.0),
    )
    assert arrivals.rate_max_per_s(found) == 20000
    assert arrivals.mean_rate_per_s(found, 30.0) == (25_000 + 100_000 + 50_000 + 90) / 30


def test_the_last_step_holds_its_rate_to_the_end() -> None:
    found = only("rate: [{for: 10s, to: 100/s}]").arrivals
    assert found is not None
    assert arrivals.mean_rate_per_s(found, 30.0) == (500 + 2000) / 30


def test_a_pause_is_constant_unless_said() -> None:
    assert only("think: 10ms").think == Think(0.01)
    text = "think: {mean: 1s, distribution: exponential}"
    assert only(text).think == Think(1.0, "exponential")
    assert only("think: {mean: 200us, per: operation}").think == Think(2e-4, per="operation")


def test_pauses_before_operations_go_with_any_loop() -> None:
    slow = "think: {mean: 1ms, per: operation}\n"
    at_a_rate = only(f"{slow}rate: 5/s")
    assert at_a_rate.arrivals is not None
    assert at_a_rate.think == Think(0.001, per="operation")
    searched = only(f"{slow}find: {{rate: max, while: response_ms_p50 < 20}}")
    assert searched.find is not None
    assert searched.think == Think(0.001, per="operation")


def test_a_search_names_its_groups_metrics() -> None:
    assert only("find: {rate: max, while: response_p99 < 20}").find == Find(
        ("response_ms_p99 < 20",)
    )
    text = "find: {rate: max, while: [app.p99 < 5, errors <= 1], start: 1000/s, within: 5%}"
    assert only(f"{text}\narrivals: uniform").find == Find(
        ("response_ms_p99 < 5", "errors_per_s <= 1"), "uniform", 1000.0, 0.05
    )


def test_rates_are_levels_with_numbers() -> None:
    loaded = load("rate: 1/s", "factors: {rate: [1000/s, 5000/s]}\nclaims: ['backlog[5000] > 3']")
    assert loaded.factors[0].values == (1000.0, 5000.0)
    assert [cell.groups[0].arrivals.steps[0].to_per_s for cell in loaded.cells] == [1000, 5000]  # type: ignore[union-attr]


def test_a_level_may_open_a_loop_or_close_it() -> None:
    loaded = load(
        "sessions: 4",
        "factors: {loop: {open: {rate: 10/s}, closed: {think: 1s}}}\n"
        "claims: ['response_p95[open] < 3']\ndrain: 3s",
    )
    first, second = (cell.groups[0] for cell in loaded.cells)
    assert first.arrivals
    assert not first.think
    assert second.think == Think(1.0)
    assert not second.arrivals
    assert loaded.drain_s == 3.0
    with pytest.raises(DynoError, match="closed loop"):
        load("sessions: 4", "claims: ['response_p95 < 3']")


# What is written, line and column of the place, words of the message, words of the fix.
WRONG = {
    "process alone": ("arrivals: uniform", "7:5", "needs `rate` or `find`", "rate: 1000/s"),
    "rate and think": ("rate: 5/s\nthink: 1s", "8:5", "both `think` and `rate`", "null"),
    "rate and find": (
        "rate: 5/s\nfind: {rate: max, while: p50 < 1}",
        "7:5",
        "both `rate` and `find`",
        "null",
    ),
    "find and think": (
        "think: 1s\nfind: {rate: max, while: p50 < 1}",
        "7:5",
        "both `think` and `find`",
        "null",
    ),
    "number as rate": ("rate: 5", "7:11", "a rate with its unit", ""),
    "zero": ("rate: 0/s", "7:11", "above zero", ""),
    "zero all along": ("rate: [{for: 1s, at: 0/s}]", "7:11", "zero all along", "above zero"),
    "too fast": ("rate: 1e10/s", "7:11", "a rate such as", ""),
    "faster than a nanosecond": ("rate: 10000000000/s", "7:11", "at most 1,000,000,000/s", ""),
    "no length": ("rate: [{at: 1/s}, {at: 2/s}]", "7:12", "step 1 of `rate` has no `for`", "last"),
    "ramp without end": ("rate: [{to: 9/s}]", "7:12", "its ramp has no end", "{for: 30s, to: 9/s}"),
    "both rates": ("rate: [{at: 1/s, to: 2/s}]", "7:12", "both `at` and `to`", "ramp"),
    "no rate": ("rate: [{for: 1s}]", "7:12", "has no rate", "at: 5000/s"),
    "never begins": (
        "rate: [{for: 30s, at: 1/s}, {at: 2/s}]",
        "7:33",
        "step 2 of `rate` would never begin",
        "measure longer",
    ),
    "length without unit": ("rate: [{for: 5, at: 1/s}]", "7:18", "duration with its unit", ""),
    "misspelt step": ("rate: [{fro: 5s, at: 1/s}]", "7:13", "no key `fro`", "`for`"),
    "no steps": ("rate: []", "7:11", "`groups.app.rate`", ""),
    "pause without unit": ("think: 5", "7:12", "duration with its unit", ""),
    "no pause": ("think: 0s", "7:12", "longer than nothing", ""),
    "long pause": ("think: 2h", "7:12", "longer than an hour", "shorter"),
    "misspelt distribution": (
        "think: {mean: 1s, distribution: exp}",
        "7:37",
        "cannot be `exp`",
        "exponential",
    ),
    "no condition": ("find: {rate: max}", "7:5", "while` is missing", "while"),
    "not max": ("find: {rate: min, while: p50 < 1}", "7:18", "cannot be `min`", "max"),
    "throughput": (
        "find: {rate: max, while: tps < 1}",
        "7:30",
        "cannot depend on `transactions_per_s`",
        "response_ms_p99 < 20",
    ),
    "wrong way round": (
        "find: {rate: max, while: 'response_ms_p50 > 1'}",
        "7:31",
        "no rate is the highest",
        "response_ms_p50 < 1",
    ),
    "too few": (
        "find: {rate: max, while: [p50 < 1, response_p999 < 20]}",
        "7:40",
        "needs 10,000",
        "start",
    ),
    "too narrow": ("find: {rate: max, while: p50 < 1, within: 0.01%}", "7:47", "`within`", "2%"),
    "unknown metric": (
        "find: {rate: max, while: p51 < 1}",
        "7:30",
        "no metric is called `p51`",
        "p50",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_meant_is_refused_with_its_place(name: str) -> None:
    text, place, what, fix = WRONG[name]
    with pytest.raises(DynoError) as caught:
        load(text)
    error = caught.value
    assert str(error.where).endswith(f":{place}"), str(error)
    assert what in error.what
    assert fix in error.fix


def test_two_groups_cannot_both_search() -> None:
    two = "find: {rate: max, while: p50 < 1}\n"
    text = FILE.format(group=f"    {two}  other:\n    kind: oltp\n    {two}", rest="")
    with pytest.raises(DynoError, match="both search"):
        load_file(text)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 10), st.floats(0, 1e4), st.floats(0, 1e4)), min_size=1, max_size=5
    ),
    st.floats(0.01, 1.0),
)
def test_a_scaled_schedule_keeps_its_mean_rate(
    steps: list[tuple[float, float, float]], factor: float
) -> None:
    whole = Arrivals("poisson", tuple(RateStep(*step) for step in steps))
    duration_s = sum(step[0] for step in steps) + 1
    scaled = arrivals.scaled(whole, factor)
    assert arrivals.mean_rate_per_s(scaled, duration_s * factor) == pytest.approx(
        arrivals.mean_rate_per_s(whole, duration_s)
    )
