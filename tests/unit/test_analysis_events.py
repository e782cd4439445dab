"""Ratios of rates of events that were the same in all blocks, and claims on one such rate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis.estimates.events import RateRatio, Seen, counts, ratio_alike
from dbdyno.analysis.types import ClaimPart
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse


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


def test_the_ratio_of_two_rates_is_that_of_clopper_and_pearson() -> None:
    # 8 of 10: 0.4439 to 0.9748 at 95 %, as odds.
    low, high = RateRatio(2, Seen(8, 1.0), Seen(2, 1.0), 1.0).interval(0.95)
    assert low == pytest.approx(0.44390 / 0.55610, rel=1e-4)
    assert high == pytest.approx(0.97479 / 0.02521, rel=1e-3)


def test_no_stall_in_any_block_shows_nothing_of_how_many_the_next_has() -> None:
    part = part_of("stalls_per_min[on] <= 1", measured_s=60.0)
    assert part.verdict == "undecided"
    assert part.estimate is not None and part.estimate.ratio == 0.0
    assert (part.estimate.ci_low, part.estimate.ci_high) == (0.0, None)
    assert part.blocks_needed is None
    assert "none of 6 blocks is above zero: up to 45.9 % of such trials may be" in part.why
    assert part_of("stalls_per_min[on] >= 1", measured_s=60.0).verdict == "undecided"
    assert part_of("stalls_per_min[on] <= 0", measured_s=60.0).verdict == "undecided"


def test_what_was_seen_in_each_block_is_judged_by_its_spread() -> None:
    part = part_of("stalls_per_min[on] <= 15", measured_s=60.0, per_min=(2, 3, 4, 3, 2, 3))
    assert part.estimate is not None and part.estimate.ratio == pytest.approx(17 / 6)
    assert part.verdict == "supported"
    assert part_of("stalls_per_min[on] > 10", measured_s=60.0, per_min=(2,) * 6).verdict == (
        "refuted"
    )


def test_the_same_in_all_blocks_is_not_known_to_a_point() -> None:
    part = part_of("stalls_per_min[on] <= 5", measured_s=10.0, per_min=(6.0,) * 6)
    assert part.estimate is not None and part.estimate.ratio == 6.0
    assert (part.estimate.ci_low, part.estimate.ci_high) == (
        pytest.approx(2.2019, abs=1e-4),  # Garwood: six events in one minute
        pytest.approx(13.0595, abs=1e-4),
    )


COUNTS = st.integers(0, 10_000)
TIMES = st.floats(1e-3, 1e6)
ALPHAS = st.floats(1e-9, 0.9)


@given(st.integers(1, 50), COUNTS, TIMES, COUNTS, TIMES, st.floats(-1e6, 1e6), ALPHAS)
def test_p_and_interval_of_a_ratio_agree(
    n: int, k: int, left: float, m: int, right: float, threshold: float, alpha: float
) -> None:
    agree(RateRatio(n, Seen(k + 1, left), Seen(m + 1, right), threshold), alpha)


def agree(counted: RateRatio, alpha: float) -> None:
    low, high = counted.interval(1 - alpha)
    assert low is not None and 0 <= low <= counted.centre and 0 <= counted.p <= 1
    assert high is None or (math.isfinite(high) and high >= counted.centre)
    ends = [low] if high is None else [low, high]
    threshold = counted.threshold
    if not any(math.isclose(end, threshold, rel_tol=1e-6, abs_tol=1e-9) for end in ends):
        outside = threshold < low or (high is not None and threshold > high)
        assert (counted.p <= alpha) == outside
    needed = counted.blocks_needed(alpha)
    assert needed is None or needed >= 1


def test_only_metrics_that_count_events_are_counted() -> None:
    assert counts("readers.errors_per_s", (0.0, 2.0), (5.0, 5.0)) == [0.0, 10.0]
    assert counts("stalls_per_min", (6.0,), (30.0,)) == [3.0]
    assert counts("transactions_per_s", (0.0, 0.0), (5.0, 5.0)) is None
    assert counts("errors_per_s", (0.0,), (0.0,)) is None
    assert counts("errors_per_s", (), ()) is None


def test_only_ratios_of_two_such_rates_are_taken() -> None:
    metrics, times = ("stalls_per_min", "stalls_per_min"), ((60.0, 60.0), (60.0, 60.0))
    assert ratio_alike(metrics, ((6.0, 6.0), (3.0, 3.0)), times, 1.0) == RateRatio(
        2, Seen(12, 2.0), Seen(6, 2.0), 1.0
    )
    assert ratio_alike(metrics, ((6.0, 4.0), (3.0, 3.0)), times, 1.0) is None
    mixed = ("stalls_per_min", "tps")
    assert ratio_alike(mixed, ((6.0, 6.0), (3.0, 3.0)), times, 1.0) is None
