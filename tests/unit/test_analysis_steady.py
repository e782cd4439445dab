"""When a trial is steady and known well enough to end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis.within_trial.steady import Steady
from dbdyno.analysis.within_trial.steady import steady as steady_for

STEP_S = 0.1


def steady(series: list[float], step_s: float, matters: float) -> Steady | None:
    """A steady part of ten seconds at least."""
    return steady_for(series, step_s, matters, 10.0)


def counts(per_s: float, seconds: float, noise: float = 0.05, seed: int = 1) -> list[float]:
    """Commits a tick of a throughput with independent noise."""
    draws = np.random.default_rng(seed).normal(per_s * STEP_S, per_s * STEP_S * noise, n(seconds))
    return [float(max(0.0, round(x))) for x in draws]


def n(seconds: float) -> int:
    return round(seconds / STEP_S)


def test_a_flat_series_is_steady_once_it_is_long_enough() -> None:
    series = counts(5000, 30)
    assert steady(series[: n(9.8)], STEP_S, 0.03) is None
    found = steady(series[: n(10)], STEP_S, 0.03)
    assert found is not None and found.from_s == 0.0
    assert 0 < found.reach <= 0.03


def test_what_is_not_known_well_enough_goes_on() -> None:
    series = counts(5000, 20, noise=0.3)
    assert steady(series, STEP_S, 0.01) is None
    assert steady(series, STEP_S, 0.10) is not None


def test_the_warm_up_is_left_out() -> None:
    warming = [500 * (1 - math.exp(-at / n(3))) for at in range(n(12))]
    series = warming + counts(5000, 48)
    found = steady(series, STEP_S, 0.03)
    assert found is not None
    assert 3 <= found.from_s <= 20


def test_a_change_that_came_late_is_no_steady_state() -> None:
    series = counts(5000, 30) + counts(4500, 20, seed=2)
    assert steady(series, STEP_S, 0.03) is None
    # One that does not matter is none.
    series = counts(5000, 30) + counts(4950, 20, seed=2)
    assert steady(series, STEP_S, 0.05) is not None


def test_a_drift_is_no_steady_state() -> None:
    flat = counts(5000, 60, noise=0.02)
    series = [value * (1 + 0.2 * at / len(flat)) for at, value in enumerate(flat)]
    assert steady(series, STEP_S, 0.03) is None


def test_stalls_that_come_back_belong_to_the_steady_state() -> None:
    series = counts(5000, 120, noise=0.02)
    for at in range(n(3), len(series), n(4)):
        series[at : at + 3] = [0.0] * 3
    found = steady(series, STEP_S, 0.05)
    assert found is not None


@pytest.mark.parametrize("series", [[], [0.0] * 500, [math.nan] * 500, [1.0], [5.0] * 99])
def test_nothing_short_empty_or_broken_is_steady(series: list[float]) -> None:
    assert steady(series, STEP_S, 0.03) is None


def test_constant_commits_are_steady_and_known_exactly() -> None:
    assert steady([500.0] * 200, STEP_S, 0.03) == Steady(0.0, 0.0)


def test_without_what_matters_nothing_is_ever_known_well_enough() -> None:
    assert steady([500.0] * 200, STEP_S, 0.0) is None


@given(
    st.lists(st.floats(0, 1e12), max_size=300),
    st.sampled_from([0.1, 1.0]),
    st.floats(0.001, 0.5),
)
def test_whatever_is_found_keeps_what_it_promises(
    series: list[float], step_s: float, matters: float
) -> None:
    found = steady(series, step_s, matters)
    if found is not None:
        assert 0 <= found.reach <= matters
        assert 0 <= found.from_s <= len(series) * step_s - 10 + step_s
