"""What a dry run prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.experiment import load
from dbdyno.plan import Machine, Plan
from dbdyno.plan.outlook import estimate

EXPERIMENTS = Path(__file__).parent / "experiments"
HERE = Machine(16, 64 << 30, "6.1", "CPU", tuple(range(16)))


def make(name: str, *overrides: str) -> Plan:
    loaded = load(EXPERIMENTS / f"{name}.yaml", overrides)
    return plan.make(loaded, HERE, data_settings=lambda target: {})


def test_counts_of_a_plan_that_reuses_data() -> None:
    e = estimate.of(make("query-cache"))
    assert (e.cells, e.blocks, e.trials) == (12, 6, 72)
    assert e.loads == 1
    assert e.restarts == e.restores == 2 * 6  # each level of the hard factor, once a block


def test_counts_of_a_plan_that_restores_data() -> None:
    e = estimate.of(make("engines"))
    assert (e.cells, e.trials, e.restores) == (8, 48, 48)
    assert e.restarts == 36, "SQLite has no server to start"
    assert e.loads == 4


def test_cold_caches_restart_every_trial() -> None:
    assert estimate.of(make("query-cache", "state.cache=cold")).restarts == 72


def test_time_is_the_sum_of_its_parts() -> None:
    p = make("query-cache")
    e = estimate.of(p)
    assert e.total_s == pytest.approx(e.setup_s + p.blocks * e.block_s)
    measured_s = sum(p.cells[t.cell].warmup_s + p.cells[t.cell].duration_s for t in p.trials)
    assert e.total_s > measured_s
    twice = estimate.of(make("query-cache", "duration=60s"))
    assert twice.total_s - e.total_s == pytest.approx(72 * 30)


def test_disk_and_memory_grow_with_what_is_asked() -> None:
    e = estimate.of(make("query-cache"))
    rows = 16 * 1_000_000
    assert rows * 200 < e.disk_bytes < rows * 1000
    more = estimate.of(make("query-cache", "db.memory=2Gi"))
    assert more.memory_bytes - e.memory_bytes == 1 << 30


def test_what_is_touched() -> None:
    (touched,) = estimate.of(make("query-cache")).touched
    assert (touched.target, touched.kind, touched.schema) == ("db", "mariadb", "dbdyno")
    assert touched.words == {
        "durability": "full",
        "isolation": "repeatable_read",
        "memory": "1Gi",
    }
    assert touched.config == {
        "innodb_flush_method": ("O_DIRECT",),
        "query_cache_type": (1, 0),
        "query_cache_size": ("64M", 0),
    }
