"""Lower bounds in claims, ratios and estimates: they decide what they can, and no more."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import checked
from plans import plan as make_plan

from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.contrast import Mean
from dbdyno.analysis.result import to_json
from dbdyno.analysis.types import (
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    ClaimPart,
    Findings,
)
from dbdyno.experiment.claims.conditions import BROKEN, HOLDS, UNKNOWN, state, unmet
from dbdyno.experiment.types import Arrivals, Find, RateStep
from dbdyno.experiment.values import units
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST, of_inverse, together
from dbdyno.plan.types import Plan
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.store.record import from_json as record_from_json
from dbdyno.store.record import to_json as record_to_json

P99 = "response_ms_p99"


def opened(plan: Plan) -> Plan:
    """The plan with open loops, at the rate of the cell's first level where that is one."""
    cells = []
    for cell in plan.cells:
        rate = units.number(next(iter(cell.levels.values()))) or 100.0
        arrivals = Arrivals("poisson", (RateStep(None, rate, rate),))
        groups = tuple(replace(group, arrivals=arrivals) for group in cell.groups)
        cells.append(replace(cell, groups=groups))
    return replace(plan, cells=tuple(cells))


def judged(
    claims: tuple[str, ...],
    values: dict[str, float],
    bounded: tuple[str, ...] = ("fast",),
) -> tuple[Findings, Plan]:
    """Six blocks in which each level's p99 is `values[level]` and a little noise; those of
    `bounded` levels are lower bounds."""
    plan = opened(make_plan({"rate": tuple(values)}, blocks=6, claims=claims))
    rng = np.random.default_rng(5)
    records = []
    for trial in plan.trials:
        level = next(iter(plan.cells[trial.cell].levels.values()))
        value = values[level] * math.exp(rng.normal(0, 0.01))
        metrics = {P99: value, "transactions_per_s": 100.0}
        bounds = {P99: AT_LEAST} if level in bounded else {}
        records.append(
            TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics, bounds=bounds)
        )
    return checked(plan, records), plan


def part(claim: str, values: dict[str, float], bounded: tuple[str, ...] = ("fast",)) -> ClaimPart:
    found, _ = judged((claim,), values, bounded)
    assert found.claims[0].verdict == found.claims[0].parts[0].verdict
    return found.claims[0].parts[0]


OVER = {"slow": 10.0, "fast": 35.0}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (f"{P99}[fast] < 20", REFUTED),
        (f"{P99}[fast] > 20", SUPPORTED),
        (f"{P99}[fast] < 50", UNDECIDED),
        (f"{P99}[fast] > 50", UNDECIDED),
        (f"{P99}[slow] < 20", SUPPORTED),
    ],
)
def test_a_lower_bound_refutes_less_and_supports_more(claim: str, verdict: str) -> None:
    assert part(claim, OVER).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "verdict", "bound"),
    [
        (f"{P99}[fast] / {P99}[slow] >= 2", SUPPORTED, AT_LEAST),
        (f"{P99}[fast] / {P99}[slow] <= 2", REFUTED, AT_LEAST),
        (f"{P99}[fast] / {P99}[slow] <= 5", UNDECIDED, AT_LEAST),
        (f"{P99}[fast] / {P99}[slow] >= 5", UNDECIDED, AT_LEAST),
        (f"{P99}[slow] / {P99}[fast] <= 0.5", SUPPORTED, AT_MOST),
        (f"{P99}[slow] / {P99}[fast] >= 0.5", REFUTED, AT_MOST),
        (f"{P99}[slow] / {P99}[fast] >= 0.1", UNDECIDED, AT_MOST),
    ],
)
def test_a_ratio_with_a_bound_is_decided_by_its_direction(
    claim: str, verdict: str, bound: str
) -> None:
    found = part(claim, OVER)
    assert found.verdict == verdict
    assert found.estimate is not None
    assert found.estimate.bound == bound
    ends = (found.estimate.ci_low, found.estimate.ci_high)
    assert (ends[0] is None, ends[1] is None) == (bound == AT_MOST, bound == AT_LEAST)


def test_two_bounds_make_no_ratio() -> None:
    found = part(f"{P99}[fast] / {P99}[slow] >= 2", OVER, ("fast", "slow"))
    assert found.verdict == UNDECIDED
    assert found.estimate is None
    assert "both sides are only lower bounds" in found.why


def test_an_undecided_bound_says_what_would_decide() -> None:
    why = part(f"{P99}[fast] < 50", OVER).why
    assert "it is >= 34.9 (95 % sure of >= 34.5)" in why
    assert "`drain`" in why
    assert "more blocks" not in why


def test_a_peak_over_bounds_is_not_estimable() -> None:
    values = {"1": 10.0, "4": 35.0}
    found, _ = judged((f"peak({P99}, rate) <= 1",), values, ("4",))
    assert "lower bound" in found.claims[0].parts[0].why


def test_estimates_say_which_bound_they_are_and_give_no_interval() -> None:
    found, plan = judged((), OVER)
    fast = next(cell for cell in found.cells if cell.levels["rate"] == "fast").metrics[P99]
    assert fast.bound == AT_LEAST
    assert fast.ci_low is None
    assert fast.mean == pytest.approx(35, rel=0.02)
    value = to_json(found, plan, {})
    by_level = {cell["levels"]["rate"]: cell["metrics"][P99] for cell in value["cells"]}
    assert by_level["fast"]["bound"] == ">="
    assert "bound" not in by_level["slow"]
    assert not any(row.metric == P99 for row in found.comparisons)


@given(
    st.lists(st.floats(1, 1e6), min_size=3, max_size=8),
    st.floats(0.1, 1e6),
    st.sampled_from([AT_LEAST, AT_MOST]),
)
def test_a_bound_never_decides_against_its_direction(
    values: list[float], threshold: float, bound: str
) -> None:
    inner = Mean(tuple(values), threshold)
    contrast = Bounded(inner, bound)
    low, high = contrast.interval(0.95)
    assert (low, high) == (
        (inner.interval(0.95)[0], None) if bound == AT_LEAST else (None, inner.interval(0.95)[1])
    )
    wrong_side = inner.centre <= threshold if bound == AT_LEAST else inner.centre > threshold
    assert contrast.p == (1.0 if wrong_side else inner.p)


def test_a_bound_meets_no_upper_limit() -> None:
    assert unmet([f"{P99} < 20"], {P99: 10.0}) == []
    assert "10 or more" in unmet([f"{P99} < 20"], {P99: 10.0}, {P99: AT_LEAST})[0]
    assert unmet([f"{P99} > 5"], {P99: 10.0}, {P99: AT_LEAST}) == []


def overloaded(achieved: float) -> Findings:
    plan = opened(make_plan({"app.rate": ("1000/s", "5000/s")}, blocks=3))
    records = []
    for trial in plan.trials:
        cell = plan.cells[trial.cell]
        arrivals_ = cell.groups[0].arrivals
        assert arrivals_ is not None
        due = arrivals_.steps[0].to_per_s
        tps = min(due, achieved)
        metrics = {
            "transactions_per_s": tps + trial.block,
            "due_per_s": due,
            "backlog_end": (due - tps) * cell.duration_s,
            "response_ms_p95": 3.0 + trial.block if tps == due else 9000.0 + trial.block,
        }
        over = {"response_ms_p95": AT_LEAST} if tps < due else {}
        records.append(
            TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics, bounds=over)
        )
    return checked(plan, records)


def test_the_answer_begins_with_a_rate_that_was_not_held() -> None:
    said = overloaded(3200.0).answer
    assert said.startswith(
        "The system could not hold the rate in 1 of 2 cells: at rate 5000/s 3,200 of 5,000/s were"
        " achieved."
    )


def test_a_rate_that_was_held_needs_no_word() -> None:
    found = overloaded(9000.0)
    assert "could not" not in found.answer
    assert found.headline_metric == "response_ms_p95"


@pytest.mark.parametrize(
    ("bounds", "bound"),
    [((AT_LEAST, AT_MOST), AT_LEAST), ((AT_MOST, AT_LEAST), AT_MOST), (("", AT_MOST), AT_LEAST)],
)
def test_a_bound_below_the_line_turns_round(bounds: tuple[str, str], bound: str) -> None:
    """At least 100 over below 10 is at least 10; an exact value over below 10 too."""
    assert together((bounds[0], of_inverse(bounds[1]))) == bound


@pytest.mark.parametrize(
    ("condition", "bound", "expected"),
    [
        (f"{P99} < 9", AT_LEAST, BROKEN),
        (f"{P99} < 20", AT_LEAST, UNKNOWN),
        (f"{P99} > 5", AT_LEAST, HOLDS),
        (f"{P99} < 20", AT_MOST, HOLDS),
        (f"{P99} > 5", AT_MOST, UNKNOWN),
        (f"{P99} > 20", AT_MOST, BROKEN),
        (f"{P99} < 20", "", HOLDS),
        ("service_ms_p99 < 20", "", UNKNOWN),
    ],
)
def test_a_condition_on_a_bound_holds_is_broken_or_cannot_be_told(
    condition: str, bound: str, expected: str
) -> None:
    assert state(condition, {P99: 10.0}, {P99: bound} if bound else {}) == expected


RATE = "rate_max_per_s"


def searching(plan: Plan) -> Plan:
    """The plan with searches for a rate."""
    cells = [
        replace(
            cell, groups=tuple(replace(one, find=Find((f"{P99} < 20",))) for one in cell.groups)
        )
        for cell in plan.cells
    ]
    return replace(plan, cells=tuple(cells))


def searched(claims: tuple[str, ...], found: dict[str, tuple[float, str]]) -> Findings:
    """Six blocks of two cells of which a search found these rates, or bounds."""
    plan = searching(make_plan({"cache": tuple(found)}, blocks=6, claims=claims))
    rng = np.random.default_rng(6)
    records = []
    for trial in plan.trials:
        value, bound = found[plan.cells[trial.cell].levels["cache"]]
        metrics = {RATE: value * math.exp(rng.normal(0, 0.01)), "transactions_per_s": 100.0}
        bounds = {RATE: bound} if bound else {}
        records.append(
            TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics, bounds=bounds)
        )
    return checked(plan, records)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (f"{RATE}[off] >= 300", REFUTED),
        (f"{RATE}[off] < 300", SUPPORTED),
        (f"{RATE}[off] >= 100", UNDECIDED),
        (f"{RATE}[on] / {RATE}[off] >= 4", SUPPORTED),
        (f"{RATE}[on] / {RATE}[off] >= 6", UNDECIDED),
        (f"{RATE}[off] / {RATE}[on] >= 0.5", REFUTED),
    ],
)
def test_an_upper_bound_decides_on_its_side(claim: str, verdict: str) -> None:
    """Below 200/s: no more than 300, and at most a fifth of 1,000; never "0"."""
    found = searched((claim,), {"off": (200.0, AT_MOST), "on": (1000.0, "")})
    part = found.claims[0].parts[0]
    assert part.verdict == verdict
    assert part.estimate is not None
    assert part.estimate.bound


def test_bounds_on_different_sides_make_no_mean() -> None:
    claims = (f"{RATE}[off] >= 300",)
    plan = searching(make_plan({"cache": ("off", "on")}, blocks=6, claims=claims))
    records = [
        TrialRecord(
            *(trial.id, trial.block, trial.cell, COMPLETE, 0.0, {RATE: 200.0}),
            bounds={RATE: AT_MOST if trial.block % 2 else AT_LEAST},
        )
        for trial in plan.trials
    ]
    found = checked(plan, records)
    assert found.claims[0].verdict == UNDECIDED
    assert "a lower bound in some trials and an upper bound in others" in found.claims[0].why
    assert all(RATE not in cell.metrics for cell in found.cells)


def test_records_from_before_upper_bounds_are_read() -> None:
    trial = TrialRecord("a", 1, 0, COMPLETE, 0.0, {P99: 10.0})
    old = {**record_to_json(trial), "at_least": [P99]}
    assert record_from_json(old, "here").bounds == {P99: AT_LEAST}
