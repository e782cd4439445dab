"""Topologies: what may be written, who is sent where, which settings nodes get. Nothing starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno import systems, topology
from dbdyno.errors import DynoError
from dbdyno.execute.servers.deployment import Deployment, TopologyServers
from dbdyno.experiment import load
from dbdyno.experiment.claims.metrics import Scope, canonical
from dbdyno.experiment.targets.topologies import FORMS
from dbdyno.experiment.types import LOGICAL, MEMBER, PRIMARY, REPLICA, Node, Target, Topology
from dbdyno.kinds import KINDS
from dbdyno.plan import hard
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import check_settings, make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.samplers.runner import samplers_of
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.topology.base import Members

FILE = """\
experiment: together
question: Do they work together?
targets:
  db: {target}
groups:
  app: {{kind: oltp, target: db, rows: 1000{group}}}
"""
GALERA = "{kind: mariadb, topology: {kind: galera}}"
PAIR = "{kind: postgres, topology: {kind: replicas, nodes: 2}}"


def loaded(target: str, group: str = "", more: str = "") -> Any:
    return load(FILE.format(target=target, group=group) + more)


def refused(target: str, group: str = "") -> DynoError:
    with pytest.raises(DynoError) as found:
        loaded(target, group)
    return found.value


def resolved(kind: str, form: str, waits: int = 0, **target: Any) -> Resolved:
    return topology.resolve(Target("db", kind, topology=Topology(form, 3, waits), **target))


# ---- what is written


def test_a_topology_names_its_nodes_and_their_roles() -> None:
    found = loaded(GALERA).cells[0].targets[0]
    assert found.topology == Topology("galera", 3, 0)
    assert found.nodes == (Node("db", MEMBER), Node("db.2", MEMBER), Node("db.3", MEMBER))
    pair = loaded(PAIR).cells[0].targets[0]
    assert pair.nodes == (Node("db", PRIMARY), Node("db.2", REPLICA))
    assert (pair.server_count, Target("db", "mariadb", url="mysql://h").server_count) == (2, 0)


@pytest.mark.parametrize(
    ("target", "route", "names"),
    [
        (GALERA, "", ["db"]),
        (GALERA, "primary", ["db"]),
        (GALERA, "replicas", ["db.2", "db.3"]),
        (GALERA, "any", ["db", "db.2", "db.3"]),
        (GALERA, "db.3", ["db.3"]),
        (PAIR, "primary", ["db"]),
        ("{kind: mariadb, instances: 2}", "primary", ["db", "db.2"]),
        ("{kind: mariadb, instances: 2}", "db.2", ["db.2"]),
        ("{kind: sqlite}", "any", ["db"]),
    ],
)
def test_a_route_leads_to_nodes(target: str, route: str, names: list[str]) -> None:
    cell = loaded(target, f", route: {route}" if route else "").cells[0]
    assert [node.name for node in cell.targets[0].nodes_for(cell.groups[0].access)] == names


def test_replicas_are_reached_by_whoever_only_reads() -> None:
    cell = loaded(PAIR, ", preset: point_select, route: replicas").cells[0]
    assert [node.name for node in cell.targets[0].nodes_for("replicas")] == ["db.2"]
    external = "{nodes: {write: mysql://h, read: [mysql://h2]}}"
    cell = loaded(external, ", preset: point_select, route: replicas").cells[0]
    assert [node.name for node in cell.targets[0].nodes_for("replicas")] == ["db.read1"]


@pytest.mark.parametrize(
    ("target", "group", "what", "place"),
    [
        ("{kind: sqlite, topology: {kind: replicas}}", "", "SQLite has no topology", "replicas}"),
        ("{kind: postgres, topology: {kind: galera}}", "", "PostgreSQL has no topology", "galera}"),
        ("{kind: mariadb, topology: {kind: galera, nodes: 8}}", "", "has 7 nodes at most", "8}"),
        (
            "{kind: mysql, topology: {kind: replicas, nodes: 2, wait_for_replicas: 2}}",
            "",
            "commits wait for 2 replicas, and there are 1",
            "2}}",
        ),
        (
            "{kind: mariadb, topology: {kind: replicas, wait_for_replicas: 2}}",
            "",
            "MariaDB waits for 1 replica at most",
            "2}}",
        ),
        (
            "{kind: mariadb, topology: {kind: galera, wait_for_replicas: 1}}",
            "",
            "`wait_for_replicas` means nothing to `galera`",
            "1}}",
        ),
        (
            "{kind: mariadb, instances: 2, topology: {kind: galera}}",
            "",
            "has a topology and 2 instances",
            "instances:",
        ),
        (
            "{kind: mariadb, config: {port: 4000}, topology: {kind: galera}}",
            "",
            "cannot share the port",
            "port:",
        ),
        ("{url: mysql://h, topology: {kind: galera}}", "", "`topology`", "topology:"),
        (GALERA, ", route: db.4", "has no node `db.4`", "db.4}"),
        ("{kind: mariadb}", ", route: replicas", "has no replicas", "replicas}"),
        (GALERA, ", route: any, node: write", "has `route` and `node`", "node: write"),
        (PAIR, ", route: any", "changes data, and would be sent to db.2", "any}"),
        (PAIR, ", node: read", "changes data, and would be sent to db.2", "read}"),
        (
            "{kind: mariadb, topology: {kind: replicas, replication: logical}}",
            "",
            "`replication` means nothing to replicas of MariaDB",
            "logical}}",
        ),
        (
            "{kind: mysql, topology: {kind: group, replication: physical}}",
            "",
            "`replication` means nothing to `group`",
            "physical}}",
        ),
        (
            "{kind: postgres, topology: {kind: replicas, replication: logical, failover: {}}}",
            "",
            "no failover is possible with `replication: logical`",
            "failover:",
        ),
        (
            "{kind: postgres, topology: {kind: replicas, replication: logical,"
            " router: {kind: pgpool}}}",
            "",
            "pgpool does not go with `replication: logical`",
            "pgpool}}}",
        ),
        (
            "{kind: postgres, topology: {kind: replicas, replication: logical,"
            " router: {kind: haproxy, conformance: true}}}",
            "",
            "no router is examined with `replication: logical`",
            "true}}}",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(
    target: str, group: str, what: str, place: str
) -> None:
    error = refused(target, group)
    assert what in error.what
    assert error.where is not None
    line = FILE.format(target=target, group=group).splitlines()[error.where.line - 1]
    assert line[error.where.column - 1 :].startswith(place)


def test_replicas_of_postgres_follow_by_the_log_or_by_rows() -> None:
    head = "{kind: postgres, topology: {kind: replicas, nodes: 2, replication: logical}}"
    spec = loaded(head, more="factors: {db.topology.replication: [physical, logical]}\n")
    forms = [cell.targets[0].topology for cell in spec.cells]
    assert forms == [Topology("replicas", 2), Topology("replicas", 2, logical=True)]


MIX = """\
experiment: together
targets:
  db: {kind: postgres, topology: {kind: replicas, replication: WORD}}
workload:
  kind: mix
  transactions:
    work:
      steps:
        - {sql: CREATE TEMP TABLE mine (a INT)}
        - {sql: DROP TABLE mine}
        - {sql: "ALTER TABLE t ADD b INT"}
"""


def test_a_workload_that_changes_tables_does_not_go_with_subscribers() -> None:
    assert load(MIX.replace("WORD", "physical")).cells[0].targets[0].topology
    with pytest.raises(DynoError, match="changes the schema of target `db`") as found:
        load(MIX.replace("WORD", "logical"))
    assert "DDL is not replicated" in (found.value.cause or "")
    where = found.value.where
    assert where is not None
    assert "ALTER TABLE" in MIX.splitlines()[where.line - 1]
    kept = MIX.replace("WORD", "logical").replace("ALTER TABLE t ADD b INT", "TRUNCATE t")
    assert load(kept).cells


def test_a_number_of_nodes_is_a_hard_factor() -> None:
    spec = loaded(GALERA, more="factors: {db.topology.nodes: [1, 3]}\n")
    assert [len(cell.targets[0].nodes) for cell in spec.cells] == [1, 3]
    assert spec.factors[0].values == (1.0, 3.0)
    plan = make(spec, Machine.read(), available=lambda target: None)
    assert plan.factors[0].hard and hard.ONLY not in {cell.hard for cell in plan.cells}
    assert from_json(to_json(plan)) == plan
    assert estimate.of(plan).memory_bytes > 3 * (128 << 20)
    [touched] = estimate.of(plan).touched
    assert (touched.instances, touched.topologies) == ((1, 3), ("galera",))


def test_a_setting_that_each_node_has_its_own_is_refused_at_its_place() -> None:
    target = "{kind: mariadb, config: {wsrep_node_name: me}, topology: {kind: galera}}"
    with pytest.raises(DynoError, match="`wsrep_node_name` cannot be set in `config:`"):
        check_settings(loaded(target))


# ---- settings


def test_every_kind_wires_the_topologies_that_it_says_it_has() -> None:
    wired = {(wiring.kind, wiring.topology) for wiring in topology.WIRINGS}
    assert wired == {(name, form) for name, kind in KINDS.items() for form in kind.topologies}
    assert {form for _, form in wired} == set(FORMS)
    logical = {one.kind for one in topology.WIRINGS if one.logical}
    assert logical == {name for name, kind in KINDS.items() if LOGICAL in kind.replications}
    assert len(topology.WIRINGS) == len(wired) + len(logical)


def name_of(wiring: topology.Wiring) -> str:
    return f"{wiring.kind}-{wiring.topology}{'-logical' * wiring.logical}"


@pytest.mark.parametrize("wiring", topology.WIRINGS, ids=name_of)
def test_a_topology_is_a_word_of_the_report(wiring: topology.Wiring) -> None:
    form = Topology(wiring.topology, 3, logical=wiring.logical)
    found = topology.resolve(Target("db", wiring.kind, topology=form))
    [word] = [word for word in found.words if word.word.startswith("topology")]
    how = ", logical replication" * wiring.logical
    assert word.word == f"topology: {wiring.topology}, 3 nodes{how}"
    assert word.settings == found.node_settings != {}
    assert word.note
    # What is loaded is one server alone.
    assert not set(found.node_settings) & set(found.settings)
    assert found.asked.items() >= found.node_settings.items()


def test_settings_of_galera() -> None:
    config = {"wsrep_slave_threads": 4, "wsrep_provider_options": "gcache.size=32M"}
    found = resolved("mariadb", "galera", config=config)
    assert found.node_settings["innodb_autoinc_lock_mode"] == "2"
    assert "wsrep_provider_options" not in found.settings
    assert not any(name.startswith("wsrep_") for name in found.data_settings)
    assert found.data_settings["topology"] == "galera"
    assert "topology" not in resolved("mariadb", "replicas").data_settings
    with pytest.raises(DynoError, match="contradicts `topology: galera`"):
        resolved("mariadb", "galera", config={"binlog_format": "STATEMENT"})
    options = "gmcast.listen_addr = tcp://0.0.0.0"
    with pytest.raises(DynoError, match=r"`gmcast\.listen_addr`"):
        resolved("mariadb", "galera", config={"wsrep_provider_options": options})


def test_the_first_node_of_galera_begins_and_the_others_join(tmp_path: Path) -> None:
    target = Target("db", "mariadb", topology=Topology("galera", 3))
    config = {"wsrep_provider_options": "gcache.size=32M;"}
    given = resolved("mariadb", "galera", config=config)
    members = Members(target, Binaries("", {"server": tmp_path / "sbin/mariadbd"}), given, {})
    library = tmp_path / "lib/galera/libgalera_smm.so"
    library.parent.mkdir(parents=True)
    library.touch()
    wiring = topology.of(target)
    assert wiring is not None
    options = [wiring.options(members, node, tmp_path) for node in target.nodes]
    first, second, third = (each.settings for each in options)
    again = options[0].again().settings
    assert first["wsrep_cluster_address"] == "gcomm://"
    address = second["wsrep_cluster_address"]
    assert address == third["wsrep_cluster_address"] == again["wsrep_cluster_address"]
    assert address.count("127.0.0.1:") == 3
    assert first["wsrep_cluster_name"] == third["wsrep_cluster_name"]
    assert first["wsrep_provider"] == str(library)
    assert first["wsrep_provider_options"].startswith("gcache.size=32M;base_port=")
    addresses = {each["wsrep_sst_receive_address"] for each in (first, second, third)}
    assert len(addresses) == 3


def test_settings_of_replicas() -> None:
    mariadb = resolved("mariadb", "replicas", durability="full")
    assert mariadb.node_settings["log_bin"] and mariadb.node_settings["sync_binlog"] == "1"
    assert mariadb.load_settings["skip_log_bin"] == "ON"
    assert "rpl_semi_sync_master_wait_point" not in mariadb.node_settings
    waiting = resolved("mariadb", "replicas", 1)
    assert waiting.node_settings["rpl_semi_sync_master_wait_point"] == "AFTER_SYNC"
    mysql = resolved("mysql", "replicas", 2)
    assert "skip_log_bin" not in mysql.asked
    assert not any("skip_log_bin" in word.settings for word in mysql.words)
    assert mysql.node_settings["rpl_semi_sync_source_wait_for_replica_count"] == "2"
    off = [{name: value} for name in ("log-bin", "Log_Bin") for value in (False, 0, "OFF", "mine")]
    for config in (*off, {"skip-log-bin": None}, {"disable_log_bin": True}):
        for kind, form in (("mariadb", "replicas"), ("mysql", "replicas"), ("mysql", "group")):
            with pytest.raises(DynoError, match=r"(?i)bin` cannot be set in `config:`") as caught:
                resolved(kind, form, config=config)
            assert "gives each node its own" in (caught.value.cause or "")


def test_settings_of_a_group_are_those_of_its_nodes_only() -> None:
    found = resolved("mysql", "group", config={"group_replication_member_expel_timeout": 0})
    assert found.node_settings["group_replication_member_expel_timeout"] == "0"
    assert "group_replication_member_expel_timeout" not in found.settings  # while loading
    with pytest.raises(DynoError, match="cannot be set in `config:`"):
        resolved("mysql", "group", config={"group_replication_group_name": "mine"})


def test_settings_of_standbys() -> None:
    found = resolved("postgres", "replicas", 2)
    assert found.node_settings["synchronous_standby_names"] == "ANY 2 (*)"
    alone = systems.load("postgres").resolve(Target("db", "postgres"))
    assert alone.load_settings["wal_level"] == "minimal"
    assert "wal_level" not in found.load_settings
    assert alone.data_settings != found.data_settings
    with pytest.raises(DynoError, match="acknowledges commits that no replica has received"):
        resolved("postgres", "replicas", 1, durability="none")
    with pytest.raises(DynoError, match="not possible on a standby"):
        resolved("postgres", "replicas", isolation="serializable")


def test_settings_of_subscribers() -> None:
    def subscribers(waits: int = 0, **target: Any) -> Resolved:
        form = Topology("replicas", 3, waits, logical=True)
        return topology.resolve(Target("db", "postgres", topology=form, **target))

    found = subscribers(isolation="serializable")  # they are no hot standbys
    assert found.node_settings == {"wal_level": "logical"}
    alone = systems.load("postgres").resolve(Target("db", "postgres"))
    assert found.load_settings == alone.load_settings  # what is loaded is one server alone
    assert found.data_settings == alone.data_settings
    names = subscribers(1).node_settings["synchronous_standby_names"]
    assert names == "ANY 1 (node_2, node_3)"
    with pytest.raises(DynoError, match="acknowledges commits that no replica has received"):
        subscribers(1, durability="none")
    with pytest.raises(DynoError, match="contradicts `topology: replicas`"):
        subscribers(config={"wal_level": "replica"})
    with pytest.raises(DynoError, match="`track_commit_timestamp` cannot be set in `config:`"):
        subscribers(config={"track_commit_timestamp": True})
    target = Target("db", "postgres", topology=Topology("replicas", 3, 1, logical=True))
    members = Members(target, Binaries(""), subscribers(1), {})
    wiring = topology.of(target)
    assert wiring is not None and wiring.logical
    own = [wiring.options(members, node, Path()).settings for node in target.nodes]
    assert own[0] == {} and own[1] == own[2]
    # A subscriber commits what it applies: it must not wait for the others.
    assert own[1]["synchronous_standby_names"] == ""


# ---- samples


class Fake:
    """A server that counts."""

    directory = Path("/nowhere")

    def __init__(self, pid: int, count: float) -> None:
        self.pid = pid
        self._count = count

    def alive(self) -> bool:
        return self._count > 0

    def counters(self) -> dict[str, float]:
        return {"commits": self._count}

    def gauges(self) -> frozenset[str]:
        return frozenset()

    def sessions_by_state(self) -> dict[str, int]:
        return {}


def deployment(target: Target, *servers: Fake) -> Deployment:
    system = systems.load("null")
    found = Deployment(target, system, Binaries(""), Resolved({}, (), ()))
    named = zip((node.name for node in target.nodes), servers, strict=True)
    found.servers |= dict(named)  # type: ignore[arg-type]
    return found


def test_a_topology_is_sampled_as_its_first_node_and_all_processes() -> None:
    servers = (Fake(1, 5.0), Fake(2, 7.0))
    found = TopologyServers(servers[0], servers)  # type: ignore[arg-type]
    assert (found.pid, found.counters()) == ((1, 2), {"commits": 5.0})


def test_replicas_of_a_topology_are_called_by_their_number() -> None:
    servers = (Fake(1, 5.0), Fake(2, 7.0))
    pair = deployment(Target("db", "postgres", topology=Topology("replicas", 2)), *servers)
    assert list(pair.replicas) == ["node2"]
    assert list(pair.written) == ["db"]
    galera = deployment(Target("db", "mariadb", topology=Topology("galera", 2)), *servers)
    group = deployment(Target("db", "mysql", topology=Topology("group", 2)), *servers)
    assert galera.replicas == group.replicas == {}
    assert list(galera.written) == ["db"]


def test_servers_without_a_topology_have_the_role_that_they_were_given() -> None:
    two = deployment(Target("db", "mariadb", instances=2), Fake(1, 1.0), Fake(2, 0.0))
    assert two.roles() == {"db": "instance", "db.2": "instance"}  # also of one that is down
    assert not two.alive()


def test_metrics_of_a_node_carry_its_name() -> None:
    _, of_servers = samplers_of(
        {"db": Fake(1, 1.0)}, nodes={"db": {"node1": Fake(1, 1.0), "node2": Fake(2, 1.0)}}
    )
    sources = [sampler.source for samplers in of_servers for sampler in samplers]
    assert sources == [
        *("status", "sessions", "node1.status", "node1.sessions"),
        *("node2.status", "node2.sessions"),
    ]
    one, two = Scope(("app",)), Scope(("app",), ("a", "b"))
    name = "node2.status.wsrep_flow_control_paused"
    assert canonical(name, one) == name
    assert canonical(f"a.{name}", two) == f"a.{name}"
    with pytest.raises(DynoError, match="does not name its target"):
        canonical(name, two)
    with pytest.raises(DynoError):
        canonical("node2.cpu.user", one)
