"""One number of one cell: intervals of what is skewed, mostly zero, or counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan as make_plan

from dbdyno.analysis import single_values
from dbdyno.analysis.claims.contrast import GeometricMean, Mean
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.single_values.skewed import EitherMean, SkewedMean
from dbdyno.analysis.types import ClaimPart
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.record import COMPLETE, TrialRecord
from dbdyno.wording.findings import analyse


def measured_of(
    metric: str,
    values: tuple[float, ...],
    claims: tuple[str, ...] = (),
    bounds: frozenset[str] = frozenset(),
) -> Measured:
    plan = make_plan({"cache": ("on", "off")}, blocks=len(values), claims=claims)
    return Measured.of(plan, records(plan.trials, metric, values, bounds))


def records(
    trials: tuple, metric: str, values: tuple[float, ...], bounds: frozenset[str] = frozenset()
) -> list[TrialRecord]:
    return [
        TrialRecord(
            trial.id,
            trial.block,
            trial.cell,
            COMPLETE,
            0.0,
            {"transactions_per_s": 9.0, metric: values[trial.block - 1]},
            measured_s=60.0,
            bounds=dict.fromkeys(bounds, AT_LEAST),
        )
        for trial in trials
    ]


def part_of(claim: str, metric: str, values: tuple[float, ...]) -> ClaimPart:
    plan = make_plan({"cache": ("on", "off")}, blocks=len(values), claims=(claim,))
    return analyse(plan, records(plan.trials, metric, values)).claims[0].parts[0]


def test_a_slope_is_symmetric_and_may_be_exactly_zero() -> None:
    name = "server.rss_bytes_per_h"
    for values in ((3.0, 1.0, 2.0), (1.0, -1.0, 0.5), (0.0, 0.0, 0.0)):
        assert isinstance(single_values.contrast(measured_of(name, values), 0, name), Mean)
    for values, verdict in (((3.0, 1.0, 2.0), "supported"), ((0.0, 0.0, 0.0), "supported")):
        assert part_of(f"{name}[on] < 10", name, values).verdict == verdict
    assert part_of(f"{name}[on] < 10", name, (30.0, -30.0, 0.0)).verdict == "undecided"


def test_zeros_bound_the_share_of_trials_and_not_the_value() -> None:
    for claim in ("stalled_share[on] <= 0", "stalled_share[on] <= 0.01"):
        part = part_of(claim, "stalled_share", (0.0, 0.0, 0.0))
        assert part.verdict == "undecided"
        assert part.estimate is not None
        # 1 - 0.025^(1/3) of the trials may have stalls, each of them up to all of its time.
        assert (part.estimate.ci_low, part.estimate.ci_high) == (0.0, pytest.approx(0.7076, 1e-3))
        assert "none of 3 blocks is above zero: up to 70.8 % of such trials may be" in part.why
    assert part_of("stalled_share[on] <= 0.5", "stalled_share", (0.0,) * 6).verdict == "supported"


def test_zeros_of_what_has_no_greatest_value_leave_it_open() -> None:
    part = part_of("status.Sort_merge_passes[on] <= 1", "status.Sort_merge_passes", (0.0,) * 10)
    assert part.verdict == "undecided"
    assert part.estimate is not None and part.estimate.ci_high is None
    assert "any value from 0 on fits what was measured" in part.why


def test_a_clear_value_is_still_decided() -> None:
    p99 = (10.1, 8.0, 12.4, 9.0, 11.5, 9.7)
    assert part_of("p99[on] <= 20", "service_ms_p99", p99).verdict == "supported"
    assert part_of("p99[on] <= 5", "service_ms_p99", p99).verdict == "refuted"
    stalled = (0.2, 0.15, 0.3, 0.25, 0.22, 0.18)
    assert part_of("stalled_share[on] <= 0.01", "stalled_share", stalled).verdict == "refuted"


def test_the_interval_is_that_of_lognormal_means() -> None:
    logs = np.array([0.1, 0.5, -0.3, 0.8, 0.2, -0.1])
    low, high = SkewedMean(tuple(np.exp(logs)), 1.0).interval(0.95)
    assert low is not None and high is not None
    # By hand: mean 0.2, variance 0.16; t(5) 2.5706, chi-squared(5) 0.8312 and 12.8325.
    variance = float(logs.var(ddof=1))
    mean = 2.5706 * math.sqrt(variance / 6)
    upper = math.hypot(mean, 5 * variance / 0.8312 / 2 - variance / 2)
    assert high == pytest.approx(math.exp(0.2 + variance / 2 + upper), rel=1e-3)
    lower = math.hypot(mean, variance / 2 - 5 * variance / 12.8325 / 2)
    assert low <= math.exp(0.2 + variance / 2 - lower)


def test_little_spread_gives_students_interval() -> None:
    values = tuple(100 + 0.01 * step for step in (-1, 2, 0, 1, -2, 3))
    skewed, student = SkewedMean(values, 1.0).interval(0.95), Mean(values, 1.0).interval(0.95)
    assert skewed == pytest.approx(student, rel=1e-5)


def test_times_have_a_geometric_mean_and_an_interval_that_holds_both_means() -> None:
    values = (6.0, 10.0, 25.0, 8.0)
    logs = tuple(map(math.log, values))
    low, high = EitherMean(logs, 1.0).interval(0.95)
    student = GeometricMean(logs, 1.0).interval(0.95)
    assert low == student[0]
    assert high == pytest.approx(SkewedMean(values, 1.0).interval(0.95)[1])
    assert high is not None and student[1] is not None and high > student[1]
    found = single_values.estimate(measured_of("service_ms_p99", values), 0, "service_ms_p99")
    assert found.mean == pytest.approx(math.exp(math.fsum(logs) / 4))
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high))


def test_what_is_completed_a_second_has_students_interval() -> None:
    values = (900.0, 1000.0, 1100.0)
    measured = measured_of("rows_per_s", values)
    assert type(single_values.contrast(measured, 0, "rows_per_s")) is GeometricMean
    zero = measured_of("rows_per_s", (0.0, 1000.0, 1100.0))
    assert type(single_values.contrast(zero, 0, "rows_per_s")) is Mean


def test_tables_and_claims_have_one_interval() -> None:
    values = (3.0, 9.0, 4.0, 5.0)
    cell = single_values.estimate(measured_of("service_ms_p99", values), 0, "service_ms_p99")
    part = part_of("p99[on] <= 100", "service_ms_p99", values)
    assert part.estimate is not None
    assert (part.estimate.ratio, part.estimate.ci_low, part.estimate.ci_high) == (
        cell.mean,
        cell.ci_low,
        cell.ci_high,
    )


def test_few_blocks_and_bounds_have_no_interval() -> None:
    two = single_values.estimate(measured_of("service_ms_p99", (1.0, 3.0)), 0, "service_ms_p99")
    assert (two.mean, two.ci_low, two.ci_high) == (pytest.approx(math.sqrt(3)), None, None)
    below = measured_of("service_ms_p99", (1.0, 2.0, 3.0), bounds=frozenset({"service_ms_p99"}))
    bounded = single_values.estimate(below, 0, "service_ms_p99")
    assert (bounded.ci_low, bounded.ci_high) == (None, None)
    assert bounded.bound == AT_LEAST


def test_identical_readings_are_known_as_well_as_they_were_read() -> None:
    found = SkewedMean((5.0, 5.0, 5.0), 1.0, grain=0.05).interval(0.95)
    assert found == pytest.approx((4.95, 5.05))


SIZES = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@given(
    st.lists(SIZES, min_size=3, max_size=10),
    st.floats(-1, 1e6),
    st.sampled_from([0.5, 0.8, 0.95, 0.99, 0.9999]),
    st.booleans(),
    st.sampled_from([None, 3.0, 500.0]),
)
def test_p_and_interval_agree(
    values: list[float],
    threshold: float,
    confidence: float,
    intermittent: bool,
    events: float | None,
) -> None:
    one = SkewedMean(tuple(values), threshold, intermittent=intermittent, events=events)
    low, high = one.interval(confidence)
    assert low is not None and 0 <= low <= one.centre * (1 + 1e-9)
    assert high is None or high >= one.centre * (1 - 1e-9)
    ends = [end for end in (low, high) if end is not None]
    if not any(math.isclose(end, threshold, rel_tol=1e-6, abs_tol=1e-9) for end in ends):
        outside = threshold < low or (high is not None and threshold > high)
        assert (one.p <= 1 - confidence) == outside


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=10),
    st.floats(1e-9, 1e9),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_p_and_interval_of_a_time_agree(
    values: list[float], threshold: float, confidence: float
) -> None:
    one = EitherMean(tuple(map(math.log, values)), threshold)
    low, high = one.interval(confidence)
    ends = [end for end in (low, high) if end is not None]
    if not any(math.isclose(end, threshold, rel_tol=1e-6) for end in ends):
        outside = (low is not None and threshold < low) or (high is not None and threshold > high)
        assert (one.p <= 1 - confidence) == outside


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
def test_intervals_grow_with_confidence(confidence: float) -> None:
    one = SkewedMean((0.0, 1.0, 3.0, 0.0, 7.0), 1.0)
    (low, high), (lower, higher) = one.interval(confidence - 0.05), one.interval(confidence)
    assert low is not None and lower is not None and lower <= low
    assert high is not None and higher is not None and high <= higher
