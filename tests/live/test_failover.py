"""Another primary on real servers: the most advanced replica takes over, the others follow it, and
the old one comes back as a replica."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import spied_audit
from ending import LONG, Watched, ended, trial
from private_servers import binaries
from running import Place, complete_trials, wait_for
from test_topology_servers import seen, working

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, PRIMARY, REPLICA, Topology
from dbdyno.topology import Cluster
from fixtures.audits import recount

pytestmark = pytest.mark.live


def insert(server: Any, number: int) -> None:
    server.run("shop", [f"INSERT INTO t VALUES ({number}, 7)"])


def replaced(cluster: Cluster) -> bool:
    """Has a node take over, as the watcher does: again, if none has answered in time."""

    def tried() -> bool:
        try:
            return cluster.take_over()
        except DynoError:
            return False

    return wait_for(tried)


def regrouped(cluster: Cluster, left: set[str]) -> bool:
    """Has replicas follow, in the same way, until only those are left."""

    def tried() -> bool:
        try:
            cluster.regroup()
        except Exception:  # each client library has errors of its own
            return False
        return cluster.strays == left

    return wait_for(tried)


def have(cluster: Cluster, roles: Mapping[str, str]) -> bool:
    """Whether nodes come to have these roles: one that is late with its answer has none."""
    return wait_for(lambda: cluster.roles() == roles)


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
        assert replaced(cluster)
        leader = cluster.leader
        other = ({"db.2", "db.3"} - {leader}).pop()
        assert regrouped(cluster, set())
        assert have(cluster, {"db": DOWN, leader: PRIMARY, other: REPLICA})
        insert(servers[leader], 2)
        assert seen(servers[other], 2)
        servers["db"].start_again()
        assert have(cluster, {"db": REPLICA, leader: PRIMARY, other: REPLICA})
        assert seen(servers["db"], 1) and seen(servers["db"], 2)
        insert(servers[leader], 3)
        assert seen(servers["db"], 3)
        assert [one[:2] for one in told if one[1] != "candidate"] == [
            ("db", "fenced"),
            (leader, "promoted"),
            (other, "follows"),
            ("db", "returned"),
        ], told
        assert all("does not" not in said for _, _, said in told), told


def test_a_replica_that_hung_follows_once_it_answers() -> None:
    with working("mariadb", Topology("replicas", 3), memory_bytes=32 << 20) as (cluster, servers):
        servers["db.3"].pause()
        os.kill(servers["db"].pid, signal.SIGKILL)
        assert replaced(cluster)
        assert cluster.leader == "db.2"
        assert regrouped(cluster, {"db.3"})
        servers["db.3"].resume()
        assert wait_for(lambda: cluster.roles()["db.3"] == REPLICA)
        assert regrouped(cluster, set())
        insert(servers["db.2"], 1)
        assert seen(servers["db.3"], 1)


AWAY_SQL = {
    "mariadb": ["STOP SLAVE IO_THREAD"],
    "mysql": ["STOP REPLICA IO_THREAD"],
    "postgres": ["ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"],
}
RETURNED = {
    "mariadb": "does not follow db.2: ",
    "mysql": "follows db.2, with 1 transaction that the new primary has not",
    "postgres": "follows db.2",
}


@pytest.mark.parametrize("kind", AWAY_SQL)
def test_what_only_the_old_primary_has_shows_or_is_rewound(kind: str) -> None:
    with working(kind, Topology("replicas", 2), memory_bytes=32 << 20) as (cluster, servers):
        told: list[tuple[str, str, str]] = []
        cluster.tell = lambda *what: told.append(what)
        insert(servers["db"], 1)
        assert seen(servers["db.2"], 1)
        for sql in AWAY_SQL[kind]:
            servers["db.2"].rows(sql)
        if kind == "postgres":  # until its receiver has ended
            assert wait_for(lambda: not servers["db"].rows("SELECT 1 FROM pg_stat_replication"))
        insert(servers["db"], 2)
        os.kill(servers["db"].pid, signal.SIGKILL)
        assert replaced(cluster)
        insert(servers["db.2"], 3)
        assert servers["db.2"].run("shop", ["SELECT id FROM t WHERE id = 2"]) in ([], ())
        servers["db"].start_again()
        assert have(cluster, {"db": REPLICA, "db.2": PRIMARY})
        assert told[-1][:2] == ("db", "returned")
        assert told[-1][2].startswith(RETURNED[kind])
        if kind == "postgres":
            assert seen(servers["db"], 3)
            assert servers["db"].run("shop", ["SELECT id FROM t WHERE id = 2"]) == []
        else:
            assert seen(servers["db"], 2)


EXPERIMENT = """
experiment: failover
targets:
  db:
    kind: {kind}
    memory: 64Mi
    durability: full
    topology: {topology}
workload:
  {{kind: oltp, preset: write_only, sessions: 3, tables: 1, rows: 2000, deadline: 2s, retries: 3}}
audit: commits
faults:
{faults}
blocks: 1
warmup: 300ms
duration: {duration}
interval: 100ms
"""
KILL = "  - {at: 3s, do: kill, node: primary}\n"
SOON = "  - {at: 1500ms, do: kill, node: primary}\n"
AWAY = "  - {at: 1100ms, do: sql, node: [db.2, db.3], sql: STOP SLAVE IO_THREAD}\n"


def followed(watched: Watched) -> bool:
    """Whether sessions work where their address leads since a failover."""
    led = watched.changed("address")
    return bool(led) and watched.well(led[-1])


def ran(
    there: Place,
    kind: str,
    topology: str,
    faults: str,
    enough: Callable[[Watched], bool] = followed,
    text: str = EXPERIMENT,
) -> dict[str, Any]:
    """The record of the trial of a run that left nothing behind; its load has ended once it saw
    enough. Its audit is that of a recount."""
    binaries(kind)
    named = {"kind": kind, "topology": topology, "faults": faults, "duration": LONG}
    there.experiment(text.format(**named))
    spy = Path(__file__).with_name("spied_audit.py")
    with ended(there.path / "r", enough):
        done = subprocess.run(
            [sys.executable, spy, "run", "experiment.yaml", "--dir", "r"],
            cwd=there.path,
            env=there.environment,
            capture_output=True,
            text=True,
            timeout=480,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [stored] = complete_trials(there.path / "r").values()
    record: dict[str, Any] = json.loads(stored)
    assert record["status"] == "complete", record["void_reason"]
    spoilt = list((there.path / "r/trials").glob("*.void-*"))
    assert spoilt == [], [(one / "trial.json").read_text() for one in spoilt]
    audit, expected = record["audit"]["db"], recounted(there)
    assert {name: audit[name] for name in expected} == expected
    return record


def recounted(there: Place) -> Mapping[str, int]:
    stores: dict[int, list[tuple[set[Any], bool]]] = {}
    for line in map(json.loads, (there.path / spied_audit.NAME).read_text().splitlines()):
        rows = {tuple(row) for row in line["rows"]}
        stores.setdefault(line["store"], []).append((rows, line["writes"]))
    for store in stores.values():
        assert sum(writes for _, writes in store) == 1, "one primary"
    [log] = (there.path / "r/trials").glob("*/audit.log")
    return recount(log.read_bytes(), list(stores.values()))


def changes(record: dict[str, Any]) -> dict[str, str]:
    """The node of each change of roles, the last of several."""
    return {one["change"]: one["node"] for one in record["roles"]}


def check_followed(there: Place, record: dict[str, Any]) -> None:
    """Sessions have committed on another node, after an outage that the record explains."""
    metrics, watched = record["metrics"], trial(there.path / "r")
    assert all(one["end_s"] is not None for one in record["outages"]), "all sessions came back"
    first_s = record["faults"][0]["begun_s"]
    assert metrics["transactions_per_s_before"] > 0 or not watched.commits(0, first_s)
    # By the sessions' own clock: whoever lost the old primary came back once there was another.
    [lost_s] = [one["begun_s"] for one in record["faults"] if one["node"] == "db"]
    back_s = [one["end_s"] for one in record["outages"] if one["start_s"] >= lost_s]
    assert back_s and lost_s + metrics["promotion_s"] < min(back_s) + 0.1, record["outages"]
    # By the commits of each tick, which are as certain as the reporter was in time.
    if "failover_s" in metrics:
        assert "failover_s" not in record.get("bounds", {})
        assert metrics["promotion_s"] < metrics["failover_s"] + 2 * watched.lateness_s
    else:
        assert watched.stalled(lost_s, metrics["promotion_s"]), metrics
    if record["targets"]["db"]["kind"] != "mariadb":  # whose log has whole seconds
        [logged] = [one["t_s"] for one in record["roles"] if one["change"] == "logged"]
        assert record["faults"][-1]["begun_s"] < logged < record["measured_s"]


FAILOVER = "{{kind: replicas, nodes: 3, wait_for_replicas: {}, failover: {{after: 700ms}}}}"


def test_what_an_asynchronous_primary_had_alone_is_lost_and_counted(there: Place) -> None:
    record = ran(there, "mariadb", FAILOVER.format(0), AWAY + KILL)
    check_followed(there, record)
    found = changes(record)
    assert (found["silent"], found["fenced"]) == ("db", "db")
    assert found["promoted"] == found["address"] in ("db.2", "db.3")
    assert found["returned"] == "db"
    audit = record["audit"]["db"]
    away_s = max(one["in_force_s"] for one in record["faults"] if one["do"] == "sql")
    [killed_s] = [one["begun_s"] for one in record["faults"] if one["do"] == "kill"]
    alone = trial(there.path / "r").commits(away_s, killed_s)
    assert audit["lost"] > 0 or not alone, record["roles"]
    # The old primary has them still, follows nobody, and no client is sent there.
    assert audit["diverged"] >= audit["lost"]
    [said] = [one["said"] for one in record["roles"] if one["change"] == "returned"]
    assert said.startswith("does not follow")


def test_a_synchronous_standby_of_postgres_loses_nothing(there: Place) -> None:
    record = ran(there, "postgres", FAILOVER.format(1), SOON)
    check_followed(there, record)
    assert changes(record)["promoted"] in ("db.2", "db.3")
    audit = record["audit"]["db"]
    assert (audit["lost"], audit["diverged"]) == (0, 0), record["roles"]


def test_a_hung_primary_is_fenced_and_never_a_second_one(there: Place) -> None:
    # A question to a server that hangs waits for 2 s.
    pause = "  - {at: 1500ms, do: pause, node: primary, for: 5s}\n"

    def returned(watched: Watched) -> bool:
        return followed(watched) and bool(watched.changed("returned"))

    record = ran(there, "mariadb", FAILOVER.format(1), pause, returned)
    check_followed(there, record)
    found = changes(record)
    assert found["fenced"] == found["returned"] == "db" != found["promoted"]
    assert record["audit"]["db"]["lost"] == 0, record["roles"]


def test_sessions_follow_the_primary_that_a_group_elects(there: Place) -> None:
    topology = "{kind: group, nodes: 3, failover: {}}"
    record = ran(there, "mysql", topology, SOON.replace("kill", "stop"))
    check_followed(there, record)
    found = changes(record)
    assert found["elected"] == found["address"] in ("db.2", "db.3")
    assert "fenced" not in found
    assert record["audit"]["db"]["lost"] == 0, record["roles"]


def test_sessions_that_read_leave_a_dead_replica(there: Place) -> None:
    groups = """groups:
  writer: {{kind: oltp, preset: update_index, tables: 1, rows: 2000, sessions: 1}}
  reader:
    {{kind: oltp, preset: point_select, tables: 1, rows: 2000, sessions: 2, route: replicas}}
"""
    head, _, rest = EXPERIMENT.partition("workload:")
    text = head + groups + "audit: commits" + rest.partition("audit: commits")[2]
    kill = "  - {at: 1100ms, do: kill, node: db.2}\n"

    def left(watched: Watched) -> bool:
        lost = {one["group"] for one in watched.events if one["event"] == "outage"}
        gone = watched.changed("left")
        return bool(gone) and watched.well(gone[-1]) and "reader" in lost

    record = ran(there, "mariadb", FAILOVER.format(0), kill, left, text)
    # One that is late with an answer is left for a while, too.
    assert {one["change"] for one in record["roles"]} <= {"left", "joined"}
    assert [one["change"] for one in record["roles"] if one["node"] == "db.2"][-1] == "left"
    readers = [one for one in record["outages"] if one["group"] == "reader"]
    assert readers and all(one["end_s"] is not None for one in readers)


def test_a_replica_that_hung_until_the_end_follows_then(there: Place) -> None:
    pause = "  - {at: 1100ms, do: pause, node: db.3}\n"
    record = ran(there, "mariadb", FAILOVER.format(0), pause + KILL)
    assert changes(record)["promoted"] == "db.2"
    [told] = [one for one in record["roles"] if one["node"] == "db.3"]
    assert (told["change"], told["said"]) == ("follows", "follows db.2")
    assert told["t_s"] > record["measured_s"]
    rows = {one["name"]: one["rows"] for one in record["audit"]["db"]["nodes"]}
    assert rows["db.2"] == rows["db.3"] > 0
