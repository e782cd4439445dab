"""Reduction of a trial: rates, latencies, CPU per operation, and what deserves a warning."""

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import group

from dbdyno.store.metrics.reduce import reduce_trial
from dbdyno.systems.base import TargetPlan

MARIADB = (TargetPlan("db", "mariadb"),)
SQLITE = (TargetPlan("db", "sqlite"),)


def latency(count: int = 20_000) -> dict[str, Any]:
    return {
        "count": count,
        "mean_ns": 1.5e6,
        "p50_ns": 1_000_000,
        "p95_ns": 3_000_000,
        "p99_ns": 5_000_000,
        "p999_ns": 9_000_000,
        "max_ns": 20_000_000,
    }


def total(**changes: Any) -> dict[str, Any]:
    return {
        "transactions": 20_000,
        "operations": 100_000,
        "rows": 200_000,
        "errors": {"1213": 20},
        "retries": 20,
        "failed": 0,
        "in_flight_oldest_ns": 0,
        "latency": latency(),
        "error_latency": None,
        "classes": {},
    } | changes


def end(groups: dict[str, Any] | None = None, **generator: Any) -> dict[str, Any]:
    return {
        "event": "end",
        "measured_s": 10.0,
        "interrupted": False,
        "groups": groups or {"workload": total()},
        "generator": {
            "cpu_s": 2.0,
            "busy_max": 0.3,
            "lag": latency() | {"p99_ns": 20_000},
            "polls": 1,
            "syscalls": 2,
            "generator_bound": False,
            "rss_max_bytes": 1000,
        }
        | generator,
    }


def given_up(short: str = "p999", **changes: Any) -> dict[str, Any]:
    """A summary of which 0.8 % are ages."""
    return latency() | {"censored": 160, "at_least": ["mean_ns", f"{short}_ns"]} | changes


def interval(t_s: float, phase: str = "measure") -> dict[str, Any]:
    return {"event": "interval", "t_s": t_s, "length_s": 1.0, "phase": phase, "groups": {}}


def test_one_group_has_no_prefix() -> None:
    metrics, warnings, _ = reduce_trial([end()], [], [group()], MARIADB)
    assert metrics == pytest.approx(
        {
            "transactions_per_s": 2000.0,
            "operations_per_s": 10_000.0,
            "rows_per_s": 20_000.0,
            "errors_per_s": 2.0,
            "refused_commits_per_s": 0.0,
            "retries_per_s": 2.0,
            "failed_per_s": 0.0,
            "service_ms_mean": 1.5,
            "service_ms_p50": 1.0,
            "service_ms_p95": 3.0,
            "service_ms_p99": 5.0,
            "service_ms_p999": 9.0,
            "generator.busy_max": 0.3,
            "generator.lag_ms_p99": 0.02,
            "generator_cpu_us_per_op": 20.0,
        }
    )
    assert warnings == ()


def test_the_users_own_statements_have_metrics_by_class_and_writes_together() -> None:
    statements = {
        "find": {"sql": "SELECT 1"},
        "add": {"sql": "INSERT INTO t VALUES (1)"},
        "drop": {"sql": "DELETE FROM t"},
        "never": {"sql": "SELECT 2"},
    }
    own = replace(group(), workload="mix", options={"statements": statements})
    classes = {
        "find": latency(),
        "add": latency() | {"count": 30, "mean_ns": 4_000_000.0},
        "drop": latency() | {"count": 10, "mean_ns": 8_000_000.0},
        "never": None,
        "begin": latency(),
    }
    metrics, _, _ = reduce_trial([end({"workload": total(classes=classes)})], [], [own], MARIADB)
    assert metrics["class.find.service_ms_p95"] == 3.0
    assert metrics["class.add.service_ms_mean"] == 4.0
    assert "class.add.service_ms_p95" not in metrics  # of 30 values
    assert metrics["write_ms_mean"] == pytest.approx(5.0)
    assert not [name for name in metrics if "never" in name or "begin" in name]


def test_several_groups_have_prefixes_and_share_the_cpu() -> None:
    both = {"readers": total(), "updater": total(operations=300_000, latency=None)}
    metrics, _, _ = reduce_trial([end(both)], [], [group("readers"), group("updater")], MARIADB)
    assert metrics["readers.transactions_per_s"] == 2000.0
    assert metrics["updater.operations_per_s"] == 30_000.0
    assert metrics["generator_cpu_us_per_op"] == pytest.approx(5.0)
    assert "updater.service_ms_p50" not in metrics
    assert "transactions_per_s" not in metrics


@pytest.mark.parametrize(
    ("count", "present"),
    [
        (19, set()),
        (20, {"p50"}),
        (199, {"p50"}),
        (200, {"p50", "p95"}),
        (999, {"p50", "p95"}),
        (1000, {"p50", "p95", "p99"}),
        (9999, {"p50", "p95", "p99"}),
        (10_000, {"p50", "p95", "p99", "p999"}),
    ],
)
def test_a_percentile_needs_ten_values_beyond_it(count: int, present: set[str]) -> None:
    few = end({"workload": total(latency=latency(count))})
    metrics, _, _ = reduce_trial([few], [], [group()], MARIADB)
    found = {name.removeprefix("service_ms_") for name in metrics if name.startswith("service_")}
    assert found == present | {"mean"}


def test_in_process_cpu_is_the_systems() -> None:
    bound = end(generator_bound=True, busy_max=1.0)
    metrics, warnings, _ = reduce_trial([bound], [], [group()], SQLITE)
    assert metrics["server_cpu_us_per_op"] == pytest.approx(20.0)
    assert "generator_cpu_us_per_op" not in metrics
    assert warnings == ()
    _, warnings, _ = reduce_trial([bound], [], [group()], MARIADB)
    assert len(warnings) == 1
    assert warnings[0].startswith("generator-bound (CPU): a load thread was busy for 100%")
    lag = latency() | {"p50_ns": 1_000, "p99_ns": 600_000}
    late = end(generator_bound=True, lag=lag)
    _, warnings, _ = reduce_trial([late], [], [group()], MARIADB)
    assert warnings == (
        "generator-bound (lag): 1 % of the answers may have lain unread for 600 µs or more, next to"
        " a latency whose 99th percentile is 5,000 µs; latencies may be that much too high",
    )
    early = end(generator_bound=True, lag=lag | {"p50_ns": 200_000})
    _, warnings, _ = reduce_trial([early], [], [group()], MARIADB)
    assert warnings[0].startswith(
        "generator-bound (lag): half of the answers may have lain unread for 200 µs or more, next"
        " to a latency whose median is 1,000 µs;"
    )
    few = end(generator_bound=True, lag=lag | {"p50_ns": None, "p99_ns": None, "max_ns": 30_000})
    _, warnings, _ = reduce_trial([few], [], [group()], MARIADB)
    assert warnings[0].startswith(
        "generator-bound (lag): answers may have lain unread for up to 30 µs; "
    )


def test_cpu_is_not_given_where_an_in_process_system_shares_the_load_threads() -> None:
    several = [group("readers"), replace(group("writers"), target="lite")]
    kinds = [*MARIADB, replace(SQLITE[0], name="lite")]
    totals = {name: total() for name in ("readers", "writers")}
    both = end(totals, generator_bound=True, busy_max=1.0)
    metrics, warnings, _ = reduce_trial([both], [], several, kinds)
    assert not [name for name in metrics if name.endswith("_cpu_us_per_op")]
    assert warnings == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transactions": 0, "errors": {}}, "no transaction was committed"),
        ({"errors": {"1205": 1, "deadline": 300}}, "1.5% of attempts failed (most often: deadline"),
        ({"in_flight_oldest_ns": 3_000_000_000}, "begun 3.0 s before the end"),
    ],
)
def test_groups_warn(change: dict[str, Any], words: str) -> None:
    _, warnings, _ = reduce_trial([end({"workload": total(**change)})], [], [group()], MARIADB)
    assert len(warnings) == 1
    assert words in warnings[0]


def test_outages_count_if_they_touch_the_measured_phase() -> None:
    def outage(start: float, stop: float | None) -> dict[str, Any]:
        return {
            "event": "outage",
            "group": "workload",
            "session": 3,
            "start_s": start,
            "end_s": stop,
            "cause": "reset",
        }

    def warned(*outages: dict[str, Any]) -> tuple[str, ...]:
        return reduce_trial([*outages, end()], [], [group()], MARIADB).warnings

    assert warned(outage(-5, -1)) == ()
    assert warned(outage(-5, 1))[0].startswith("1 outage (first: workload session 3 at -5.0 s")
    assert warned(outage(4, None), outage(2, 3))[0].startswith("2 outages (first: workload")
    assert warned(outage(11, None)) == ()


def test_what_comes_after_a_fault_is_no_accident() -> None:
    lost = {
        "event": "outage",
        "group": "workload",
        "session": 1,
        "start_s": 4.0,
        "end_s": 5.0,
        "cause": "reset",
    }
    down = [{"t_s": 4.5, "source": "status", "values": {}, "gap": "refused"}]
    busy = {"t_s": 3.0, "length_s": 1.0, "source": "server", "values": {"cpu_cores": 1.0}}
    samples = [busy, *down]
    struck = [{"do": "kill", "node": "db", "at_s": 3.9, "begun_s": 3.9}]

    def of(*faults: dict[str, Any]) -> Any:
        return reduce_trial([lost, end()], samples, [group()], MARIADB, None, faults)

    assert len(of().warnings) == 2
    assert of().metrics["server_cpu_us_per_op"] > 0
    assert of(*struck).warnings == ()
    # The CPU time of a process that has ended is not known.
    assert "server_cpu_us_per_op" not in of(*struck).metrics
    later = {**struck[0], "do": "pause", "begun_s": 6.0}
    assert len(of(later).warnings) == 2
    assert of(later).metrics["server_cpu_us_per_op"] > 0


def test_missing_intervals_interrupts_and_the_engines_own_warnings() -> None:
    whole = [interval(t, "warmup") for t in (-1, 0)] + [interval(t) for t in range(1, 11)]
    assert reduce_trial([*whole, end()], [], [group()], MARIADB).warnings == ()
    gap = [event for event in whole if event["t_s"] not in (4, 5, 6)]
    assert "7.0 s of 10.0 s" in reduce_trial([*gap, end()], [], [group()], MARIADB).warnings[0]
    stopped = end() | {"interrupted": True}
    said = {"event": "warning", "message": "clock went backwards"}
    warnings = reduce_trial([said, said, stopped], [], [group()], MARIADB).warnings
    assert warnings == ("the trial was ended early by a signal", "clock went backwards")


def test_without_an_end_there_are_no_numbers() -> None:
    metrics, warnings, _ = reduce_trial([interval(1)], [], [group()], MARIADB)
    assert metrics == {}
    assert "nothing was measured" in warnings[0]


def test_a_thousand_warnings_are_bounded() -> None:
    said = [{"event": "warning", "message": f"w{n}"} for n in range(1000)]
    warnings = reduce_trial([*said, end()], [], [group()], MARIADB).warnings
    assert len(warnings) == 50
    assert warnings[-1] == "and 951 more warnings"


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 10**6))
def test_nothing_that_is_not_finite_leaks(value: float, operations: int) -> None:
    strange = copy.deepcopy(end({"workload": total(operations=operations)}, cpu_s=value))
    metrics, _, _ = reduce_trial([strange], [], [group()], MARIADB)
    assert all(math.isfinite(number) for number in metrics.values())


def test_what_was_given_up_makes_lower_bounds_of_a_closed_loop_too() -> None:
    kinds = {"pay": given_up("p99", count=2_000, censored=200), "look": latency(2_000)}
    groups = {"workload": total(latency=given_up(), kinds=kinds, errors={})}
    found = reduce_trial([end(groups)], [], [group()])
    assert set(found.bounds) == {
        "service_ms_mean",
        "service_ms_p999",
        "kind.pay.service_ms_mean",
        "kind.pay.service_ms_p99",
    }
    assert found.metrics["service_ms_p999"] == 9.0
    assert found.metrics["kind.pay.per_min"] == 60 * 1_800 / 10
    assert found.warnings == (
        "160 transactions (0.80%) were given up and count with their age: service times from p99.9"
        " on are lower bounds",
    )


def test_a_failure_that_moves_no_percentile_is_no_warning() -> None:
    one = latency() | {"censored": 1, "at_least": ["mean_ns"]}
    found = reduce_trial([end({"workload": total(latency=one, errors={})})], [], [group()])
    assert (set(found.bounds), found.warnings) == ({"service_ms_mean"}, ())


def test_refused_commits_are_a_rate() -> None:
    groups = {"workload": {**total(), "refused_commits": 15}}
    found = reduce_trial([end(groups)], [], [group()], MARIADB).metrics
    assert found["refused_commits_per_s"] == 1.5
