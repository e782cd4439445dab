"""Latencies of which some are known to be larger than an age only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.store.metrics.histogram import Histogram
from dbdyno.store.metrics.latency import QUANTILES, Censored

MS = 1_000_000


def of(*parts: tuple[float, int]) -> Histogram:
    return Histogram.of([round(ms * MS) for ms, count in parts for _ in range(count)])


def bounded(known: Histogram, ages: Histogram) -> list[str]:
    summary = Censored(known, ages).summary()
    assert summary is not None
    return list(summary["at_least"])


def test_a_deadline_no_longer_makes_the_tail_vanish() -> None:
    slow = of((2.2, 9_800), (200, 200))
    assert Censored(slow).summary()["p99_ns"] // MS == 200
    cut = Censored(of((2.2, 9_800)), of((100, 200))).summary()
    assert cut["p99_ns"] // MS == 100
    assert (cut["count"], cut["censored"]) == (10_000, 200)
    assert cut["at_least"] == ["mean_ns", "p99_ns", "p999_ns"]


def test_few_failures_move_the_highest_percentile_alone() -> None:
    known = of((2, 98_000), (5, 1_000), (200, 200))
    assert bounded(known, of((0.1, 800))) == ["mean_ns", "p999_ns"]
    assert bounded(known, of((0.1, 10))) == ["mean_ns"]
    assert bounded(known, Histogram.empty()) == []


@given(
    values=st.lists(st.integers(1, 10**9), min_size=1, max_size=200),
    ages=st.lists(st.integers(1, 10**9), max_size=50),
)
def test_a_percentile_that_is_no_bound_is_right_whatever_the_given_up_took(
    values: list[int], ages: list[int]
) -> None:
    both = Censored(Histogram.of(values), Histogram.of(ages))
    shares = np.array([q for _, q in QUANTILES])
    for share, is_bound in zip(shares.tolist(), both.is_bound(shares).tolist(), strict=True):
        low = both.all.quantile_ns(share)
        endless = Histogram.of([*values, *[10**12] * len(ages)]).quantile_ns(share)
        assert low is not None
        assert endless is not None
        if is_bound:
            assert endless > low
        else:
            assert low <= endless <= low * (1 + 1 / 64) + 2


def test_a_chart_leaves_out_what_is_a_bound() -> None:
    values, shares = Censored(of((2, 900), (5, 100)), of((3, 30))).ecdf(50)
    assert (values / MS).max() == pytest.approx(2, rel=0.01)
    assert shares.max() < 0.9
