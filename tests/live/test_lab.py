"""Topologies, faults and audits together: a node of a cluster dies in mid-load and comes back, and
all nodes are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ending import LONG, ended
from private_servers import binaries
from running import Place, complete_trials

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: lab
targets:
  db:
    kind: {kind}
    memory: 64Mi
    durability: full
    topology: {topology}
workload: {{kind: oltp, preset: write_only, sessions: 3, tables: 1, rows: 2000, deadline: 2s, retries: 3, route: {route}}}
audit: commits
faults:
  - {{at: 1s, do: kill, node: {node}, back_after: 1s}}
blocks: 1
warmup: 300ms
duration: {duration}
interval: 100ms
"""  # noqa: E501

CASES = {
    "a member of a Galera cluster": ("mariadb", "{kind: galera, nodes: 3}", "any", "db.2"),
    "the first member of a Galera cluster": ("mariadb", "{kind: galera, nodes: 3}", "any", "db"),
    "a replica": ("mariadb", "{kind: replicas, nodes: 2}", "primary", "db.2"),
    "the primary of MariaDB": ("mariadb", "{kind: replicas, nodes: 2}", "primary", "primary"),
    "the primary of PostgreSQL": ("postgres", "{kind: replicas, nodes: 2}", "primary", "primary"),
    "a standby": ("postgres", "{kind: replicas, nodes: 2}", "primary", "db.2"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_node_dies_and_comes_back_and_nothing_acknowledged_is_lost(
    there: Place, name: str
) -> None:
    kind, topology, route, node = CASES[name]
    binaries(kind)
    named = {"kind": kind, "topology": topology, "route": route, "node": node}
    there.experiment(EXPERIMENT.format(**named, duration=LONG))
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [record] = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert record["status"] == "complete", record["void_reason"]
    [fault] = record["faults"]
    assert fault["undone_s"] > fault["begun_s"] >= 1
    audit: dict[str, Any] = record["audit"]["db"]
    nodes = {one["name"]: one for one in audit["nodes"]}
    assert all(not one.get("why") for one in nodes.values()), nodes
    assert len(nodes) == (3 if "galera" in topology else 2)
    metrics = record["metrics"]
    assert metrics["audit.acknowledged"] > 0
    assert metrics["audit.lost"] == metrics["audit.resurrected"] == metrics["audit.diverged"] == 0
