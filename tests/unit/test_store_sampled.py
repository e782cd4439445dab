"""Samples become means over the measured phase, and the servers' CPU per operation."""

import math
from typing import Any

import pytest

from dbdyno.store.metrics.sampled import sampled_metrics


def line(t_s: float, source: str = "cpu", length_s: float = 1.0, **values: Any) -> dict[str, Any]:
    return {"t_s": t_s, "length_s": length_s, "source": source, "values": values}


def test_the_warm_up_and_the_time_after_the_end_do_not_count() -> None:
    # The reading at 0.002 covers the last second of the warm-up, the one at 4.004 the first after
    # the end.
    ticks = {-1.0: 100.0, 0.002: 100.0, 1.001: 1.0, 2.003: 2.0, 3.001: 6.0, 4.004: 100.0}
    found = sampled_metrics([line(t, busy=value) for t, value in ticks.items()], 3.0)
    assert found.metrics["cpu.busy"] == pytest.approx(3.0, rel=2e-3)


def test_a_late_sample_weighs_what_it_covers() -> None:
    lines = [line(0.0, x=9.0), line(1.0, x=1.0), line(4.0, length_s=3.0, x=5.0)]
    assert sampled_metrics(lines, 4.0).metrics["cpu.x"] == pytest.approx((1 * 1 + 5 * 3) / 4)


def test_a_sample_after_a_gap_weighs_no_more_than_any_other() -> None:
    # Between 1 and 4 s the server did not answer: what it did then is not known.
    lines = [line(1.0, x=1.0), line(5.0, x=5.0)]
    assert sampled_metrics(lines, 5.0).metrics["cpu.x"] == pytest.approx(3.0)


def test_order_does_not_matter_and_strange_values_are_left_out() -> None:
    lines = [line(2.0, x=3.0, name="y"), line(1.0, x=1.0, flag=True), line(3.0, x=math.inf)]
    assert sampled_metrics(lines, 3.0).metrics == {"cpu.x": pytest.approx(2.0)}


def test_an_unlisted_state_has_no_sessions_but_an_unlisted_counter_is_unknown() -> None:
    lines = [
        line(1.0, "sessions", lock=8.0),
        line(2.0, "sessions", running=8.0),
        line(1.0, "db.status", reads=8.0),
        line(2.0, "db.status", writes=8.0),
    ]
    assert sampled_metrics(lines, 2.0).metrics == {
        "sessions.lock": 4.0,
        "sessions.running": 4.0,
        "db.status.reads": 8.0,
        "db.status.writes": 8.0,
    }


def test_peaks_stand_beside_means() -> None:
    lines = [line(1.0, "memory", dirty_bytes=10), line(2.0, "memory", dirty_bytes=30)]
    assert sampled_metrics(lines, 2.0).metrics == {
        "memory.dirty_bytes": 20.0,
        "memory.dirty_bytes_max": 30.0,
    }
    assert (
        "db.server.rss_bytes_max"
        in sampled_metrics([line(1.0, "db.server", rss_bytes=1)], 1.0).metrics
    )


def test_what_may_grow_without_end_has_a_slope() -> None:
    seconds = [1.0, 2.0, 3.0, 4.0, 6.0]
    lines = [line(t, "db.server", rss_bytes=1000 + 10 * t) for t in seconds]
    lines += [line(t, "replica_lag_s", node2=7 - t) for t in seconds]
    lines += [line(t, "files", open=3) for t in seconds]
    lines += [line(t, "memory", cached_bytes=t) for t in seconds]
    found = sampled_metrics(lines, 6.0).metrics
    assert {name: value for name, value in found.items() if name.endswith("_per_h")} == {
        "db.server.rss_bytes_per_h": pytest.approx(36_000.0),
        "replica_lag_s.node2_per_h": pytest.approx(-3600.0),
        "files.open_per_h": 0.0,
    }
    few = sampled_metrics([line(t, "server", rss_bytes=t) for t in seconds[:4]], 6.0).metrics
    assert few.keys() == {"server.rss_bytes", "server.rss_bytes_max"}


def test_cpu_of_all_servers_adds_up() -> None:
    lines = [line(t, f"{db}.server", cpu_cores=0.5) for t in (1.0, 2.0) for db in ("a", "b")]
    assert sampled_metrics(lines, 2.0).server_cpu_s == pytest.approx(2.0)
    assert sampled_metrics([line(1.0, "server", cpu_cores=0.5)], 4.0).server_cpu_s == 2.0
    assert sampled_metrics([line(1.0, busy=0.5)], 4.0).server_cpu_s is None


def test_gaps_are_said() -> None:
    gap = {"t_s": 2.0, "source": "status", "values": {}, "gap": "TimeoutError: hung"}
    found = sampled_metrics([line(1.0, "status", x=1.0), gap, line(3.0, "status", x=3.0)], 3.0)
    assert found.warnings == ("status: 1 sample missing (first: TimeoutError: hung)",)
    assert found.metrics == {"status.x": 2.0}


def test_a_look_at_sessions_after_the_end_does_not_count() -> None:
    looks = [
        {"t_s": t_s, "length_s": 1.0, "source": "sessions", "values": values}
        for t_s, values in ((0.01, {"idle": 4}), (1.01, {"idle": 2}), (2.004, {"idle": 0}))
    ]
    assert sampled_metrics(looks, 2.0).metrics["sessions.idle"] == pytest.approx(3.0)
