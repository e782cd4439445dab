"""Drills under load on real servers: what they take, what they lose, what is left of them."""

from __future__ import annotations

import json
import shutil
import threading
from typing import Any

import pytest
from ending import LONG, ended
from private_servers import binaries, runs
from running import Place, complete_trials, result, wait_for
from test_topology_servers import seen, working

from dbdyno.errors import DynoError
from dbdyno.experiment.types import INSTANCE, MEMBER, PRIMARY, REPLICA, Topology
from dbdyno.faults.drills.base import Step, Steps
from dbdyno.systems import versions
from dbdyno.systems.backups.base import WAIT
from dbdyno.systems.base import TargetPlan
from dbdyno.topology import Cluster
from needed import missing

pytestmark = pytest.mark.live

HEAD = """
experiment: drilled
workload: {kind: oltp, preset: write_only, sessions: 2, tables: 1, rows: 1000, deadline: 30s}
audit: commits
blocks: 1
warmup: 200ms
interval: 100ms
"""
CHANGE = ["check", "close", "catch_up", "promote", "lead", "follow", "retire"]
SEED = ["backup", "prepare", "copy", "start", "join", "catch_up"]


def ran(there: Place, text: str, duration: str = LONG) -> list[dict[str, Any]]:
    """The records of a run that went to its end and left nothing behind; its loads have ended once
    all drills had, and sessions worked again."""
    there.experiment(f"{HEAD}duration: {duration}\n{text}")
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    found = [json.loads(record) for record in complete_trials(there.path / "r").values()]
    assert all(one["status"] == "complete" for one in found), [one["void_reason"] for one in found]
    return found


def journal(there: Place) -> list[dict[str, Any]]:
    text = next((there.path / "r/trials").glob("*/faults.ndjson")).read_text()
    return [json.loads(line) for line in text.splitlines()]


def steps(record: dict[str, Any], do: str) -> list[str]:
    return [step["step"] for one in record["faults"] if one["do"] == do for step in one["steps"]]


def test_a_restore_under_load_loses_nothing_where_logs_are_kept(there: Place) -> None:
    binaries("postgres")
    [record] = ran(
        there,
        "targets: {db: {kind: postgres, memory: 64Mi, durability: full}}\n"
        "faults: [{at: 500ms, do: backup, logs: kept}, {at: 2s, do: restore}]\n"
        "claims: ['rpo < 1', 'rto_s < 60s', 'step_s.restore.copy < 60s']\n",
    )
    assert steps(record, "restore") == ["loss", "copy", "replay", "check", "open"]
    metrics = record["metrics"]
    assert (metrics["audit.lost"], metrics["rpo_s"]) == (0, 0)
    assert metrics["audit.acknowledged"] > 0
    assert metrics["rto_s"] >= metrics["step_s.restore.copy"] > 0
    assert metrics["outage_s"] > 0.1, "more than a tick"
    assert metrics["backup_bytes"] > 1_000_000
    assert 0 < metrics["backup_age_s"] < record["measured_s"] + 1
    said = [(line["do"], line["step"], line["outcome"]) for line in journal(there)]
    assert said.index(("restore", "copy", "")) + 1 == said.index(("restore", "copy", "ok"))
    assert ("backup", "undo", "ok") in said
    page, text = ((there.path / f"r/report.{kind}").read_text() for kind in ("html", "md"))
    assert "restore: copy" in page  # a bar of the chart
    assert "| restore | db | copy |" in text
    assert "RPO: 0 acknowledged transactions were lost." in text
    assert len(result(there.path / "r")["claims"]) == 3


def test_replicas_are_upgraded_change_places_and_are_made_again_under_load(there: Place) -> None:
    for version in ("10.11", "11.8"):
        try:
            versions.find(TargetPlan("db", "mariadb", version=version))
        except DynoError as error:
            missing(f"{error.what}: run `make servers`")
    newer = versions.find(TargetPlan("db", "mariadb", version="11.8")).paths["server"]
    runs(newer.parent.parent / "bin" / "mariadb-upgrade")
    [record] = ran(
        there,
        'targets: {db: {kind: mariadb, version: "10.11", memory: 64Mi, topology:'
        " {kind: replicas, nodes: 3, failover: {after: 30s}}}}\n"
        "faults:\n"
        "  - {at: 500ms, do: replace, node: db.3}\n"
        '  - {at: 1s, do: upgrade, node: db.2, version: "11.8"}\n'
        '  - {at: 1s, do: upgrade, node: db.3, version: "11.8"}\n'
        # It waits for all of them, and the last one for it.
        "  - {at: 1500ms, do: switchover}\n"
        '  - {at: 2s, do: upgrade, node: db, version: "11.8"}\n',
        duration="400s",  # they follow each other, and it ends with the last one
    )
    assert steps(record, "replace") == ["loss", *SEED]
    assert [step for step in steps(record, "switchover") if step != WAIT] == CHANGE
    done = [(line["do"], line["node"], line["step"], line["outcome"]) for line in journal(there)]
    begins = done.index(("switchover", "db", "begin", ""))
    for before in (("replace", "db.3"), ("upgrade", "db.2"), ("upgrade", "db.3")):
        assert done.index((*before, "begin", "ok")) < begins
    changed = done.index(("switchover", "db", "begin", "ok"))
    assert changed < done.index(("upgrade", "db", "begin", ""))
    assert steps(record, "upgrade") == ["stop", "start", "upgrade", "catch_up"] * 3
    metrics = record["metrics"]
    assert metrics["audit.acknowledged"] > 0
    assert (metrics["audit.lost"], metrics["audit.diverged"]) == (0, 0)
    changes = [(one["change"], one["said"]) for one in record["roles"]]
    assert ("promoted", "planned, from db") in changes


def test_nodes_change_places_and_one_is_made_again() -> None:
    with working("postgres", Topology("replicas", 2), memory_bytes=32 << 20) as (cluster, servers):
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        changed = Steps()
        said = cluster.switch_over(changed, lambda: None)
        assert "db.2 leads" in said and "db follows db.2" in said
        assert [one.name for one in changed.done] == CHANGE
        assert have(cluster, {"db": REPLICA, "db.2": PRIMARY})
        servers["db.2"].run("shop", ["INSERT INTO t VALUES (2, 7)"])
        assert seen(servers["db"], 2)
        # The one that was the primary loses its disk, and comes back under its name.
        port, seeded = servers["db"].port, Steps()
        lose(servers["db"])
        cluster.seed_again("db", seeded, lambda: None, "shop")
        assert [one.name for one in seeded.done] == [each for each in SEED if each != "prepare"]
        assert servers["db"].port == port
        assert have(cluster, {"db": REPLICA, "db.2": PRIMARY})
        assert seen(servers["db"], 1) and seen(servers["db"], 2)
        servers["db.2"].run("shop", ["INSERT INTO t VALUES (3, 7)"])
        assert seen(servers["db"], 3)
        # do: detach, and the way back
        detached = Steps()
        assert "takes writes" in cluster.detach("db", detached, "shop")
        assert [one.name for one in detached.done] == ["check", "catch_up", "detach", "verify"]
        assert have(cluster, {"db": INSTANCE, "db.2": PRIMARY})
        servers["db"].run("shop", ["INSERT INTO t VALUES (4, 7)"])
        cluster.rejoin("db", Steps(), lambda: None, "shop")
        assert have(cluster, {"db": REPLICA, "db.2": PRIMARY})
        servers["db.2"].run("shop", ["INSERT INTO t VALUES (5, 7)"])
        assert seen(servers["db"], 5)
        assert not servers["db"].run("shop", ["SELECT * FROM t WHERE id = 4"])
        lose(servers["db.2"])
        with pytest.raises(DynoError, match=r"db\.2 leads"):
            cluster.seed_again("db.2", Steps(), lambda: None, "shop")


def test_a_switchover_that_begins_while_a_node_is_replaced_waits_for_that() -> None:
    with working("mariadb", Topology("replicas", 3), memory_bytes=32 << 20) as (cluster, servers):
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        waits, said = threading.Event(), list[str]()
        changed = Steps(heard=lambda step: waits.set() if step.name == WAIT else None)
        changing = threading.Thread(
            target=lambda: said.append(cluster.switch_over(changed, lambda: None))
        )

        def heard(step: Step) -> None:
            if step.name == "catch_up" and step.ended_s is None:
                changing.start()
                assert waits.wait(120)

        lose(servers["db.3"])
        cluster.seed_again("db.3", Steps(heard=heard), lambda: None, "shop")
        changing.join(120)
        assert [one.endswith("it waited for a replacement of db.3") for one in said] == [True]
        assert [one.name for one in changed.done if one.name != WAIT] == CHANGE
        assert cluster.leader != "db"
        assert have(cluster, dict.fromkeys(servers, REPLICA) | {cluster.leader: PRIMARY})
        servers[cluster.leader].run("shop", ["INSERT INTO t VALUES (2, 7)"])
        assert all(seen(server, number) for server in servers.values() for number in (1, 2))


def have(cluster: Cluster, roles: dict[str, str]) -> bool:
    """Whether nodes come to have these roles: one that is late with its answer has none."""
    return wait_for(lambda: cluster.roles() == roles)


def lose(server: Any) -> None:
    server.kill()
    shutil.rmtree(server.directory / "data")


def test_a_node_of_galera_gets_its_data_from_another() -> None:
    with working("mariadb", Topology("galera", 3), memory_bytes=32 << 20) as (cluster, servers):
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        lose(servers["db.3"])
        servers["db"].run("shop", ["INSERT INTO t VALUES (2, 7)"])
        steps = Steps()
        cluster.seed_again("db.3", steps, lambda: None, "shop")
        assert [one.name for one in steps.done] == ["initialise", "start"]
        assert have(cluster, dict.fromkeys(("db", "db.2", "db.3"), MEMBER))
        assert seen(servers["db.3"], 1) and seen(servers["db.3"], 2)
