"""Rates of events of which none was seen: how often they may come all the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis.events import NoEvents, none_seen
from dbdyno.analysis.findings import analyse
from dbdyno.analysis.types import ClaimPart
from dbdyno.store.record import COMPLETE, TrialRecord


def part_of(claim: str, *, measured_s: float, per_min: tuple[float, ...] = (0.0,) * 6) -> ClaimPart:
    plan = make_plan({"cache": ("on", "off")}, blocks=len(per_min), claims=(claim,))
    trials = [
        TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            COMPLETE,
            0.0,
            {"transactions_per_s": 9.0, "stalls_per_min": per_min[trial.block - 1]},
            measured_s=measured_s,
        )
        for trial in plan.trials
    ]
    return analyse(plan, trials).claims[0].parts[0]


def test_the_interval_is_that_of_garwood() -> None:
    # Tables of the exact Poisson interval: 0 to 3.689 for none seen, at 95 %.
    low, high = NoEvents(3, 1.0, 1.0).interval(0.95)
    assert (low, high) == (0.0, pytest.approx(3.6889, abs=1e-4))


def test_no_stall_in_little_time_shows_little() -> None:
    part = part_of("stalls_per_min[on] <= 1", measured_s=6.0)
    assert part.verdict == "undecided"
    assert part.estimate is not None and part.estimate.ratio == 0.0
    assert part.estimate.ci_high == pytest.approx(-math.log(0.025) / 0.6)
    assert part.blocks_needed == 31  # 37 blocks of a tenth of a minute
    assert "that none was seen does not show that there are none" in part.why


def test_no_stall_in_much_time_supports_a_bound_and_refutes_its_opposite() -> None:
    assert part_of("stalls_per_min[on] <= 1", measured_s=60.0).verdict == "supported"
    assert part_of("stalls_per_min[on] >= 1", measured_s=60.0).verdict == "refuted"
    assert part_of("stalls_per_min[on] <= 0", measured_s=60.0).verdict == "undecided"


def test_what_was_seen_is_judged_by_t() -> None:
    part = part_of("stalls_per_min[on] <= 5", measured_s=60.0, per_min=(0, 1, 0, 1, 0, 1))
    assert part.estimate is not None and part.estimate.ratio == 0.5
    assert part.verdict == "supported"


@given(
    st.integers(1, 50),
    st.floats(1e-6, 1e9),
    st.floats(-1e9, 1e9),
    st.floats(1e-12, 0.999),
)
def test_p_and_interval_agree(n: int, exposure: float, threshold: float, alpha: float) -> None:
    none = NoEvents(n, exposure, threshold)
    high = none.at_most(alpha)
    assert math.isfinite(high) and high > 0 and 0 <= none.p <= 1
    if threshold > 0 and not math.isclose(high, threshold, rel_tol=1e-9):
        assert (none.p <= alpha) == (high < threshold)
    needed = none.blocks_needed(alpha)
    assert needed is None or needed >= 1


def test_only_zeros_of_metrics_that_count_events_are_taken() -> None:
    assert none_seen("readers.errors_per_s", (0.0, 0.0), (5.0, 5.0), 1.0) == NoEvents(2, 10.0, 1.0)
    assert none_seen("stalls_per_min", (0.0, 1.0), (5.0, 5.0), 1.0) is None
    assert none_seen("transactions_per_s", (0.0, 0.0), (5.0, 5.0), 1.0) is None
    assert none_seen("errors_per_s", (0.0,), (0.0,), 1.0) is None
    assert none_seen("errors_per_s", (), (), 1.0) is None
