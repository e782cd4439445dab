"""Real routers in front of real servers: they pass sessions on, follow a new primary, and are gone
afterwards."""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from private_servers import gone
from running import Place, complete_trials, wait_for
from test_topology_servers import working

from dbdyno import systems, topology
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Router, Topology
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process import guardian
from dbdyno.topology import Cluster, routers
from dbdyno.topology.routers import RunningRouter, client
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

ENDED = """
experiment: ended
targets:
  db:
    kind: postgres
    memory: 64Mi
    durability: os_crash_unsafe
    protocol: text
    topology: {kind: replicas, nodes: 1, router: {kind: pgbouncer}}
workload:
  kind: oltp
  preset: update_index
  tables: 1
  rows: 1000
  sessions: 2
  deadline: 5s
  route: router
audit: commits
faults: [{at: 500ms, do: kill, node: router, back_after: 300ms}]
blocks: 1
warmup: 200ms
duration: 2500ms
interval: 500ms
"""
FOLLOWED_S = 120.0
ANSWER_S = 60  # of a session that must be answered
TRY_S = 5  # of one that is tried again
POOLED = Router("pgbouncer", "session", 5)
BALANCED = Router("pgpool", "", 8, 1.0, {"load_balance_mode": True})
PASSED = Router("haproxy", check_s=0.5)


@contextmanager
def in_front(
    cluster: Cluster, servers: dict[str, Any], plan: TargetPlan, router: Router
) -> Iterator[RunningRouter]:
    """A router in front of nodes that run."""
    assert plan.topology is not None
    plan = replace(plan, topology=replace(plan.topology, router=router))
    system, first = systems.load(plan.kind), next(iter(servers.values()))
    host = system.find(None).host
    try:
        topology.check_installed(plan, system.find(None))
    except DynoError as error:
        missing(f"{error.what}: run `make servers`")
    login = first.engine_target(plan, system.resolve(plan), "shop")
    made = routers.start(plan, system, host, cluster, servers, login)
    pid, directory = made.pid, made.front.directory
    assert pid is not None and directory.exists()
    try:
        yield made
    finally:
        made.close()
        assert wait_for(lambda: gone(pid))
        assert not directory.exists()


def sql(router: RunningRouter, *statements: str, timeout_s: int = ANSWER_S) -> Any:
    """The last statement's first value, in a session of its own through a router."""
    front = router.front
    connection = client.session(front.port, front.user, front.password, "shop", timeout_s)
    try:
        rows = [connection.execute_simple(statement).rows for statement in statements][-1]
    finally:
        connection.close()
    return rows[0][0] if rows else None


def works(what: Callable[[], Any]) -> bool:
    """Whether a session gets that far; while a router follows, it may not."""
    try:
        return bool(what())
    except Exception:  # each client library has errors of its own
        return False


def test_routers_of_postgresql_pass_sessions_on_and_follow_a_new_primary() -> None:
    form = Topology("replicas", 3)
    plan = TargetPlan("db", "postgres", topology=form)
    with (
        working("postgres", form, memory_bytes=32 << 20) as (cluster, servers),
        ExitStack() as all_,
    ):
        pooled, balanced, passed = (
            all_.enter_context(in_front(cluster, servers, plan, router))
            for router in (POOLED, BALANCED, PASSED)
        )
        every = (pooled, balanced, passed)
        port = "SELECT inet_server_port()"
        assert sql(pooled, port) == sql(passed, port) == servers["db"].port
        standbys = {servers["db.2"].port, servers["db.3"].port}
        # pgpool takes one that answers late for a dead one, and has it back later.
        assert wait_for(lambda: works(lambda: sql(balanced, port) in standbys), FOLLOWED_S)
        for number, router in enumerate(every, 1):
            sql(router, f"INSERT INTO t VALUES ({number}, 7)")
        [[count]] = servers["db"].run("shop", ["SELECT count(*) FROM t"])
        assert count == 3
        assert all(one.alive() for one in every)

        os.kill(servers["db"].pid, signal.SIGKILL)
        assert cluster.take_over()
        cluster.regroup()
        for number, router in enumerate(every, 4):
            router.lead(cluster.leader)
            insert = f"INSERT INTO t VALUES ({number}, 7) ON CONFLICT DO NOTHING"
            written = f"SELECT count(*) > 0 FROM t WHERE id = {number}"
            assert wait_for(
                lambda r=router, i=insert, w=written: works(lambda: sql(r, i, w, timeout_s=TRY_S)),
                FOLLOWED_S,
            ), f"{router.name} {router.front.router.kind}: {router.log_tail()}"
        [[count]] = servers[cluster.leader].run("shop", ["SELECT count(*) FROM t WHERE id > 3"])
        assert count == 3
        for router in every:
            router.wait_until_ready()
        # db is down, another one leads: reads of pgpool have only the third one left.
        [left] = set(servers) - {"db", cluster.leader}
        reads = {servers[left].port}
        assert wait_for(
            lambda: works(lambda: {sql(balanced, port) for _ in range(12)} == reads), FOLLOWED_S
        )


def at_haproxy(router: RunningRouter) -> str:
    """The node that a session of MySQL's language reaches."""
    front = router.front
    connection = pymysql.connect(
        host="127.0.0.1",
        port=front.port,
        user=front.user,
        password=front.password,
        ssl_disabled=True,
        connect_timeout=TRY_S,
        read_timeout=TRY_S,
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@wsrep_node_name")
        [[name]] = cursor.fetchall()
    return str(name)


def test_routers_that_faults_end_come_back_and_leave_nothing() -> None:
    form = Topology("replicas", 1)
    plan = TargetPlan("db", "postgres", topology=form)
    with (
        working("postgres", form, memory_bytes=32 << 20) as (cluster, servers),
        ExitStack() as all_,
    ):
        for router in (POOLED, BALANCED, PASSED):
            one = all_.enter_context(in_front(cluster, servers, plan, router))
            port, log = one.port, f"{router.kind}: {one.log_tail()}"
            locks = semaphores_of(one.pid)
            assert bool(locks) == (router.kind == "pgpool")
            one.kill()
            assert not one.alive() and one.pid is None, log
            one.start_again()
            assert wait_for(lambda r=one: works(lambda: sql(r, "SELECT 1")), FOLLOWED_S), log
            assert one.stop(), log
            one.start_again()
            assert wait_for(lambda r=one: works(lambda: sql(r, "SELECT 1")), FOLLOWED_S), log
            one.pause()
            assert one.alive()
            one.resume()
            assert wait_for(lambda r=one: works(lambda: sql(r, "SELECT 1")), FOLLOWED_S), log
            assert one.port == port
            assert not locks & semaphores().keys()


def semaphores() -> dict[int, int]:
    """Sets of System V semaphores that exist, with how many they have."""
    rows = [line.split() for line in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]]
    return {int(row[1]): int(row[3]) for row in rows}


def semaphores_of(pid: int | None) -> set[int]:
    """Those of which a process has used one last."""
    asked, found = ctypes.CDLL(None), semaphores()
    return {
        number
        for number, count in found.items()
        if pid in [asked.semctl(number, each, guardian.GETPID) for each in range(count)]
    }


def test_clients_are_away_as_long_as_their_router_is(there: Place) -> None:
    there.experiment(ENDED)
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [record] = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert record["status"] == "complete", record["void_reason"]
    [fault] = record["faults"]
    assert (fault["do"], fault["node"], fault.get("problem")) == ("kill", "db.router", None)
    assert (record["metrics"]["audit.lost"], record["metrics"]["audit.diverged"]) == (0, 0)
    # Nothing passes a router that is not there: whoever committed again did so through the next.
    ended = [each["end_s"] for each in record["outages"] if each["end_s"] is not None]
    assert any(end_s >= max(fault["in_force_s"], 0.8) - 0.01 for end_s in ended), record["outages"]


def test_haproxy_leaves_a_dead_node_of_galera_for_the_next() -> None:
    form = Topology("galera", 2)
    plan = TargetPlan("db", "mariadb", topology=form)
    with (
        working("mariadb", form, memory_bytes=32 << 20) as (cluster, servers),
        in_front(cluster, servers, plan, PASSED) as router,
    ):
        assert wait_for(lambda: works(lambda: at_haproxy(router) == "db"), FOLLOWED_S)
        servers["db"].stop()
        assert wait_for(lambda: works(lambda: at_haproxy(router) == "db.2"), FOLLOWED_S)


def test_a_setting_that_a_router_does_not_know_is_said_in_its_words() -> None:
    form = Topology("replicas", 1)
    plan = TargetPlan("db", "postgres", topology=form)
    with working("postgres", form, memory_bytes=32 << 20) as (cluster, servers):
        for router in (
            replace(POOLED, config={"no_such": 1}),
            replace(BALANCED, config={"no_such": 1}),
        ):
            with (
                pytest.raises(DynoError, match=r"ended at its start|does not know") as caught,
                in_front(cluster, servers, plan, router),
            ):
                pass
            assert "no_such" in str(caught.value)
