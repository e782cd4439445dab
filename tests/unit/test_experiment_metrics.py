"""Names of metrics: short forms, prefixes, families."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment.claims import known_metrics, metrics
from dbdyno.experiment.claims.metrics import Scope, canonical

ONE = Scope(("workload",), open_loops=(), searches=())
TWO = Scope(("readers", "writer"), open_loops=("writer",), searches=())
OPEN = Scope(("workload",), open_loops=("workload",), searches=())
SEARCH = Scope(("workload",), open_loops=("workload",), searches=("workload",))
MIXED = Scope(("workload",), open_loops=("workload",), closed_loops=("workload",), searches=())
TARGETS = Scope(("readers", "writer"), ("a", "b"))


@pytest.mark.parametrize(
    ("scope", "written", "name"),
    [
        (ONE, "tps", "transactions_per_s"),
        (ONE, "qps", "operations_per_s"),
        (ONE, "p50", "service_ms_p50"),
        (ONE, "median", "service_ms_p50"),
        (ONE, "p95 ms", "service_ms_p95"),
        (ONE, "p99.9", "service_ms_p999"),
        (ONE, "p999", "service_ms_p999"),
        (ONE, "mean", "service_ms_mean"),
        (ONE, "service_ms_p99", "service_ms_p99"),
        (ONE, "workload.tps", "transactions_per_s"),
        (ONE, "status.Com_select", "status.Com_select"),
        (ONE, "cpu.steal_percent", "cpu.steal_percent"),
        (ONE, "sessions.Sending data", "sessions.Sending data"),
        (OPEN, "response_p95", "response_ms_p95"),
        (OPEN, "response_p95 ms", "response_ms_p95"),
        (OPEN, "response_p99.9", "response_ms_p999"),
        (OPEN, "p95", "response_ms_p95"),
        (OPEN, "p95 ms", "response_ms_p95"),
        (OPEN, "median", "response_ms_p50"),
        (OPEN, "p99.9", "response_ms_p999"),
        (OPEN, "mean", "response_ms_mean"),
        (OPEN, "workload.p99", "response_ms_p99"),
        (OPEN, "service_ms_p95", "service_ms_p95"),
        (SEARCH, "p99", "response_ms_p99"),
        (OPEN, "backlog", "backlog_max"),
        (SEARCH, "rate_max", "rate_max_per_s"),
        (TWO, "writer.response_ms_p95", "writer.response_ms_p95"),
        (TWO, "readers.tps", "readers.transactions_per_s"),
        (TWO, "writer.p95 ms", "writer.response_ms_p95"),
        (TWO, "readers.p95 ms", "readers.service_ms_p95"),
        (TWO, "server_cpu_us_per_op", "server_cpu_us_per_op"),
        (TARGETS, "a.status.Com_select", "a.status.Com_select"),
        (TARGETS, "b.server.rss_bytes", "b.server.rss_bytes"),
        (TARGETS, "disk.sda.write_bytes_per_s", "disk.sda.write_bytes_per_s"),
    ],
)
def test_canonical_names(scope: Scope, written: str, name: str) -> None:
    assert canonical(written, scope) == name
    assert canonical(name, scope) == name


@pytest.mark.parametrize(
    ("scope", "written", "what", "fix"),
    [
        (ONE, "tpss", "no metric is called `tpss`", "`tps`"),
        (ONE, "service_ms_p98", "no metric", "service_ms_p99"),
        (ONE, "status.", "no metric", "status.NAME"),
        (ONE, "response_ms_p95", "closed loop", "service_ms_p95"),
        (MIXED, "p95", "open loop in some cells", "service_ms_p95"),
        (MIXED, "p95", "open loop in some cells", "response_ms_p95"),
        (MIXED, "workload.p95", "open loop in some cells", "response_ms_p95"),
        (ONE, "response_ms_p95", "closed loop", "rate: 1000/s"),
        (ONE, "backlog_max", "closed loop", "rate: 1000/s"),
        (OPEN, "rate_max", "no rate is searched for", "find:"),
        (TWO, "tps", "name its group", "`readers.tps` or `writer.tps`"),
        (TWO, "readers.response_ms_p95", "closed loop", "service_ms_p95"),
        (TWO, "readers.server_cpu_us_per_op", "all groups together", "server_cpu_us_per_op"),
        (TWO, "readrs.tps", "no metric", "`readers.tps`"),
        (TARGETS, "status.Com_select", "name its target", "`a.status.Com_select`"),
    ],
)
def test_wrong_names_list_the_right_ones(scope: Scope, written: str, what: str, fix: str) -> None:
    with pytest.raises(DynoError) as caught:
        canonical(written, scope)
    assert what in caught.value.what
    assert fix in caught.value.fix


def test_a_target_needs_no_prefix_where_it_is_alone() -> None:
    assert canonical("db.status.X", Scope(("g",), ("db",))) == "status.X"


def test_names_are_unique_and_canonical() -> None:
    spellings = [s for m in known_metrics.METRICS for s in (m.name, *m.aliases)]
    assert len(spellings) == len(set(spellings))
    for metric in known_metrics.METRICS:
        assert canonical(metric.name, SEARCH) == metric.name
        assert metric.direction in (
            known_metrics.HIGHER,
            known_metrics.LOWER,
            known_metrics.NEITHER,
        )


def test_values_that_a_percentile_needs() -> None:
    assert metrics.values_needed("response_ms_p50") == 20
    assert metrics.values_needed("app.service_ms_p95") == 200
    assert metrics.values_needed("response_ms_p99") == 1000
    assert metrics.values_needed("app.response_ms_p999") == 10_000
    assert metrics.values_needed("response_ms_mean") == 1
    assert metrics.needs_operations("app.response_ms_p99")
    assert metrics.needs_operations("stalled_share")
    assert not metrics.needs_operations("response_ms_mean")


def test_headings() -> None:
    assert metrics.short("transactions_per_s") == "tps"
    assert metrics.short("readers.service_ms_p95") == "readers p95 ms"
    assert metrics.short("status.Com_select") == "status.Com_select"
    assert metrics.info("readers.operations_per_s").unit == "1/s"
    assert metrics.info("cpu.user").direction == known_metrics.NEITHER
