"""An open loop's totals: what becomes a metric, a bound, a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import group
from test_store_reduce import end, interval, latency, total

from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store import record
from dbdyno.store.metrics import open_loop
from dbdyno.store.metrics.reduce import reduce_trial
from dbdyno.store.record import TrialRecord

MS = 1_000_000


def opened(**changes: Any) -> dict[str, Any]:
    return {
        "due": 20_000,
        "begun": 20_000,
        "failed": 0,
        "left": 0,
        "backlog_end": 3,
        "backlog_max": 40,
        "drain_s": 0.01,
        "response": latency() | {"mean_ns": 2.5 * MS},
        "response_at_least_ns": None,
        "dispatch_lag": latency() | {"p99_ns": 30_000},
    } | changes


OVER = opened(
    begun=12_000,
    left=6_000,
    backlog_end=8_000,
    backlog_max=8_000,
    drain_s=2.0,
    response=latency() | {"p50_ns": 2_000 * MS, "p95_ns": 4_000 * MS, "p99_ns": 5_500 * MS},
    response_at_least_ns=3_000 * MS,
)


def reduced(of_loop: dict[str, Any], sessions: int = 1, **changes: Any) -> Any:
    groups = {"workload": total(open=of_loop, errors={}, **changes)}
    return reduce_trial([end(groups)], [], [group(sessions=sessions)])


def test_response_stands_beside_service() -> None:
    found = reduced(opened())
    assert found.metrics["service_ms_p95"] == 3.0
    assert found.metrics["response_ms_p95"] == 3.0
    assert found.metrics["response_ms_mean"] == 2.5
    assert found.metrics["due_per_s"] == 2000
    assert found.metrics["backlog_max"] == 40
    assert found.metrics["backlog_end"] == 3
    assert found.metrics["drain_s"] == 0.01
    assert found.metrics["left"] == 0
    assert found.metrics["dispatch_lag_us_p99"] == 30
    assert found.bounds == {}
    assert found.warnings == ()


def test_what_falls_among_arrivals_without_an_answer_is_a_lower_bound() -> None:
    found = reduced(OVER)
    assert found.metrics["response_ms_p50"] == 2000
    assert set(found.bounds) == {
        "response_ms_p95",
        "response_ms_p99",
        "response_ms_p999",
        "response_ms_mean",
        "drain_s",
    } - {"response_ms_p999"}
    assert found.metrics["response_ms_p999"] == 9.0  # as given, though no histogram would


def test_an_overload_is_said_with_its_numbers() -> None:
    found = reduced(OVER, transactions=12_000, latency=latency() | {"mean_ns": 0.83 * MS})
    assert found.warnings[0] == (
        "the system could not hold the rate: 1,200.0 of 2,000.0/s were achieved, and 8,000 arrivals"
        " were waiting at the end, 6,000 of them left after the drain"
    )
    assert found.warnings[1].startswith("the only session was busy: at a mean service time of 0.83")
    assert "1,205/s at most" in found.warnings[1]


def test_sessions_that_were_not_all_busy_are_not_the_limit() -> None:
    found = reduced(OVER, sessions=64, transactions=12_000)
    assert len(found.warnings) == 1


def test_several_busy_sessions_are_counted() -> None:
    busy = latency() | {"mean_ns": 7.0 * MS}
    found = reduced(OVER, sessions=8, transactions=12_000, latency=busy)
    assert found.warnings[1].startswith("all 8 sessions were busy: at a mean service time of 7 ms")
    assert "1,143/s at most" in found.warnings[1]


def test_a_busy_session_with_a_pipeline_does_as_many_times_as_much() -> None:
    busy = latency() | {"mean_ns": 7.0 * MS}
    groups = {"workload": total(open=OVER, errors={}, transactions=12_000, latency=busy)}
    piped = replace(group(sessions=2), workload="kv", options={"pipeline": 4})
    found = reduce_trial([end(groups)], [], [piped])
    assert found.warnings[1].startswith("all 2 sessions were busy: at a mean service time of 7 ms")
    assert "1,143/s at most" in found.warnings[1]


def test_how_many_were_sent_in_a_write_is_a_metric() -> None:
    groups = {"workload": total(errors={}, operations_per_write=3.5)}
    piped = replace(group(), workload="kv", options={"pipeline": 4})
    assert reduce_trial([end(groups)], [], [piped]).metrics["operations_per_write"] == 3.5
    assert "operations_per_write" not in reduced(opened()).metrics


def test_a_few_without_an_answer_are_said_where_the_rate_was_held() -> None:
    found = reduced(opened(left=2, response_at_least_ns=1000 * MS))
    assert found.warnings == (
        "2 arrivals had no answer when the drain was over: the longest response times are lower"
        " bounds",
    )
    assert set(found.bounds) == {"drain_s", "response_ms_mean"}


@pytest.mark.parametrize(("lag_us", "said"), [(90, False), (110, True)])
def test_the_meters_own_lateness_is_said(lag_us: int, said: bool) -> None:
    lag = latency() | {"p99_ns": lag_us * 1000}
    found = reduced(opened(dispatch_lag=lag))  # next to a median response of 1 ms
    assert any("the generator itself began" in text for text in found.warnings) == said


def test_a_percentile_needs_ten_arrivals_beyond_it() -> None:
    found = reduced(opened(response=latency(500)))
    assert "response_ms_p95" in found.metrics
    assert "response_ms_p99" not in found.metrics


def test_groups_keep_their_bounds_apart() -> None:
    groups = {"app": total(open=OVER, transactions=12_000, errors={}), "beside": total()}
    members = [group("app"), group("beside")]
    found = reduce_trial([end(groups)], [], members)
    assert "app.response_ms_p95" in found.bounds
    assert "beside.response_ms_p95" not in found.metrics
    assert found.warnings[0].startswith("app: the system could not hold the rate")


@given(st.integers(0, 10**9))
def test_a_rate_is_held_when_nothing_grows(due: int) -> None:
    assert open_loop.held(0, due)
    assert not open_loop.overloaded(0, due)


def growing(unfinished: list[int], due: int = 1000) -> dict[str, Any]:
    """Intervals of a second at whose ends so many arrivals are unfinished, and the totals."""
    done = [due - (b - a) for a, b in zip([0, *unfinished], unfinished, strict=False)]
    intervals = [
        {
            **interval(float(second)),
            "groups": {
                "workload": {
                    "transactions": count,
                    "failed": 0,
                    "ticks": [count // 10] * 10,
                    "open": {"due": due, "backlog": 0},
                }
            },
        }
        for second, count in enumerate(done, start=1)
    ]
    totals = total(
        open=opened(due=due * len(done), backlog_end=0, failed=0), transactions=sum(done), errors={}
    )
    ended = {**end({"workload": totals}), "measured_s": float(len(done))}
    return reduce_trial([*intervals, ended], [], [group()]).metrics


def test_growth_is_of_what_is_unfinished_whatever_the_sessions_hold() -> None:
    """No arrival waits for a session, and yet 100 a second more are begun than finished."""
    found = growing([100, 200, 300, 400, 500])
    assert found["backlog_end"] == 0
    assert found["unfinished_growth"] == 400
    assert not open_loop.held(found["unfinished_growth"], 5000)
    assert open_loop.overloaded(found["unfinished_growth"], 5000)


def test_a_stall_that_is_worked_off_is_no_growth() -> None:
    assert growing([10, 10, 10, 10, 900])["unfinished_growth"] == 10
    assert growing([10, 10, 900, 10, 10])["unfinished_growth"] == 10
    assert growing([900, 10, 10, 10, 10])["unfinished_growth"] == 10


def test_failed_arrivals_are_a_share_of_those_due() -> None:
    found = reduced(opened(failed=10_000), transactions=10_000, failed=10_000)
    assert found.metrics["failed_share"] == 0.5
    assert found.metrics["unfinished_growth"] == 0


def test_bounds_and_probes_survive_the_disk() -> None:
    metrics = {"response_ms_p99": 5.0, "rate_max_per_s": 1.0}
    one = TrialRecord("b01-t001", 1, 0, "complete", 0.0, metrics)
    assert "bounds" not in record.to_json(one)
    assert "probes" not in record.to_json(one)
    probes = ({"rate_per_s": 100.0, "passed": True, "why": ""},)
    bounded = replace(one, bounds={"response_ms_p99": AT_LEAST}, probes=probes)
    for each in (one, bounded):
        assert record.from_json(record.to_json(each), "here") == each


def test_what_would_move_a_percentile_is_a_bound_whatever_its_age() -> None:
    response = latency() | {"censored": 300, "at_least": ["mean_ns", "p99_ns", "p999_ns"]}
    found = reduced(opened(failed=300, response=response))
    assert set(found.bounds) == {"response_ms_mean", "response_ms_p99", "response_ms_p999"}
