"""TPC-C's order entry on real servers, by both sets of rules: it runs, and the data stay whole."""

from __future__ import annotations

import json

import pytest
from running import Place, complete_trials

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: tpcc
targets:
  db: {{kind: {system}, durability: none}}
workload: {{kind: tpcc, warehouses: 2, customers: 100, items: 500, sessions: 4}}
factors:
  rules:
    specification: {{workload.mode: faithful}}
    scripts: {{workload.mode: sysbench}}
  protocol: {{prepared: {{db.protocol: prepared}}, text: {{db.protocol: text}}}}
blocks: 1
warmup: 0s
duration: 2s
seed: 11
"""
KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")


@pytest.mark.parametrize("system", ["mariadb", "postgres", "sqlite"])
def test_both_modes_run_and_leave_the_data_whole(system: str, there: Place) -> None:
    file = there.experiment(EXPERIMENT.format(system=system))
    done = there.dyno("run", file, "--dir", "out")
    assert done.returncode == 0, done.stderr
    records = [json.loads(text) for text in complete_trials(there.path / "out").values()]
    assert len(records) == 4
    for record in records:
        assert record["status"] == "complete", record["void_reason"]
        assert record["metrics"]["failed_per_s"] == 0, record["warnings"]
    for kind in KINDS:  # the rarest are too rare for each trial to have one
        assert sum(record["metrics"][f"kind.{kind}.per_min"] for record in records) > 0, kind
    assert there.until_clean() == []
