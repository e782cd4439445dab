"""What clients saw of faults, in simulated ticks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.metrics.outages import of_group
from dbdyno.store.metrics.timeseries import TICK_S, Trace


def trace(counts: list[float]) -> Trace:
    n = len(counts)
    return Trace("t", n * TICK_S, TICK_S * np.arange(1, n + 1.0), {"g": np.asarray(counts)})


def fault(begun_s: float, do: str = "kill") -> dict[str, Any]:
    return {"do": do, "node": "db", "at_s": begun_s, "begun_s": begun_s}


def test_a_commit_in_every_tick_is_no_outage() -> None:
    assert of_group(trace([5.0] * 30), "g") == ({"outage_s": TICK_S}, {})
    assert of_group(trace([]), "g") == ({}, {})
    assert of_group(trace([5.0] * 30), "other") == ({}, {})


def test_the_longest_gap_counts_with_half_a_tick_at_either_side() -> None:
    counts = [5.0] * 10 + [0.0] * 4 + [5.0] * 10 + [0.0] * 9 + [5.0] * 10
    assert of_group(trace(counts), "g").metrics == pytest.approx({"outage_s": 1.0})


@pytest.mark.parametrize("cut", [[0.0] * 9 + [5.0] * 20, [5.0] * 20 + [0.0] * 9])
def test_a_gap_that_an_end_cuts_off_is_a_lower_bound(cut: list[float]) -> None:
    found = of_group(trace(cut), "g")
    assert found.metrics == pytest.approx({"outage_s": 0.9})
    assert found.bounds == {"outage_s": AT_LEAST}


def test_failover_counts_from_the_fault_to_the_first_commit() -> None:
    counts = [50.0] * 20 + [0.0] * 12 + [50.0] * 20  # the first one lies between 3.2 and 3.3 s
    found = of_group(trace(counts), "g", [fault(2.0)])
    assert found.metrics["failover_s"] == pytest.approx(1.25)
    assert found.bounds == {}


def test_a_start_in_an_outage_is_not_the_cause_of_it() -> None:
    counts = [50.0] * 20 + [0.0] * 12 + [50.0] * 20
    found = of_group(trace(counts), "g", [fault(2.0), fault(3.0, "restart")])
    assert found.metrics["failover_s"] == pytest.approx(1.25)


def test_the_worst_of_several_faults_counts() -> None:
    counts = [50.0] * 20 + [0.0] * 5 + [50.0] * 20 + [0.0] * 8 + [50.0] * 10
    found = of_group(trace(counts), "g", [fault(2.0), fault(4.5)])
    assert found.metrics["failover_s"] == pytest.approx(0.85)


def test_without_a_commit_after_it_failover_is_a_lower_bound() -> None:
    found = of_group(trace([50.0] * 20 + [0.0] * 12), "g", [fault(2.0)])
    assert found.metrics["failover_s"] == pytest.approx(1.2)
    assert found.bounds["failover_s"] == AT_LEAST


def test_a_fault_without_an_outage_has_no_failover() -> None:
    assert "failover_s" not in of_group(trace([50.0] * 50), "g", [fault(2.0)]).metrics
    late = [50.0] * 40 + [0.0] * 9 + [50.0] * 9  # two seconds later: another cause
    assert "failover_s" not in of_group(trace(late), "g", [fault(2.0)]).metrics
    seldom = ([1.0] + [0.0] * 9) * 6  # as it was before
    assert "failover_s" not in of_group(trace(seldom), "g", [fault(3.0)]).metrics


def test_a_brown_out_counts_seconds_below_four_fifths_of_the_median_second_before() -> None:
    counts = [50.0] * 30 + [25.0] * 20 + [45.0] * 30
    assert of_group(trace(counts), "g", [fault(2.95)]).metrics["brownout_s"] == 2.0
    assert of_group(trace([50.0] * 60), "g", [fault(2.95)]).metrics["brownout_s"] == 0.0
    early = of_group(trace([50.0] * 60), "g", [fault(0.5)]).metrics
    assert "brownout_s" not in early


def test_a_fault_of_the_warm_up_or_one_that_did_not_begin_is_none() -> None:
    for one in (fault(-1.0), {"do": "kill", "node": "db", "at_s": 1.0}):
        assert set(of_group(trace([50.0] * 50), "g", [one]).metrics) == {"outage_s"}


@given(
    st.lists(st.sampled_from([0.0, 1.0, 50.0]), min_size=1, max_size=80),
    st.lists(st.floats(0, 8), max_size=4),
)
def test_no_time_is_longer_than_the_trial(counts: list[float], begun_s: list[float]) -> None:
    found = of_group(trace(counts), "g", [fault(at) for at in begun_s])
    times = {name: value for name, value in found.metrics.items() if name.endswith("_s")}
    assert "transactions_per_s_before" not in times
    for name, value in times.items():
        assert 0.0 <= value <= max(len(counts), 1) * TICK_S + 1e-9, name
