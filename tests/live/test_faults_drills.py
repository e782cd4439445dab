"""Drills under load on real servers: what they take, what they lose, what is left of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from private_servers import binaries
from running import Place, complete_trials, result
from test_topology_servers import seen, working

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA, Topology
from dbdyno.faults.drills.base import Steps
from dbdyno.systems import versions
from dbdyno.systems.base import TargetPlan
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

HEAD = """
experiment: drilled
workload: {kind: oltp, preset: write_only, sessions: 2, tables: 1, rows: 1000, deadline: 5s}
audit: commits
blocks: 1
warmup: 200ms
interval: 500ms
"""


def ran(there: Place, text: str) -> list[dict[str, Any]]:
    """The records of a run that went to its end and left nothing behind."""
    there.experiment(HEAD + text)
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    found = [json.loads(record) for record in complete_trials(there.path / "r").values()]
    assert all(one["status"] == "complete" for one in found), [one["void_reason"] for one in found]
    return found


def steps(record: dict[str, Any], do: str) -> list[str]:
    return [step["step"] for one in record["faults"] if one["do"] == do for step in one["steps"]]


def test_a_restore_loses_what_came_after_the_backup_unless_logs_are_kept(there: Place) -> None:
    binaries("postgres")
    found = ran(
        there,
        "targets: {db: {kind: postgres, memory: 64Mi, durability: full}}\n"
        "duration: 7s\n"
        "factors:\n"
        "  logs:\n"
        "    none: {faults: [{at: 500ms, do: backup}, {at: 2s, do: restore}]}\n"
        "    kept: {faults: [{at: 500ms, do: backup, logs: kept}, {at: 2s, do: restore}]}\n"
        "claims: ['rpo[kept] < 1', 'rto_s < 60s', 'step_s.restore.copy < 60s']\n",
    )
    by_logs = {bool("replay" in steps(one, "restore")): one for one in found}
    alone, whole = by_logs[False]["metrics"], by_logs[True]["metrics"]
    assert steps(by_logs[False], "restore") == ["loss", "copy", "start", "check", "open"]
    assert steps(by_logs[True], "restore") == ["loss", "copy", "replay", "check", "open"]
    assert alone["audit.lost"] >= 1
    assert alone["rpo_s"] > 0
    assert (whole["audit.lost"], whole["rpo_s"]) == (0, 0)
    for metrics in (alone, whole):
        assert metrics["rto_s"] >= metrics["step_s.restore.copy"] > 0
        assert metrics["outage_s"] >= 0.2
        assert metrics["backup_bytes"] > 1_000_000
        assert 0 < metrics["backup_age_s"] < 60
    journal = next((there.path / "r/trials").glob("*/faults.ndjson")).read_text()
    lines = [json.loads(line) for line in journal.splitlines()]
    said = [(line["do"], line["step"], line["outcome"]) for line in lines]
    assert said.index(("restore", "copy", "")) + 1 == said.index(("restore", "copy", "ok"))
    assert ("backup", "undo", "ok") in said
    page, text = ((there.path / f"r/report.{kind}").read_text() for kind in ("html", "md"))
    assert "restore: copy" in page  # a bar of the chart
    assert "| restore | db | copy |" in text
    assert "RPO: 0 acknowledged transactions were lost." in text
    assert len(result(there.path / "r")["claims"]) == 3


def test_a_gap_in_the_logs_voids_the_drill(there: Place) -> None:
    binaries("mariadb")
    there.experiment(
        HEAD + "targets: {db: {kind: mariadb, memory: 64Mi, config: {log_bin: binlog}}}\n"
        "duration: 5s\n"
        "faults:\n"
        "  - {at: 500ms, do: backup, tool: dump, logs: kept}\n"
        "  - {at: 1500ms, do: sql, sql: FLUSH BINARY LOGS}\n"
        "  - {at: 2s, do: sql, sql: PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 SECOND}\n"
        "  - {at: 3s, do: restore}\n"
    )
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode != 0
    assert "binlog.000001 is missing" in done.stdout + done.stderr
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_planned_change_of_the_primary_loses_nothing(kind: str, there: Place) -> None:
    binaries(kind)
    [record] = ran(
        there,
        f"targets: {{db: {{kind: {kind}, memory: 64Mi, durability: full, topology:"
        " {kind: replicas, nodes: 3, failover: {after: 5s}}}}\n"
        "duration: 5s\n"
        "faults: [{at: 1500ms, do: switchover}]\n",
    )
    assert steps(record, "switchover") == [
        *("check", "close", "catch_up", "promote", "lead", "follow", "retire")
    ]
    metrics = record["metrics"]
    assert (metrics["audit.lost"], metrics["audit.diverged"]) == (0, 0)
    assert metrics["audit.acknowledged"] > 0
    changes = [(one["change"], one["said"]) for one in record["roles"]]
    assert ("promoted", "planned, from db") in changes
    assert "promotion_s" in metrics


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_nodes_change_places_and_one_is_made_again(kind: str) -> None:
    with working(kind, Topology("replicas", 2), memory_bytes=32 << 20) as (cluster, servers):
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        said = cluster.switch_over(Steps(), lambda: None)
        assert "db.2 leads" in said and "db follows db.2" in said
        assert cluster.roles() == {"db": REPLICA, "db.2": PRIMARY}
        servers["db.2"].run("shop", ["INSERT INTO t VALUES (2, 7)"])
        assert seen(servers["db"], 2)
        # The one that was the primary loses its disk, and comes back under its name.
        port, steps = servers["db"].port, Steps()
        lose(servers["db"])
        again(cluster, "db", steps)
        assert servers["db"].port == port
        assert cluster.roles() == {"db": REPLICA, "db.2": PRIMARY}
        assert seen(servers["db"], 1) and seen(servers["db"], 2)
        servers["db.2"].run("shop", ["INSERT INTO t VALUES (3, 7)"])
        assert seen(servers["db"], 3)
        assert {"backup", "copy", "start", "join", "catch_up"} <= {one.name for one in steps.done}
        lose(servers["db.2"])
        with pytest.raises(DynoError, match=r"db\.2 leads"):
            cluster.seed_again("db.2", Steps(), lambda: None, "shop")


def lose(server: Any) -> None:
    server.kill()
    shutil.rmtree(Path(server.directory) / "data")


def again(cluster: Any, name: str, steps: Steps) -> None:
    try:
        cluster.seed_again(name, steps, lambda: None, "shop")
    except DynoError as error:
        if "not here" not in error.what:
            raise
        missing(f"{error.what}: {error.fix}")


def test_a_node_of_galera_gets_its_data_from_another(there: Place) -> None:
    binaries("mariadb")
    [record] = ran(
        there,
        "targets: {db: {kind: mariadb, memory: 64Mi, topology: {kind: galera, nodes: 3}}}\n"
        "duration: 4s\n"
        "faults: [{at: 1s, do: replace, node: db.3}]\n",
    )
    assert steps(record, "replace") == ["loss", "initialise", "start"]
    assert (record["metrics"]["audit.lost"], record["metrics"]["audit.diverged"]) == (0, 0)
    nodes = {one["name"]: one["missing"] for one in record["audit"]["db"]["nodes"]}
    assert nodes == {"db": 0, "db.2": 0, "db.3": 0}


def test_a_rolling_upgrade(there: Place) -> None:
    for version in ("10.11", "11.8"):
        try:
            versions.find(TargetPlan("db", "mariadb", version=version))
        except DynoError as error:
            missing(f"{error.what}: run `make servers`")
    [record] = ran(
        there,
        'targets: {db: {kind: mariadb, version: "10.11", memory: 64Mi, topology:'
        " {kind: replicas, nodes: 2, failover: {after: 9s}}}}\n"
        "duration: 6s\n"
        "faults:\n"
        '  - {at: 500ms, do: upgrade, node: db.2, version: "11.8"}\n'
        "  - {at: 4s, do: switchover}\n"
        '  - {at: 5s, do: upgrade, node: db, version: "11.8"}\n',
    )
    assert steps(record, "upgrade") == ["stop", "start", "upgrade", "catch_up"] * 2
    assert (record["metrics"]["audit.lost"], record["metrics"]["audit.diverged"]) == (0, 0)
