"""Topologies of Redis: what may be written, settings, slots, who leads, identities. Nothing
starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_failover_watcher import Cluster, watching
from test_topology import deployment, refused, resolved

from dbdyno import topology
from dbdyno.audit import lists
from dbdyno.errors import DynoError
from dbdyno.execute.failover.observer import Observer
from dbdyno.experiment import load
from dbdyno.experiment.types import (
    DOWN,
    PRIMARY,
    REPLICA,
    Failover,
    Target,
    Topology,
)
from dbdyno.systems.base import Binaries
from dbdyno.topology.base import Members
from dbdyno.topology.failover import logged
from dbdyno.topology.redis import sentinel, shards

KV = """\
experiment: together
question: Do they work together?
targets:
  db: {target}
groups:
  app: {{kind: kv, target: db{group}}}
{more}
"""


def kv(target: str, group: str = "", more: str = "") -> Any:
    return load(KV.format(target=target, group=group, more=more)).cells[0]


def kv_refused(target: str, group: str = "", more: str = "") -> DynoError:
    with pytest.raises(DynoError) as found:
        kv(target, group, more)
    return found.value


def redis(form: str) -> str:
    return f"{{kind: redis, topology: {{kind: {form}}}}}"


# ---- what is written


def test_nodes_and_roles() -> None:
    three = kv(redis("sentinel")).targets[0]
    assert three.topology == Topology("sentinel", 3)
    assert [node.role for node in three.nodes] == [PRIMARY, REPLICA, REPLICA]
    six = kv(redis("cluster")).targets[0]
    assert six.topology == Topology("cluster", 6, cluster_replicas=1)
    assert [node.role for node in six.nodes] == [PRIMARY] * 3 + [REPLICA] * 3
    bare = kv(redis("cluster, nodes: 4, cluster_replicas: 0")).targets[0]
    assert [node.role for node in bare.nodes] == [PRIMARY] * 4
    nine = kv(redis("cluster, nodes: 9, cluster_replicas: 2, wait_for_replicas: 2")).targets[0]
    assert nine.topology is not None and nine.topology.primaries == 3


def test_sentinels_wait_as_long_as_failover_says() -> None:
    found = kv(redis("sentinel, failover: {after: 500ms}")).targets[0].topology
    assert found is not None and found.failover == Failover(0.5)


@pytest.mark.parametrize(
    ("form", "group", "more", "what"),
    [
        ("cluster, nodes: 5", "", "", "5 nodes are no cluster with 1 replica of each primary"),
        ("cluster, nodes: 2, cluster_replicas: 0", "", "", "no cluster with 0 replicas"),
        ("cluster, nodes: 6, cluster_replicas: 2", "", "", "no cluster with 2 replicas"),
        ("cluster, failover: {}", "", "", "`failover` means nothing to `cluster`"),
        ("cluster, wait_for_replicas: 2", "", "", "wait for 2 replicas, and there are 1"),
        ("sentinel, cluster_replicas: 1", "", "", "`cluster_replicas` means nothing to"),
        ("sentinel, wait_for_replicas: 3", "", "", "wait for 3 replicas, and there are 2"),
        ("sentinel, nodes: 2, failover: {}", "", "", "no failover is possible"),
        ("cluster", ", pipeline: 4", "", "`pipeline` means nothing to a `cluster`"),
        ("cluster", ", route: any", "", "`route` means nothing to a `cluster`"),
        ("cluster", ", preset: c, node: read", "", "`node: read` means nothing to a `cluster`"),
        ("sentinel", ", pipeline: 4", "audit: commits", "operations of a `pipeline`"),
    ],
)
def test_what_cannot_be_meant_is_refused(form: str, group: str, more: str, what: str) -> None:
    error = kv_refused(redis(form), group, more)
    assert what in error.what
    assert error.where is not None and error.fix


def test_a_cluster_needs_tcp_and_no_tls() -> None:
    error = kv_refused("{kind: redis, transport: socket, topology: {kind: cluster}}")
    assert "`transport: socket`" in error.what.replace(":\n", ":")
    for form in ("cluster", "sentinel"):
        with pytest.raises(DynoError, match="`tls: require` is not possible"):
            resolved("redis", form, tls="require")
    for kind, form in (("mysql", "sentinel"), ("redis", "galera")):
        assert "has no topology" in refused(f"{{kind: {kind}, topology: {{kind: {form}}}}}").what


def test_writes_of_redis_can_be_audited_where_dbdyno_starts_it() -> None:
    assert kv("{kind: redis}", more="audit: commits").audit == "commits"
    assert kv(redis("cluster"), more="audit: commits").audit == "commits"
    error = kv_refused("{url: redis://h}", more="audit: commits")
    assert "is not started by dbdyno" in error.what


# ---- settings and places


def test_settings_are_the_users_if_he_has_any() -> None:
    found = resolved("redis", "sentinel")
    assert found.node_settings == {"repl_diskless_sync_delay": "0"}
    theirs = resolved("redis", "sentinel", config={"repl-diskless-sync-delay": 3})
    assert theirs.asked["repl_diskless_sync_delay"] == "3"
    cluster = resolved("redis", "cluster", config={"cluster_node_timeout": 2000})
    assert cluster.node_settings["cluster_enabled"] == "yes"
    assert cluster.asked["cluster_node_timeout"] == "2000"
    assert cluster.data_settings["topology"] == "cluster of 3"
    for name in ("cluster_announce_ip", "cluster-port", "replicaof"):
        with pytest.raises(DynoError, match="cannot be"):
            resolved("redis", "cluster", config={name: "x"})


def members(form: Topology, **servers: Any) -> Members:
    target = Target("db", "redis", topology=form)
    named = {name.replace("_", "."): server for name, server in servers.items()}
    return Members(target, Binaries("", {}), topology.resolve(target), named)


def test_parts_of_the_slots_are_equal_and_all_of_them() -> None:
    three = shards._parts(members(Topology("cluster", 6, cluster_replicas=1)))
    assert three == [range(5461), range(5461, 10923), range(10923, 16384)]
    four = shards._parts(members(Topology("cluster", 4)))
    assert [len(part) for part in four] == [4096] * 4


def test_slots_are_those_that_redis_documents() -> None:
    assert shards.slot("somekey") == 11058
    assert shards.slot("foo{hash_tag}") == shards.slot("bar{hash_tag}") == 2515
    assert shards.slot("foo{}{bar}") != shards.slot("bar")
    assert shards.slot("foo{bar}{zap}") == shards.slot("bar")
    assert shards.slot("a{b") != shards.slot("b")


def test_a_node_adds_the_slots_that_it_has_not_taken_by_itself() -> None:
    server: Any = SimpleNamespace(ask=lambda *words: [[2, 3, []], [5, 5, []]])
    assert list(shards._missing(server, range(1, 8))) == [(1, 1), (4, 4), (6, 7)]
    server.ask = lambda *words: []
    assert list(shards._missing(server, range(1, 8))) == [(1, 7)]
    server.ask = lambda *words: [[1, 7, []]]
    assert list(shards._missing(server, range(1, 8))) == []


def test_nodes_with_the_same_data_are_a_primary_and_its_replicas_now() -> None:
    def server(port: int, *said: Any) -> Any:
        def look(timeout_s: float, *words: str) -> Any:
            if not said:
                raise OSError("gone")
            return list(said)

        return SimpleNamespace(port=port, look=look)

    found = members(
        Topology("cluster", 4, cluster_replicas=1),
        db=server(1, "slave", "127.0.0.1", 3),
        db_2=server(2),
        db_3=server(3, "master", 7, []),
        db_4=server(4, "master", 7, []),
    )
    stores = shards.WIRING.stores(found)
    assert [[node.name for node in store] for store in stores] == [
        ["db", "db.3"],
        ["db.2"],
        ["db.4"],
    ]


def test_the_engine_is_told_how_nodes_call_each_other() -> None:
    server: Any = SimpleNamespace(port=7001)
    target = Target("db", "redis", topology=Topology("cluster", 6, 1, cluster_replicas=1))
    own = shards.WIRING.engine_options(target, server)
    assert own == {"announced": "127.0.0.1:7001", "wait_replicas": 1}
    target = Target("db", "redis", topology=Topology("sentinel", 3))
    assert sentinel.WIRING.engine_options(target, server) == {}


def test_a_cluster_is_reached_at_all_nodes_and_sampled_as_its_primaries() -> None:
    class Counting:
        directory = None

        def __init__(self, count: float) -> None:
            self.pid, self._count = int(count), count

        def counters(self) -> dict[str, float]:
            return {"commands": self._count}

        gauges = sessions_by_state = counters

    target = Target("db", "redis", topology=Topology("cluster", 6, cluster_replicas=1))
    found = deployment(target, *(Counting(1.0) for _ in range(6)))  # type: ignore[arg-type]
    assert len(found.reached_by("write")) == 6
    found.cluster = SimpleNamespace(leader="db", arbitrator=None)  # type: ignore[assignment]
    sampled = found.sampled
    assert sampled is not None and sampled.counters() == {"commands": 3.0}
    assert len(sampled.pid) == 6  # type: ignore[arg-type]


# ---- who leads


def test_of_sentinels_that_differ_the_highest_epoch_is_right(monkeypatch: Any) -> None:
    found = members(
        Topology("sentinel", 3),
        **{
            name: SimpleNamespace(port=port) for name, port in (("db", 1), ("db_2", 2), ("db_3", 3))
        },
    )
    said = {"db": (1, 1), "db.2": (2, 3), "db.3": None}
    monkeypatch.setattr(sentinel, "_announced", lambda members, node: said[node.name])
    assert sentinel.WIRING.announced(found) == "db.3"
    said |= {"db": None, "db.2": None}
    assert sentinel.WIRING.announced(found) is None


def test_a_node_that_was_started_again_follows_whom_the_sentinels_announce(
    monkeypatch: Any,
) -> None:
    asked: list[tuple[Any, ...]] = []

    def server(port: int) -> Any:
        return SimpleNamespace(port=port, ask=lambda *words: asked.append((port, *words)))

    found = members(Topology("sentinel", 3), db=server(1), db_2=server(2), db_3=server(3))
    announced: list[Any] = [(7, 2)]
    monkeypatch.setattr(sentinel, "_announced", lambda members, node: announced[0])
    for node in found.nodes:  # the leader is `db` still: nothing follows a promotion
        sentinel.WIRING.rewire(found, node)
    assert asked == [(1, "REPLICAOF", "127.0.0.1", 2), (3, "REPLICAOF", "127.0.0.1", 2)]
    asked.clear()
    announced[0] = None
    for node in found.nodes:
        sentinel.WIRING.rewire(found, node)
    assert asked == [(2, "REPLICAOF", "127.0.0.1", 1), (3, "REPLICAOF", "127.0.0.1", 1)]


class Watched(Cluster):
    """Nodes whose sentinels have chosen the second one."""

    watched = True
    elects = True

    def __init__(self) -> None:
        super().__init__()
        self.says: str | None = "db.2"
        self.roles = {"db": DOWN, "db.2": PRIMARY, "db.3": REPLICA}
        self.role = lambda name: self.roles[name]

    def announced(self) -> str | None:
        return self.says

    def accept(self, name: str) -> None:
        self.leader = name


def hearing() -> tuple[Any, Watched, list[tuple[str, str, str]], list[Any]]:
    watcher, _, written, led = watching()
    cluster = watcher._cluster = Watched()
    return watcher, cluster, written, led


def test_addresses_follow_what_sentinels_say() -> None:
    watcher, cluster, written, led = hearing()
    watcher._look()
    assert (cluster.leader, led) == ("db.2", [{"db"}])
    assert [what[:2] for what in written] == [("db.2", "elected"), ("db.2", "address")]
    watcher._look()
    assert len(led) == 1


@pytest.mark.parametrize("says", [None, "db", "db.3"])
def test_sessions_stay_where_sentinels_say_nothing_new_or_the_node_does_not_lead(
    says: str | None,
) -> None:
    watcher, cluster, written, led = hearing()
    cluster.says = says
    watcher._look()
    assert (cluster.leader, written, led) == ("db", [], [])


def test_who_takes_over_in_a_cluster_is_written_down() -> None:
    written: list[tuple[str, str]] = []
    log: Any = SimpleNamespace(
        append=lambda t_s, node, change, said: written.append((node, change))
    )
    deployment: Any = SimpleNamespace(cluster=object())
    observer = Observer(deployment, log)
    observer.see({"db": PRIMARY, "db.4": REPLICA})
    observer.see({"db": DOWN, "db.4": DOWN})
    observer.see({"db": DOWN, "db.4": PRIMARY})
    observer.see({"db": REPLICA, "db.4": PRIMARY})
    assert written == [("db.4", "elected"), ("db", "returned")]
    observer.close()


def test_times_of_logs() -> None:
    iso, redis_s = logged("2026-01-02T03:04:05.678"), logged("02 Jan 2026 03:04:05.678")
    assert iso == redis_s
    line = "   77:M 02 Jan 2026 03:04:05.678 * MASTER MODE enabled (user request from 'id=3')"
    assert sentinel.WIRING.takes_writes is not None
    found = sentinel.WIRING.takes_writes.search(line)
    assert found is not None and logged(found["time"]) == iso


# ---- identities


def test_identities_of_lists_are_those_of_their_sessions() -> None:
    found = lists.read([["2:7:0", "1:3:1"], [], ["1:3:0", "1:3:1"]])
    assert set(found) == {1, 2}
    assert found[1].tolist() == [3 << 16, 3 << 16 | 1]
    assert found[2].dtype == np.uint64
    assert lists.read([]) == {}


@pytest.mark.parametrize("page", [["1:2"], ["1:2:x"], ["1:2:3", "4"]])
def test_what_is_no_identity_is_refused(page: list[str]) -> None:
    with pytest.raises(DynoError, match="something else"):
        lists.read([page])
