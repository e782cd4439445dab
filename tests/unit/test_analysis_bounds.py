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

from dbdyno.analysis import to_json
from dbdyno.analysis.contrast import Bounded, Mean
from dbdyno.analysis.estimate import estimate
from dbdyno.analysis.types import (
    AT_LEAST,
    AT_MOST,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    ClaimPart,
    Findings,
)
from dbdyno.plan.types import Plan
from dbdyno.spec import units
from dbdyno.spec.conditions import unmet
from dbdyno.spec.types import Arrivals, RateStep
from dbdyno.store.record import COMPLETE, TrialRecord

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
        at_least = frozenset({P99}) if level in bounded else frozenset[str]()
        records.append(
            TrialRecord(
                trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics, at_least=at_least
            )
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


def test_estimates_say_at_least_and_give_no_interval() -> None:
    found, plan = judged((), OVER)
    fast = next(cell for cell in found.cells if cell.levels["rate"] == "fast").metrics[P99]
    assert fast.at_least
    assert fast.ci_low is None
    assert fast.mean == pytest.approx(35, rel=0.02)
    value = to_json(found, plan, {})
    by_level = {cell["levels"]["rate"]: cell["metrics"][P99] for cell in value["cells"]}
    assert by_level["fast"]["at_least"] is True
    assert "at_least" not in by_level["slow"]
    assert not any(row.metric == P99 for row in found.comparisons)


def test_one_bounded_block_bounds_the_mean() -> None:
    one = estimate([1.0, 2.0, 3.0], [1, 2, 3], at_least=True)
    assert (one.mean, one.ci_low, one.ci_high) == (2.0, None, None)


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
    assert "10 or more" in unmet([f"{P99} < 20"], {P99: 10.0}, {P99})[0]
    assert unmet([f"{P99} > 5"], {P99: 10.0}, {P99}) == []


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
        over = frozenset({"response_ms_p95"}) if tps < due else frozenset[str]()
        records.append(
            TrialRecord(trial.id, trial.block, trial.cell, COMPLETE, 0.0, metrics, at_least=over)
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
