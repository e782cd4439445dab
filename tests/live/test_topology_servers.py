"""Real servers that work together: what is written at one node is read at another, and nothing of
them is left."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hurried import drop
from private_servers import binaries, initialised, templates
from running import Place, complete_trials, wait_for

from dbdyno import systems, topology
from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, MEMBER, PRIMARY, REPLICA, Node, Topology
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import Scratch
from dbdyno.topology import Cluster
from dbdyno.topology.base import Between
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

READ_AFTER_S = 60.0


def table(server: Any) -> None:
    """Makes an empty one."""
    server.create_schema("shop")
    server.run("shop", ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"])


@contextmanager
def working(
    kind: str,
    form: Topology,
    between: Between | None = None,
    fill: Callable[[Any], None] = table,
    environment: Callable[[str], Mapping[str, str]] = lambda node: {},
    **target: Any,
) -> Iterator[tuple[Cluster, dict[str, Any]]]:
    """The nodes of a topology, ready, on copies of one initialised directory with what `fill` has
    put into it. `environment`: of a node's process, where no network is between them."""
    found = binaries(kind)
    plan = TargetPlan("db", kind, topology=form, **target)
    try:
        topology.check_installed(plan, found)
    except DynoError as error:
        missing(f"{error.what}: run `make servers`")
    system, resolved = systems.load(kind), topology.resolve(plan)
    with Scratch() as scratch:
        loaded = scratch.path / "loaded"
        copy(filled(kind, fill), loaded)
        topology.seed(plan, system, found, resolved, loaded)

        def place(node: Node) -> Path:
            copy(loaded, scratch.path / node.name)
            return scratch.path / node.name

        servers: dict[str, Server] = {}
        of_node = environment if between is None else between.environment
        cluster = topology.cluster(
            plan,
            system,
            found,
            resolved,
            servers,
            between=between,
            database="shop",
            environment=of_node,
        )
        try:
            cluster.start(place)
            yield cluster, servers
        finally:
            cluster.close_arbitrator()
            drop(servers.values())


@functools.cache
def filled(kind: str, fill: Callable[[Any], None]) -> Path:
    """A stopped directory with what `fill` has put into it, made once; tests work on copies."""
    path = templates() / f"{kind}-{fill.__name__}"
    copy(initialised(kind), path)
    system = systems.load(kind)
    server = system.start(binaries(kind), path, system.resolve(TargetPlan("db", kind)), cpus=[])
    try:
        fill(server)
        assert server.stop()
    except BaseException:
        server.stop(discard=True)
        shutil.rmtree(path)
        raise
    return path


def server_log(server: Any) -> str:
    """All that a server has logged."""
    text: str = (server.directory / "server.log").read_text()
    return text


def copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


def seen(server: Any, number: int) -> bool:
    """Whether a row is at a server, within a time in which it must have come."""
    sql = f"SELECT v FROM t WHERE id = {number}"
    return wait_for(lambda: [list(row) for row in server.run("shop", [sql])] == [[7]], READ_AFTER_S)


def test_galera_nodes_have_what_any_of_them_wrote_and_one_comes_back() -> None:
    with working("mariadb", Topology("galera", 3), memory_bytes=32 << 20) as (cluster, servers):
        assert wait_for(lambda: cluster.roles() == dict.fromkeys(servers, MEMBER))
        assert wait_for(cluster.healthy)
        for number, server in enumerate(servers.values(), start=1):
            server.run("shop", [f"INSERT INTO t VALUES ({number}, 7)"])
        for server in servers.values():
            assert all(seen(server, number) for number in (1, 2, 3))
        # All nodes had one position: the third one received events, and no copy of the data.
        assert "rsync IST completed on joiner" in server_log(servers["db.3"])
        os.kill(servers["db.2"].pid, signal.SIGKILL)
        assert wait_for(lambda: cluster.roles()["db.2"] == DOWN, READ_AFTER_S)
        assert not cluster.healthy()
        # It answers no more before it has ended.
        assert wait_for(lambda: not servers["db.2"].process.alive())
        servers["db.2"].start_again()
        assert wait_for(lambda: cluster.roles()["db.2"] == MEMBER, 120)
        assert seen(servers["db.2"], 3)


@pytest.mark.parametrize("waits", [0, 1])
@pytest.mark.parametrize("kind", ["mariadb", "postgres", "mysql"])
def test_a_replica_has_what_its_primary_wrote(kind: str, waits: int) -> None:
    form = Topology("replicas", 2, waits)
    with working(kind, form, memory_bytes=32 << 20) as (cluster, servers):
        assert wait_for(lambda: cluster.roles() == {"db": PRIMARY, "db.2": REPLICA})
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        assert seen(servers["db.2"], 1)
        assert servers["db.2"].lag_s() >= 0
        with pytest.raises(DynoError, match="is not a replica"):
            servers["db"].lag_s()
        if kind != "mariadb":  # whose administrators may write whatever read_only says
            with pytest.raises(DynoError):
                servers["db.2"].run("shop", ["INSERT INTO t VALUES (2, 7)"])
        if kind == "postgres":
            asked = "SELECT sync_state FROM pg_stat_replication"
            state = "quorum" if waits else "async"
            assert wait_for(lambda: [list(r) for r in servers["db"].rows(asked)] == [[state]])


def test_a_group_elects_another_primary() -> None:
    with working("mysql", Topology("group", 3), memory_bytes=32 << 20) as (cluster, servers):
        roles = {"db": PRIMARY, "db.2": REPLICA, "db.3": REPLICA}
        assert wait_for(lambda: cluster.roles() == roles)
        servers["db"].run("shop", ["INSERT INTO t VALUES (1, 7)"])
        assert seen(servers["db.2"], 1) and seen(servers["db.3"], 1)
        servers["db"].stop()
        assert wait_for(lambda: PRIMARY in cluster.roles().values(), 120)
        assert cluster.roles()["db"] == DOWN


def test_a_setting_that_the_nodes_cannot_work_with_is_said_in_the_servers_words() -> None:
    config = {"wsrep_provider_options": "no.such.option=1"}
    with (
        pytest.raises(DynoError, match=r"(?s)Galera|galera|db") as caught,
        working("mariadb", Topology("galera", 2), config=config),
    ):
        pass
    assert "no.such.option" in str(caught.value)


EXPERIMENT = """
experiment: together
question: What is read where?
targets:
  db: {target}
groups:
  writer: {{kind: oltp, preset: update_index, tables: 1, rows: 300, sessions: 1}}
  reader: {{kind: oltp, preset: point_select, tables: 1, rows: 300, sessions: 2, route: {route}}}
factors:
  db.topology.nodes: [2, 3]
blocks: 1
warmup: 0s
duration: {duration}
claims:
  - reader.tps[2] > reader.tps[3]
"""
PAIR = "{kind: mariadb, durability: none, memory: 32Mi, topology: {kind: replicas}}"
CLUSTER = "{kind: mariadb, durability: none, memory: 32Mi, topology: {kind: galera}}"


def test_reads_go_to_the_replicas_and_each_node_is_sampled(there: Place) -> None:
    binaries("mariadb")
    text = EXPERIMENT.format(target=PAIR, route="replicas", duration="2s")
    done = there.dyno("run", there.experiment(text), "--dir", "r")
    assert done.returncode in (0, 1), done.stderr
    plan = json.loads((there.path / "r/trials/b01-t001/plan.json").read_text())
    groups = {group["name"]: group for group in plan["groups"]}
    assert groups["writer"]["target"] == "db"
    assert groups["reader"]["target"] == "db.2"
    for text in complete_trials(there.path / "r").values():
        record = json.loads(text)
        metrics = record["metrics"]
        assert metrics["writer.transactions_per_s"] > 0
        assert metrics["reader.errors_per_s"] == 0
        assert metrics["replica_lag_s.node2"] >= 0
        # The writer's one SELECT less: the replica has answered what the reader asked.
        assert metrics["node2.status.Com_select"] > metrics["node1.status.Com_select"]
        assert record["targets"]["db"]["topology"]["kind"] == "replicas"
    report = (there.path / "r/report.md").read_text()
    assert "replicas, 3 nodes" in report
    assert there.until_clean() == []


def test_nothing_of_a_cluster_is_left_when_dyno_is_killed(there: Place) -> None:
    binaries("mariadb")
    if shutil.which("rsync") is None:
        missing("no rsync: run `make servers`")
    text = EXPERIMENT.format(target=CLUSTER, route="any", duration="60s")
    process = there.start("run", there.experiment(text), "--dir", "r")
    trial = there.path / "r/trials/b01-t001/events.ndjson"
    assert wait_for(lambda: trial.exists() and '"ready"' in trial.read_text(), 120)
    there.note_ports()
    assert len([line for _, line in there.processes() if "mariadbd" in line]) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert there.until_clean() == []
