"""A group of MySQL whose members are all primaries: their conflicts are told to clients, tried
again and counted; all of them have what was acknowledged; one that leaves ends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import engine_jobs
import pymysql
import pytest
from private_servers import templates
from running import has, wait_for
from test_topology_servers import READ_AFTER_S, working

from dbdyno import systems, topology
from dbdyno.audit import identities, outcomes
from dbdyno.audit.compare import NodeRows, compare
from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, MEMBER, Topology
from dbdyno.systems.base import TargetPlan
from dbdyno.topology import Cluster
from fixtures.audits import Attempt, recount

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

FORM = Topology("group", 3, multi_primary=True)
WAIT_S = 60
CERTIFICATION, TAKEN = 3101, 1213  # what a client is told of a conflict
TAKEN_AT_COMMIT = "1180"  # with the storage engines' number of a deadlock
HOT = {"tables": 1, "rows": 10}
STATS = "replication_group_member_stats.count_"


def several(server: Any) -> None:
    """Makes what the test needs, at a server that is alone."""
    server.create_schema("shop")
    server.run(
        "shop",
        [
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)",
            "CREATE TABLE held (id INT PRIMARY KEY, v INT)",
            "INSERT INTO held VALUES (1, 0)",
            "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
            "INSERT INTO parent VALUES (1, 0)",
            "CREATE TABLE child (id INT PRIMARY KEY, parent INT,"
            " FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)",
            *identities.CREATE,
        ],
    )
    alone = TargetPlan("db", "mysql", tls="off")
    target = server.engine_target(alone, systems.load("mysql").resolve(alone), "shop")
    done = engine_jobs.run(engine_jobs.plan(templates(), target, "load", options=HOT))
    assert done.last["event"] == "loaded", done.last


@contextmanager
def session(server: Any) -> Iterator[Any]:
    """A cursor of a session of its own."""
    with closing(server.connection(WAIT_S)) as connection, connection.cursor() as cursor:
        cursor.execute("USE shop")
        yield cursor


def value(server: Any, row: int) -> int:
    return int(server.run("shop", [f"SELECT v FROM t WHERE id = {row}"])[0][0])


def shows(server: Any, row: int, wanted: int) -> bool:
    """Whether a member comes to have a value."""
    return wait_for(lambda: value(server, row) == wanted, READ_AFTER_S)


def counted(server: Any) -> Mapping[str, float]:
    """What a member says of certification."""
    found = server.counters()
    return {name.removeprefix(STATS): found[name] for name in found if name.startswith(STATS)}


def check_that_all_take_writes(servers: Mapping[str, Any]) -> None:
    for number, server in enumerate(servers.values(), start=11):
        server.run("shop", [f"INSERT INTO t VALUES ({number}, 7)"])
    for server in servers.values():
        assert all(shows(server, number, 7) for number in (11, 12, 13))


def check_what_they_refuse(server: Any) -> None:
    """What `--check` says: members accept no such change."""
    level = "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"
    for statements in (
        [level, "UPDATE t SET v = 1 WHERE id = 3"],
        ["INSERT INTO child VALUES (1, 1)"],
        ["UPDATE parent SET v = 1"],
    ):
        with pytest.raises(DynoError, match="external plugin"):
            server.run("shop", statements)


def check_certification(servers: Mapping[str, Any]) -> None:
    """A member changes a row that another has changed before in the group's order, and which it has
    not applied: its applier waits for a table that a session has locked."""
    with session(servers["db.2"]) as locks, session(servers["db.2"]) as writes:
        locks.execute("LOCK TABLES held READ")
        change = ["UPDATE held SET v = 1 WHERE id = 1", "UPDATE t SET v = 1 WHERE id = 1"]
        servers["db"].run("shop", ["BEGIN", *change, "COMMIT"])
        with pytest.raises(pymysql.Error) as refused:
            writes.execute("UPDATE t SET v = 2 WHERE id = 1")
        assert refused.value.args[0] == CERTIFICATION
        assert value(servers["db.2"], 1) == 0
        locks.execute("UNLOCK TABLES")
    assert all(shows(server, 1, 1) for server in servers.values())
    for name, server in servers.items():
        # Each member certifies all transactions, and its own fail at one alone.
        assert wait_for(lambda of=server: counted(of)["conflicts_detected"] == 1.0, READ_AFTER_S)
        assert counted(server)["transactions_local_rollback"] == float(name == "db.2")


def check_rows_taken(servers: Mapping[str, Any]) -> None:
    """An applier takes a row from a transaction that has not asked to commit."""
    with session(servers["db.3"]) as victim:
        victim.execute("BEGIN")
        victim.execute("UPDATE t SET v = 3 WHERE id = 2")
        servers["db"].run("shop", ["UPDATE t SET v = 4 WHERE id = 2"])
        assert shows(servers["db.3"], 2, 4)
        with pytest.raises(pymysql.Error) as lost:
            victim.execute("UPDATE t SET v = 5 WHERE id = 3")
        assert lost.value.args[0] == TAKEN
    assert all(shows(server, 2, 4) for server in servers.values())
    assert counted(servers["db.3"])["transactions_local_rollback"] == 0.0


def check_load(servers: Mapping[str, Any], directory: Path) -> None:
    """Sessions at all members write a few rows: what fails is tried again, and all of them have
    what was acknowledged."""
    plan = TargetPlan("db", "mysql", topology=FORM, tls="off")
    resolved = topology.resolve(plan)
    targets = {
        name: server.engine_target(plan, resolved, "shop") for name, server in servers.items()
    }
    job = engine_jobs.plan(
        directory,
        targets["db"],
        also_targets=[name for name in targets if name != "db"],
        options={**HOT, "preset": "update_non_index"},
        sessions=6,
        retries=100,
        audit=True,
    )
    said = engine_jobs.run({**job, "targets": targets}, until=has(100, errors=1))
    assert said.code == 0, said.last
    codes = set(said.total["errors"])
    assert codes and codes <= {str(CERTIFICATION), str(TAKEN), TAKEN_AT_COMMIT}, said.total
    assert said.total["retries"] > 0 and said.total["failed"] == 0
    assert wait_for(lambda: len({len(held(one)) for one in servers.values()}) == 1, READ_AFTER_S)
    rows = [
        NodeRows(name, identities.read(lambda sql, of=server: of.run("shop", [sql])))
        for name, server in servers.items()
    ]
    found = compare(outcomes.read(directory), [0], [rows])
    log = (directory / outcomes.LOG).read_bytes()
    expected = recount(log, [[(held(server), True) for server in servers.values()]])
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.lost, found.resurrected, found.duplicated, found.diverged) == (0, 0, 0, 0)
    assert found.acknowledged > 0 and found.failed > 0


def held(server: Any) -> set[Attempt]:
    rows = server.run("shop", [f"SELECT session, n, attempt FROM {identities.TABLE}"])
    return {(int(session), int(n), int(attempt)) for session, n, attempt in rows}


def check_that_one_may_leave(cluster: Cluster, servers: Mapping[str, Any]) -> None:
    servers["db"].stop()
    left = {"db": DOWN, "db.2": MEMBER, "db.3": MEMBER}
    assert wait_for(lambda: cluster.roles() == left, READ_AFTER_S)
    servers["db.3"].run("shop", ["UPDATE t SET v = 6 WHERE id = 3"])
    assert shows(servers["db.2"], 3, 6)


def test_members_that_all_take_writes_conflict_and_agree(tmp_path: Path) -> None:
    with working("mysql", FORM, fill=several, memory_bytes=32 << 20) as (cluster, servers):
        assert wait_for(lambda: cluster.roles() == dict.fromkeys(servers, MEMBER))
        assert cluster.all_write and wait_for(cluster.healthy)
        check_that_all_take_writes(servers)
        check_what_they_refuse(servers["db"])
        check_certification(servers)
        check_rows_taken(servers)
        check_load(servers, tmp_path)
        assert cluster.takes_writes_since() is None
        check_that_one_may_leave(cluster, servers)
