"""Stalls in simulated ticks: found where they are scripted, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.store.metrics import spread, stalls
from dbdyno.store.metrics.timeseries import TICK_S, Trace, read_trace

Script = Sequence[tuple[float, float]]


def ticks(
    rng: np.random.Generator, rate_per_s: float, length_s: float, script: Script, noise: float = 0.0
) -> np.ndarray:
    """Poisson commits a tick, none within the stalls (start, length) of the script; `noise`:
    relative, and alike in neighbours."""
    n = round(length_s / TICK_S)
    left = np.arange(n) * TICK_S
    working = np.ones(n)
    for start_s, stall_s in script:
        inside = np.minimum(left + TICK_S, start_s + stall_s) - np.maximum(left, start_s)
        working -= np.clip(inside, 0, TICK_S) / TICK_S
    wander = rng.normal(size=n)
    for i in range(1, n):
        wander[i] = 0.7 * wander[i - 1] + math.sqrt(0.51) * wander[i]
    rate = rate_per_s * TICK_S * np.clip(working, 0, 1) * np.clip(1 + noise * wander, 0.05, None)
    return rng.poisson(rate).astype(float)


def find(counts: np.ndarray, due: np.ndarray | None = None) -> tuple[stalls.Dip, ...]:
    ends_s = TICK_S * np.arange(1, len(counts) + 1)
    return stalls.find(ends_s, counts, stalls.usual(counts, due))


COUNTS = st.one_of(
    st.lists(st.integers(0, 10**6).map(float), max_size=80),
    st.lists(st.sampled_from([0.0, 1.0, 100.0]), max_size=80),
    st.builds(lambda value, n: [float(value)] * n, st.integers(0, 9), st.integers(0, 400)),
)


@given(COUNTS, st.booleans())
def test_stalls_lie_within_the_ticks_and_do_not_overlap(counts: list[float], opened: bool) -> None:
    due = np.asarray(counts[::-1]) if opened else None
    found = find(np.asarray(counts), due)
    end_s = 0.0
    for one in found:
        assert one.start_s >= end_s - 1e-9 and one.length_s >= stalls.LENGTH_MIN_S
        assert stalls.DEPTH_MIN <= one.depth <= 1.0
        end_s = one.start_s + one.length_s
    assert end_s <= TICK_S * len(counts) + 1e-9


@pytest.mark.parametrize("rate", [100, 1000, 20000])
def test_each_stall_of_half_a_second_is_found_with_its_start(rate: float) -> None:
    rng = np.random.default_rng(rate)
    script = [(3 + 4 * k + rng.uniform(0, 2), rng.uniform(0.5, 1.5)) for k in range(14)]
    found = find(ticks(rng, rate, 60, script, 0.1))
    assert len(found) == len(script)
    for (start_s, length_s), one in zip(script, found, strict=True):
        # At 100 a second a tick has 10 commits: where they end is known to a tick or two.
        assert one.start_s == pytest.approx(start_s, abs=0.1 if rate > 100 else 0.2)
        assert one.length_s == pytest.approx(length_s, abs=0.2 if rate > 100 else 0.4)


@pytest.mark.parametrize("rate", [0.5, 5, 30, 100, 1000, 20000])
def test_none_is_invented(rate: float) -> None:
    rng = np.random.default_rng(round(rate * 10))
    assert [find(ticks(rng, rate, 30, [], 0.1)) for _ in range(40)] == [()] * 40


def test_at_few_commits_a_second_long_stalls_are_seen_only() -> None:
    rng = np.random.default_rng(8)
    assert stalls.shortest_s(1000, 30) == 0.5
    shortest_s = stalls.shortest_s(5, 60)
    assert shortest_s is not None and 2 < shortest_s < 4
    found = [find(ticks(rng, 5, 60, [(20, 2 * shortest_s)])) for _ in range(30)]
    assert sum(len(one) == 1 for one in found) >= 27
    assert stalls.shortest_s(0, 60) is None and stalls.shortest_s(0.1, 60) is None


def test_frequent_stalls_do_not_hide_each_other() -> None:
    rng = np.random.default_rng(9)
    script = [(1 + 2 * k, 0.8) for k in range(29)]
    assert len(find(ticks(rng, 2000, 60, script, 0.1))) == 29


def test_full_stops_are_found_where_throughput_halves_and_doubles_by_itself() -> None:
    rng = np.random.default_rng(15)
    wander = rng.normal(size=300)
    for i in range(1, 300):
        wander[i] = 0.8 * wander[i - 1] + 0.6 * wander[i]
    counts = rng.poisson(300 * np.exp(0.4 * wander)).astype(float)
    assert all(one.depth < 0.8 for one in find(counts))
    for start in (40, 120, 215):
        counts[start : start + 6] = 0
    stops = [one.start_s for one in find(counts) if one.depth > 0.95]
    assert stops == pytest.approx([4.0, 12.0, 21.5], abs=0.1)


def test_commits_in_lumps_are_no_stalls() -> None:
    lumps = np.zeros(300)
    lumps[::3] = 100
    assert find(lumps) == ()
    lumps = np.zeros(300)
    lumps[::7] = 100  # idle for 0.6 of 0.7 s: that is the usual
    assert find(lumps) == ()


def test_a_slow_start_a_step_and_an_idle_trial_are_no_stalls() -> None:
    rng = np.random.default_rng(10)
    warming = rng.poisson(np.where(np.arange(300) < 30, 10, 100)).astype(float)
    step = rng.poisson(np.where(np.arange(300) < 200, 300, 120)).astype(float)
    assert find(warming) == find(step) == find(np.zeros(300)) == find(np.zeros(0)) == ()
    deep = rng.poisson(np.where(np.arange(300) < 200, 3000, 400)).astype(float)
    recovering = np.where(np.arange(300) < 280, deep, rng.poisson(1300, 300))
    assert find(deep) == find(recovering) == ()
    assert len(find(np.where(np.arange(300) < 200, deep, 0.0))) == 1
    (dead,) = find(rng.poisson(np.where(np.arange(300) < 200, 300, 0)).astype(float))
    assert (dead.start_s, dead.length_s) == (pytest.approx(20, abs=0.1), pytest.approx(10, abs=0.1))


def test_a_slow_start_hides_no_stop_behind_it() -> None:
    rng = np.random.default_rng(16)
    for low in (10, 30, 60, 100):
        for slow in (6, 15):  # ticks; the second recovers only from the stop
            rates = np.full(70, 100.0)
            rates[:slow] = low
            rates[15:25] = rates[35:45] = 0.0
            starts = [one.start_s for one in find(rng.poisson(rates).astype(float))]
            seen = [1.5, 3.5] if slow == 6 or low > 10 else [3.5]
            assert starts == pytest.approx(seen, abs=0.15), (low, slow)


def test_a_lull_of_arrivals_is_no_stall_and_a_stall_under_it_is_one() -> None:
    rng = np.random.default_rng(11)
    due = np.repeat([300.0, 30.0, 300.0], 100)
    counts = rng.poisson(due).astype(float)
    assert find(counts, due) == ()
    counts[150:160] = 0
    (found,) = find(counts, due)
    assert found.start_s == pytest.approx(15, abs=0.1)


def interval(
    t_s: float, phase: str, counts: list[int], due: int | None = None
) -> dict[str, object]:
    opened = {} if due is None else {"open": {"due": due, "backlog": 0, "response": None}}
    group = {"ticks": counts, "transactions": sum(counts), **opened}
    return {
        "event": "interval",
        "t_s": t_s,
        "length_s": len(counts) * TICK_S,
        "phase": phase,
        "groups": {"main": group},
    }


def trace_of(counts: np.ndarray, warm_s: int = 0, due: int | None = None) -> Trace:
    """A trial whose first seconds are its warm-up."""
    seconds = counts.astype(int).reshape(-1, 10).tolist()
    events = [
        interval(i + 1.0 - warm_s, "warmup" if i < warm_s else "measure", one, due)
        for i, one in enumerate(seconds)
    ]
    return read_trace(
        "t", [*events, {"event": "end", "measured_s": float(len(seconds) - warm_s)}], []
    )


def test_a_stall_that_began_in_the_warm_up_begins_at_zero() -> None:
    rng = np.random.default_rng(12)
    counts = ticks(rng, 1000, 30, [(4.7, 1.3)])
    (found,) = stalls.of_trace(trace_of(counts, warm_s=5))
    assert found.start_s == 0.0 and found.length_s == pytest.approx(1.0, abs=0.1)
    assert stalls.of_trace(trace_of(counts, warm_s=10)) == ()


def test_arrivals_of_an_open_loop_are_read() -> None:
    trace = trace_of(np.full(100, 10.0), due=50)
    assert trace.due["main"].tolist() == [5.0] * 100
    assert trace.measured().due["main"].tolist() == [5.0] * 100
    assert stalls.expected(trace).tolist() == [5.0] * 100


def test_a_stall_does_not_span_missing_ticks() -> None:
    rng = np.random.default_rng(13)
    counts = rng.poisson(100, 300).astype(float)
    counts[97:103] = 0
    ends_s = TICK_S * np.arange(1, 301)
    ends_s[100:] += 5
    assert stalls.find(ends_s, counts, stalls.usual(counts)) == ()


def test_metrics_of_seconds_need_enough_of_them() -> None:
    rng = np.random.default_rng(14)
    long = trace_of(ticks(rng, 1000, 30, [(12, 2)]))
    found = {**spread.of_group(long, "main"), **spread.of_stalls(long)}
    assert found["transactions_per_s_min"] < 100 < found["transactions_per_s_p5"] < 1000
    assert found["transactions_spread"] == pytest.approx(
        math.sqrt(2 / 30 * 28 / 30) / (28 / 30), 0.1
    )
    assert found["stalled_share"] == pytest.approx(2 / 30, abs=0.01)
    assert found["stalls_per_min"] == pytest.approx(2.0)
    short = trace_of(np.full(40, 10.0))
    assert spread.of_group(short, "main") == {}
    assert spread.of_stalls(short) == {"stalled_share": 0.0, "stalls_per_min": 0.0}
    slow = trace_of(rng.poisson(0.3, 300).astype(float))
    assert spread.of_stalls(slow) == {}  # nothing could have been seen
    idle = trace_of(np.zeros(100))
    assert spread.of_group(idle, "main") == spread.of_stalls(idle) == {}
