"""Series of values that resemble their neighbours: what they are worth, where they change, where
they are warm. All series are simulated, and the same every time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis.within_trial import autocorrelation, warmup
from dbdyno.analysis.within_trial.changepoints import (
    INDEPENDENT,
    POINTS_MAX,
    RUNS,
    SECONDS,
    Neighbours,
    changes,
)
from dbdyno.analysis.within_trial.trend import trend

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SERIES = st.one_of(
    st.lists(FINITE, max_size=60),
    st.lists(st.integers(0, 3).map(float), max_size=60),
    st.builds(lambda value, n: [value] * n, FINITE, st.integers(0, 60)),
)


def autoregressive(rng: np.random.Generator, n: int, phi: float) -> np.ndarray:
    """Values of variance 1 that resemble the one before."""
    noise = rng.normal(size=n + 200)
    for i in range(1, len(noise)):
        noise[i] += phi * noise[i - 1]
    return noise[200:] * math.sqrt(1 - phi**2)


@given(SERIES)
def test_effective_size_lies_between_one_and_all(values: list[float]) -> None:
    worth = autocorrelation.effective(values)
    assert worth == len(values) if len(values) < 2 else 1 <= worth <= len(values)


@given(SERIES, st.floats(0.5, 0.999))
def test_an_interval_holds_its_mean_or_is_not_given(values: list[float], level: float) -> None:
    found = autocorrelation.interval(values, level)
    if found is not None:
        mean, low, high = found
        assert low <= mean <= high and not any(map(math.isnan, found))


def test_independent_values_are_worth_all_and_dependent_ones_what_theory_says() -> None:
    rng = np.random.default_rng(1)
    assert autocorrelation.effective(rng.normal(size=2000)) > 1500
    for phi in (0.5, 0.8):
        worth = np.mean(
            [autocorrelation.effective(autoregressive(rng, 2000, phi)) for _ in range(20)]
        )
        assert worth == pytest.approx(2000 * (1 - phi) / (1 + phi), rel=0.15)


def test_intervals_of_dependent_values_cover_the_mean() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        found = autocorrelation.interval(autoregressive(rng, 200, 0.6))
        assert found is not None
        hits += found[1] <= 0.0 <= found[2]
    assert 0.90 <= hits / 400 <= 0.98


@given(SERIES)
def test_a_trend_is_finite_and_its_p_a_probability(values: list[float]) -> None:
    found = trend(values)
    assert math.isfinite(found.share) and 0.0 <= found.p <= 1.0


def test_a_straight_line_is_a_trend_and_a_flat_one_none() -> None:
    assert trend(list(np.linspace(100, 120, 50))).share == pytest.approx(20 / 110)
    assert trend(list(np.linspace(100, 120, 50))).p == 0.0
    assert trend([5.0] * 50).p == 1.0


# Series and found points as Otava's documentation prints them (docs/BASICS.md, `otava analyze
# local.sample`, and its example of a branch).
PUBLISHED = {
    "metric1": (
        [154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209],
        [],
    ),
    "metric2": ([10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03], [6]),
    "branch": ([125000, 124500, 126200, 145000, 144200, 146100], [3]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_change_points_are_those_that_otava_publishes(name: str) -> None:
    values, points = PUBLISHED[name]
    found = changes(values, INDEPENDENT)
    assert [one.index for one in found] == points
    if name == "metric2":  # which it prints as -12.9 %
        assert found[0].after / found[0].before - 1 == pytest.approx(-0.129, abs=0.0005)


@given(SERIES, st.integers(0, 10), st.sampled_from([INDEPENDENT, SECONDS, RUNS]))
def test_change_points_keep_their_distance(
    values: list[float], min_size: int, neighbours: Neighbours
) -> None:
    found = changes(values, neighbours, min_size=min_size)
    places = [0, *(one.index for one in found), len(values)]
    size = max(2, min_size)
    assert not found or min(np.diff(places)) >= size
    assert all(0.0 <= one.p <= 0.05 for one in found)
    assert all(math.isfinite(one.before) and math.isfinite(one.after) for one in found)
    assert changes(values, neighbours, min_size=min_size) == found


@pytest.mark.long
def test_change_points_of_noise_are_rare() -> None:
    rng = np.random.default_rng(3)
    alike = [100 + rng.normal(size=40) for _ in range(150)]
    like_the_one_before = [100 + autoregressive(rng, 300, 0.8) for _ in range(60)]
    assert sum(bool(changes(one, INDEPENDENT)) for one in alike) / 150 <= 0.06
    assert sum(bool(changes(one, SECONDS)) for one in like_the_one_before) / 60 <= 0.1


def test_steps_and_bumps_are_found_where_they_are() -> None:
    rng = np.random.default_rng(4)
    series = 100 + rng.normal(size=200)
    series[90:120] += 5
    assert [one.index for one in changes(series, INDEPENDENT)] == [90, 120]
    long = 100 + rng.normal(size=3 * POINTS_MAX)
    long[2000:] += 3
    (found,) = changes(long, INDEPENDENT)
    assert abs(found.index - 2000) <= 2


def test_a_change_does_not_hide_behind_another() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(20):
        series = 100 + 15 * autoregressive(rng, 300, 0.7)
        series[:50] += 40
        series[165:] -= 55
        found += any(abs(one.index - 165) <= 3 for one in changes(series, SECONDS, 0.01, 15))
    assert found >= 16


@given(SERIES, st.sampled_from([0.0, 0.1, 1.0, 6.0]))
def test_the_end_of_warm_up_lies_within_the_first_half_or_there_is_none(
    values: list[float], step_s: float
) -> None:
    found = warmup.end(values, step_s)
    assert found is None or 0 <= found <= len(values) / 2 + warmup.BATCH


def ends(rng: np.random.Generator, shape: np.ndarray, noise: float, phi: float) -> list[int | None]:
    trials = (100 * shape + noise * autoregressive(rng, len(shape), phi) for _ in range(60))
    return [warmup.end(one) for one in trials]


@pytest.mark.parametrize("phi", [0.0, 0.8])
@pytest.mark.parametrize("noise", [2.0, 15.0])
def test_what_is_warm_is_rarely_called_cold(phi: float, noise: float) -> None:
    rng = np.random.default_rng(5)
    assert sum(end != 0 for end in ends(rng, np.ones(300), noise, phi)) <= 3


def test_a_warm_up_ends_where_little_of_it_is_left() -> None:
    rng = np.random.default_rng(6)
    t = np.arange(300)
    found = ends(rng, 1 - 0.5 * np.exp(-t / 25), 4.0, 0.3)
    assert sum(end is not None and 40 <= end <= 130 for end in found) >= 55
    steps = ends(rng, 1 - 0.3 * (t < 60), 4.0, 0.3)
    assert sum(end is not None and 55 <= end <= 120 for end in steps) >= 55


def test_what_drifts_all_the_time_never_warms_up() -> None:
    rng = np.random.default_rng(7)
    assert ends(rng, np.linspace(0.7, 1.0, 300), 4.0, 0.3).count(None) >= 55
