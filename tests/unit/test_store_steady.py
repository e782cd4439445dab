"""A trial reduced to its steady part."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.plan.types import GroupPlan
from dbdyno.store.metrics.histogram import Histogram, Tagged, merge
from dbdyno.store.metrics.reduce import reduce_trial
from dbdyno.store.metrics.steady import part
from dbdyno.systems.base import TargetPlan

TARGETS = (TargetPlan(name="db", kind="mariadb"),)
GROUPS = (GroupPlan("workload", "oltp", "db", 4, 60.0, 10, {}),)
MS = 1_000_000


def latencies(ms: int, count: int) -> Histogram:
    return Histogram.of([ms * MS] * count)


def interval(t_s: float, count: int, ms: int, phase: str = "measure") -> dict[str, Any]:
    group = {
        "transactions": count,
        "operations": 5 * count,
        "rows": 7 * count,
        "errors": 2,
        "retries": 1,
        "failed": 1,
        "lost": 0,
        "ticks": [count // 10] * 10,
        "latency": {"count": count, "mean_ns": ms * MS},
    }
    return {
        "event": "interval",
        "t_s": t_s,
        "length_s": 1.0,
        "phase": phase,
        "groups": {"workload": group},
        "generator": {"busy": [0.1], "cpu_s": 0.1, "lag_p99_ns": None},
    }


def end() -> dict[str, Any]:
    total = {
        "transactions": 0,
        "operations": 0,
        "rows": 0,
        "errors": {"1205": 3, "1213": 13},
        "retries": 0,
        "failed": 0,
        "in_flight_oldest_ns": 0,
        "latency": None,
        "classes": {},
    }
    generator = {"cpu_s": 9.0, "busy_max": 0.3, "lag": None, "generator_bound": False}
    return {
        "event": "end",
        "measured_s": 8.0,
        "interrupted": False,
        "asked": True,
        "groups": {"workload": total},
        "generator": generator,
    }


def trial() -> tuple[list[dict[str, Any]], list[Tagged]]:
    """Two seconds of warm-up, three slow ones, five steady ones."""
    events = [interval(t, 10, 50, "warmup") for t in (-1.0, 0.0)]
    lines = [Tagged("workload/!warmup", float(at), 1.0, latencies(50, 10)) for at in range(2)]
    for number in range(8):
        count, ms = (100, 9) if number < 3 else (400, 2)
        events.append(interval(number + 1.0, count, ms))
        lines.append(Tagged("workload", number + 2.0, 1.0, latencies(ms, count)))
    return [*events, end()], lines


def test_only_what_came_from_then_on_counts() -> None:
    events, lines = trial()
    found = part(events, lines, 2.4)
    assert found.from_s == 3.0
    reduced = reduce_trial(events, [], GROUPS, TARGETS, found)
    metrics = reduced.metrics
    assert metrics["transactions_per_s"] == 400.0
    assert metrics["operations_per_s"] == 2000.0
    assert metrics["rows_per_s"] == 2800.0
    assert (metrics["errors_per_s"], metrics["retries_per_s"]) == (2.0, 1.0)
    assert metrics["service_ms_mean"] == 2.0
    assert metrics["service_ms_p99"] == latencies(2, 1).quantile_ns(1.0) / MS  # type: ignore[operator]
    assert metrics["generator_cpu_us_per_op"] == pytest.approx(50.0)
    assert metrics["transactions_per_s_min"] == 400.0
    assert reduced.warnings == ()


def test_from_the_start_is_the_whole() -> None:
    events, lines = trial()
    found = part(events, lines, 0.0)
    assert found.from_s == 0.0
    assert found.end["measured_s"] == 8.0
    group = found.end["groups"]["workload"]
    assert group["transactions"] == 3 * 100 + 5 * 400
    all_of_it = merge(line.histogram for line in lines if line.tag == "workload")
    assert group["latency"]["p50_ns"] == all_of_it.quantile_ns(0.5)
    assert group["errors"] == {"1213": 16}


def test_an_interval_that_was_read_late_begins_in_its_place() -> None:
    events, lines = trial()
    events[4]["t_s"], events[5]["length_s"] = 3.02, 0.98
    assert part(events, lines, 3.0).from_s == pytest.approx(3.02)


def test_samples_and_outages_of_before_do_not_count() -> None:
    events, lines = trial()
    outages = [
        {"event": "outage", "group": "workload", "session": 1, "cause": "lost", **times}
        for times in ({"start_s": 0.5, "end_s": 2.0}, {"start_s": 4.0, "end_s": 4.5})
    ]
    samples = [
        {"t_s": at + 1.0, "length_s": 1.0, "source": "cpu", "values": {"busy": float(at)}}
        for at in range(8)
    ]
    found = part(events, lines, 3.0)
    reduced = reduce_trial([*outages, *events], samples, GROUPS, TARGETS, found)
    assert reduced.metrics["cpu.busy"] == 5.0
    assert [text for text in reduced.warnings if "outage" in text] == [
        "1 outage (first: workload session 1 at 4.0 s: lost)"
    ]


def test_a_log_with_gaps_leaves_latencies_out_and_says_so() -> None:
    events, lines = trial()
    reduced = reduce_trial(events, [], GROUPS, TARGETS, part(events, lines[:-1], 3.0))
    assert reduced.metrics["transactions_per_s"] == 400.0
    assert not any(name.startswith("service_ms") for name in reduced.metrics)
    assert any("latency.hlog has no intervals" in text for text in reduced.warnings)


def test_a_part_that_begins_after_the_last_interval_is_none() -> None:
    events, lines = trial()
    with pytest.raises(LookupError):
        part(events, lines, 7.5)


def test_ages_of_what_was_given_up_in_the_part_count_in_it() -> None:
    events, lines = trial()
    ages = [Tagged("workload/!censored", at, 1.0, latencies(70, 40)) for at in (3.0, 6.0)]
    found = part(events, [*lines, *ages], 3.0)
    latency = found.end["groups"]["workload"]["latency"]
    assert (latency["count"], latency["censored"]) == (5 * 400 + 40, 40)
    assert latency["at_least"] == ["mean_ns", "p99_ns", "p999_ns"]
