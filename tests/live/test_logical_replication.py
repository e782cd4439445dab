"""PostgreSQL's subscribers: what is written at the primary is read at them, what replication leaves
to the operator is refused or reported, and a replaced one gets all tables and rows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ending import LONG, ended
from private_servers import binaries
from running import Place, complete_trials, wait_for
from test_topology_servers import seen, working

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, Topology

pytestmark = pytest.mark.live

RETRY = {"wal_retrieve_retry_interval": "100ms"}  # of a worker that has ended


def tables(server: Any) -> None:
    """One with a primary key, one without."""
    server.create_schema("shop")
    server.run("shop", ["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE log (v INT)"])


def test_a_subscriber_has_what_its_primary_wrote_until_a_row_does_not_fit() -> None:
    form = Topology("replicas", 2, logical=True)
    with working("postgres", form, fill=tables, memory_bytes=32 << 20, config=RETRY) as made:
        cluster, servers = made
        primary, replica = servers["db"], servers["db.2"]
        assert wait_for(lambda: cluster.roles() == {"db": PRIMARY, "db.2": REPLICA})
        primary.run("shop", ["INSERT INTO t VALUES (1, 7)", "INSERT INTO log VALUES (1)"])
        assert seen(replica, 1)
        # It is behind by the age of its last commit.
        held = replica._connect("shop", 60)
        try:
            held.execute_simple("BEGIN")
            held.execute_simple("LOCK TABLE t")
            primary.run("shop", ["UPDATE t SET v = 0", "UPDATE t SET v = 7"])
            assert wait_for(lambda: cluster.lag_s("db.2") > 0.5)
        finally:
            held.close()
        assert wait_for(lambda: cluster.lag_s("db.2") == 0)
        # A table without a replica identity takes new rows only.
        [remark] = cluster.remarks()
        assert "on log, without a replica identity" in remark
        with pytest.raises(DynoError, match="does not have a replica identity"):
            primary.run("shop", ["UPDATE log SET v = 2"])
        # What dbdyno makes in mid-run it makes on all nodes, each time again.
        for _ in range(2):
            cluster.define(["DROP TABLE IF EXISTS made", "CREATE TABLE made (id INT PRIMARY KEY)"])
            primary.run("shop", ["INSERT INTO made VALUES (1)"])
            rows = ["SELECT count(*) FROM made"]
            assert wait_for(lambda rows=rows: replica.run("shop", rows)[0][0] == 1)
        # A conflict ends the apply worker, as often as it tries again.
        replica.run("shop", ["INSERT INTO t VALUES (2, 0)"])
        primary.run("shop", ["INSERT INTO t VALUES (2, 7)", "INSERT INTO t VALUES (3, 7)"])
        errors = "pg_stat_subscription_stats.apply_error_count"
        assert wait_for(lambda: replica.counters().get(errors, 0) >= 1)
        assert wait_for(lambda: "its apply worker does not run" in why_unknown(cluster))
        replica.run("shop", ["DELETE FROM t WHERE id = 2"])
        assert seen(replica, 2) and seen(replica, 3)


def why_unknown(cluster: Any) -> str:
    """Why a replica's lag is not known; empty if it is."""
    try:
        cluster.lag_s("db.2")
    except DynoError as error:
        return error.what
    return ""


EXPERIMENT = f"""
experiment: subscribed
targets:
  db:
    kind: postgres
    memory: 64Mi
    durability: full
    config: {{wal_retrieve_retry_interval: 100ms}}
    topology: {{kind: replicas, nodes: 3, replication: logical, wait_for_replicas: 1}}
groups:
  writer: {{kind: oltp, preset: write_only, sessions: 2, tables: 1, rows: 1000, deadline: 30s}}
  reader: {{kind: oltp, preset: point_select, sessions: 1, tables: 1, rows: 1000, route: db.3}}
audit: commits
faults:
  - {{at: 300ms, do: kill, node: db.3, back_after: 300ms}}
  - {{at: 1500ms, do: replace, node: db.2}}
blocks: 1
warmup: 200ms
interval: 100ms
duration: {LONG}
"""


def test_subscribers_that_die_or_are_replaced_come_to_have_all_rows(there: Place) -> None:
    binaries("postgres")
    there.experiment(EXPERIMENT)
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [record] = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert record["status"] == "complete", record["void_reason"]
    [killed, replaced] = record["faults"]
    assert killed["undone_s"] > killed["begun_s"]
    done_in = [step["step"] for step in replaced["steps"]]
    assert done_in == ["loss", "forget", "initialise", "start", "schema", "copy", "catch_up"]
    audit = record["audit"]["db"]
    assert [one["name"] for one in audit["nodes"] if not one.get("why")] == ["db", "db.2", "db.3"]
    metrics = record["metrics"]
    assert metrics["audit.acknowledged"] > 0
    assert metrics["audit.lost"] == metrics["audit.diverged"] == 0
    assert metrics["replica_lag_s.node3"] >= 0
    assert "replicas, 3 nodes, logical replication" in (there.path / "r/report.md").read_text()
