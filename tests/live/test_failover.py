"""Another primary on real servers: the most advanced replica takes over, the others follow it, and
the old one comes back as a replica."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest
from private_servers import binaries
from running import Place, complete_trials
from test_topology_servers import seen, working

from dbdyno.experiment.types import DOWN, PRIMARY, REPLICA, Topology

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def insert(server: Any, number: int) -> None:
    server.run("shop", [f"INSERT INTO t VALUES ({number}, 7)"])


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("mariadb", 0), ("mariadb", 1), ("postgres", 0), ("postgres", 1), ("mysql", 1)],
)
def test_a_replica_takes_over_and_the_old_primary_follows_it(kind: str, waits: int) -> None:
    form = Topology("replicas", 3, waits)
    with working(kind, form, memory_bytes=32 << 20) as (cluster, servers):
        told: list[tuple[str, str, str]] = []
        cluster.tell = lambda *what: told.append(what)
        insert(servers["db"], 1)
        assert seen(servers["db.2"], 1) and seen(servers["db.3"], 1)
        os.kill(servers["db"].pid, signal.SIGKILL)
        assert cluster.take_over()
        leader = cluster.leader
        other = ({"db.2", "db.3"} - {leader}).pop()
        cluster.regroup()
        assert cluster.roles() == {"db": DOWN, leader: PRIMARY, other: REPLICA}
        insert(servers[leader], 2)
        assert seen(servers[other], 2)
        servers["db"].start_again()
        assert cluster.roles()["db"] == REPLICA
        assert seen(servers["db"], 1) and seen(servers["db"], 2)
        insert(servers[leader], 3)
        assert seen(servers["db"], 3)
        assert [one[:2] for one in told] == [
            ("db", "fenced"),
            (leader, "promoted"),
            (other, "follows"),
            ("db", "returned"),
        ], told
        assert all("does not" not in said for _, _, said in told), told


EXPERIMENT = """
experiment: failover
targets:
  db:
    kind: {kind}
    memory: 64Mi
    durability: full
    topology: {topology}
workload: {{kind: oltp, preset: write_only, sessions: 3, tables: 1, rows: 2000, deadline: 2s, retries: 3}}
audit: commits
faults:
  - {fault}
blocks: 1
warmup: 300ms
duration: {duration}
interval: 500ms
"""  # noqa: E501


def ran(there: Place, kind: str, topology: str, fault: str, duration: str = "6s") -> dict[str, Any]:
    """The record of the trial of a run that left nothing behind."""
    binaries(kind)
    there.experiment(
        EXPERIMENT.format(kind=kind, topology=topology, fault=fault, duration=duration)
    )
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [text] = complete_trials(there.path / "r").values()
    record: dict[str, Any] = json.loads(text)
    assert record["status"] == "complete", record["void_reason"]
    return record


def changes(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["change"], one["node"]) for one in record["roles"]]


FAILOVER = "{kind: replicas, nodes: 3, failover: {after: 500ms}}"


def test_sessions_follow_a_promoted_replica_of_mariadb(there: Place) -> None:
    record = ran(there, "mariadb", FAILOVER, "{at: 1s, do: kill, node: primary}")
    found = changes(record)
    assert found[:2] == [("silent", "db"), ("fenced", "db")]
    [promoted] = [node for change, node in found if change == "promoted"]
    assert ("address", promoted) in found and ("returned", "db") in found
    metrics = record["metrics"]
    assert 0.4 < metrics["promotion_s"] < metrics["failover_s"] < 5
    assert metrics["transactions_per_s_before"] > 0
    audit = record["audit"]["db"]
    print(found, audit)
