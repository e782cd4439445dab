"""An arbitrator of Galera, and how state is transferred: what may be written, what faults may
strike it, what it and the nodes are started with. Nothing starts."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno import topology
from dbdyno.analysis.between_runs import comparability
from dbdyno.analysis.predictions import galera as predicted
from dbdyno.errors import DynoError
from dbdyno.execute.faulting.strike import chosen
from dbdyno.experiment import load
from dbdyno.experiment.types import ARBITRATOR, MEMBER, Node, Target, Topology
from dbdyno.experiment.values.faults import Fault
from dbdyno.models.cluster.files.options import Options
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.report.sections.setting.tested import _topology
from dbdyno.systems.base import Binaries
from dbdyno.systems.mysql.mariadb import password_hash
from dbdyno.topology import arbitrator, statetransfer
from dbdyno.topology.base import Members
from dbdyno.topology.galera import _lacking

FILE = """\
experiment: voters
question: Does a vote without data help?
targets:
  db: {target}
groups:
  app: {{kind: oltp, target: db, rows: 1000}}
{faults}"""
TWO = "{kind: mariadb, topology: {kind: galera, nodes: 2, arbitrator: true}}"
PASSWORD = "not-for-your-eyes"


def loaded(target: str = TWO, faults: str = "") -> Any:
    return load(FILE.format(target=target, faults=f"faults: [{faults}]\n" if faults else ""))


def refused(target: str = TWO, faults: str = "") -> DynoError:
    with pytest.raises(DynoError) as found:
        loaded(target, faults)
    assert found.value.where is not None and found.value.fix
    return found.value


# ---- what is written


def test_an_arbitrator_is_no_node_and_has_links_to_all() -> None:
    spec = loaded()
    target = spec.cells[0].targets[0]
    assert target.topology == Topology("galera", 2, arbitrator=True)
    voter = Node("db.arbitrator", ARBITRATOR)
    assert (target.arbitrator, target.nodes) == (voter, (Node("db", MEMBER), Node("db.2", MEMBER)))
    assert target.linked == (*target.nodes, voter)
    assert target.server_count == 2
    alone = loaded("{kind: mariadb, topology: {kind: galera, nodes: 2}}").cells[0].targets[0]
    assert (alone.arbitrator, alone.linked) == (None, alone.nodes)
    plan = make(spec, Machine.read(), available=lambda target: None)
    assert from_json(to_json(plan)) == plan


def test_runs_without_an_arbitrator_compare_with_those_before_there_were_any() -> None:
    def asked(target: str) -> dict[str, Any]:
        plan = make(loaded(target), Machine.read(), available=lambda target: None)
        cell = plan.cells[0]
        found: dict[str, Any] = comparability._target(cell.targets[0], cell)["topology"]
        return found

    assert not {"arbitrator", "sst"} & set(asked("{kind: mariadb, topology: {kind: galera}}"))
    more = "{kind: mariadb, topology: {kind: galera, arbitrator: true, sst: mariabackup}}"
    assert asked(more).items() >= {"arbitrator": True, "sst": "mariabackup"}.items()


@pytest.mark.parametrize("key", ["arbitrator: true", "sst: rsync"])
def test_what_is_galeras_alone_is_refused_elsewhere(key: str) -> None:
    error = refused(f"{{kind: mariadb, topology: {{kind: replicas, {key}}}}}")
    assert f"`{key.partition(':')[0]}` means nothing to `replicas`" in error.what


def test_two_nodes_and_a_vote_survive_what_two_nodes_do_not() -> None:
    failing = "{kind: mariadb, topology: {kind: galera, nodes: 2, failover: {}%s}}"
    assert loaded(failing % ", arbitrator: true").cells[0].targets[0].topology.failover
    error = refused(failing % "")
    assert "no failover is possible" in error.what and "`arbitrator: true`" in error.fix
    one = "{kind: mariadb, topology: {kind: galera, nodes: 1, failover: {}, arbitrator: true}}"
    assert "no failover is possible" in refused(one).what


def test_a_report_names_it() -> None:
    facts = {"topology": {"kind": "galera", "nodes": 2, "arbitrator": True}}
    assert _topology(facts) == " (galera, 2 nodes and an arbitrator)"
    found = topology.resolve(
        Target("db", "mariadb", topology=Topology("galera", 2, arbitrator=True))
    )
    [word] = [word for word in found.words if word.word.startswith("topology")]
    assert word.word == "topology: galera, 2 nodes and an arbitrator"
    assert word.note.endswith("state is transferred by rsync")


def test_the_model_of_a_cluster_has_its_vote() -> None:
    target = Target("db", "mariadb", topology=Topology("galera", 2, arbitrator=True))
    members = predicted.topology(target, Options(), 1).members
    assert [(name, one.arbitrator) for name, one in members.items()] == [
        ("db", False),
        ("db.2", False),
        ("db.arbitrator", True),
    ]


# ---- faults


@pytest.mark.parametrize(
    ("fault", "nodes", "peers"),
    [
        ("{at: 1s, do: kill, node: arbitrator}", ("db.arbitrator",), ()),
        ("{at: 1s, do: pause, node: [db.2, db.arbitrator]}", ("db.2", "db.arbitrator"), ()),
        ("{at: 1s, do: stop, node: [arbitrator, db.arbitrator]}", ("db.arbitrator",), ()),
        ("{at: 1s, do: partition, node: arbitrator}", ("db.arbitrator",), ("nodes",)),
        ("{at: 1s, do: partition, node: db, from: arbitrator}", ("db",), ("db.arbitrator",)),
        ("{at: 1s, do: nemesis, node: arbitrator, for: 5s, every: 1s}", ("db.arbitrator",), ()),
    ],
)
def test_faults_strike_an_arbitrator_by_its_name(
    fault: str, nodes: tuple[str, ...], peers: tuple[str, ...]
) -> None:
    [found] = loaded(faults=fault).cells[0].faults
    assert (found.nodes, found.peers, found.target) == (nodes, peers, "db")


@pytest.mark.parametrize(
    ("target", "fault", "what"),
    [
        (
            "{kind: mariadb, topology: {kind: galera}}",
            "do: kill, node: arbitrator",
            "has no arbitrator",
        ),
        (TWO, "do: sql, node: arbitrator, sql: SELECT 1", "`sql` cannot be of an arbitrator"),
        (TWO, "do: clock, node: db.arbitrator, by: 5s", "`clock` cannot be of an arbitrator"),
        (TWO, "do: partition, node: arbitrator, from: clients", "has no link to clients"),
        (TWO, "do: partition, node: arbitrator, from: db.arbitrator", "at both ends"),
        (TWO, "do: kill, node: db.arbitrater", "has no node `db.arbitrater`"),
    ],
)
def test_what_cannot_strike_it_is_refused(target: str, fault: str, what: str) -> None:
    assert what in refused(target, f"{{at: 1s, {fault}}}").what


def test_an_arbitrator_is_struck_by_name_alone() -> None:
    roles = {"db": MEMBER, "db.2": MEMBER}

    def struck(*nodes: str) -> list[str]:
        fault = Fault(1.0, "kill", nodes, "db")
        return chosen(fault, roles, random.Random(1), arbitrator="db.arbitrator")

    assert struck("db.arbitrator", "db") == ["db.arbitrator", "db"]
    assert struck("all") == ["db", "db.2"]
    assert struck("any")[0] in roles


# ---- what is started


def members(form: Topology, tmp_path: Path, **target: Any) -> Members:
    asked = Target("db", "mariadb", topology=form, **target)
    library = tmp_path / "lib/galera/libgalera_smm.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    library.touch()
    binaries = Binaries("", {"server": tmp_path / "sbin/mariadbd"})
    return Members(asked, binaries, topology.resolve(asked), {}, sst_password=PASSWORD)


def test_its_options_are_those_of_the_nodes_that_garbd_knows(tmp_path: Path) -> None:
    written = "evs.suspect_timeout = PT1S; gcache.size=32M;pc.weight=3;pc.recovery=no;"
    found = dict(one.split("=") for one in arbitrator.options(written, 4567, tmp_path).split(";"))
    assert found == {
        "evs.suspect_timeout": "PT1S",
        "pc.recovery": "no",
        "pc.wait_prim": "no",
        "base_port": "4567",
        "base_dir": str(tmp_path),
        "gmcast.listen_addr": "tcp://127.0.0.1:4567",
    }
    assert arbitrator.options("", 1, tmp_path).startswith("base_port=1;")


def test_its_port_is_known_before_the_nodes_start(tmp_path: Path) -> None:
    found = members(Topology("galera", 2, arbitrator=True), tmp_path)
    wiring = topology.of(found.target)
    assert wiring is not None
    address = wiring.options(found, found.nodes[1], tmp_path).settings["wsrep_cluster_address"]
    assert set(found.ports()) == {"db", "db.2", "db.arbitrator"}
    assert set(found.ports()["db.arbitrator"]) == {"cluster"}
    assert address == f"gcomm://{found.addresses('cluster')}" and address.count(":") == 3


def test_nodes_work_together_once_it_has_joined(tmp_path: Path) -> None:
    found = members(Topology("galera", 2, arbitrator=True), tmp_path)
    rows = {
        "wsrep_local_state_comment": "Synced",
        "wsrep_cluster_status": "Primary",
        "wsrep_cluster_size": "2",
    }
    server: Any = SimpleNamespace(rows=lambda sql: list(rows.items()))
    found.servers["db"] = server
    wiring = topology.of(found.target)
    assert wiring is not None
    assert wiring.lacking(found) == "db is Synced in a Primary cluster of 2"
    rows["wsrep_cluster_size"] = "3"
    assert wiring.lacking(found) == ""
    assert _lacking(found, 2)


def test_a_missing_arbitrator_is_an_error_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(arbitrator, "PROGRAM", "no-such-garbd")
    with pytest.raises(DynoError, match="no `no-such-garbd`") as caught:
        arbitrator.find(Binaries("", {"server": tmp_path / "sbin/mariadbd"}))
    assert "galera-arbitrator-4" in caught.value.fix


# ---- state transfer


def test_mariabackup_has_an_account_and_the_password_is_in_no_file(tmp_path: Path) -> None:
    found = members(Topology("galera", 2, sst="mariabackup"), tmp_path)
    wiring = topology.of(found.target)
    assert wiring is not None
    options = wiring.options(found, found.nodes[0], tmp_path)
    assert options.settings["wsrep_sst_method"] == "mariabackup"
    assert options.sections["sst"]["sst-log-archive"] == "0"
    assert options.environment == {"TMPDIR": str(tmp_path / "tmp")}
    made, granted = options.account_sql
    assert password_hash(PASSWORD) in made and "'sst'@'localhost'" in made
    assert granted == (
        "GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO 'sst'@'localhost'"
    )
    assert PASSWORD not in str(options)

    sent: list[str] = []
    server = SimpleNamespace(rows=sent.append, close_connection=lambda: sent.append("closed"))
    found.servers["db"] = server  # type: ignore[assignment]
    wiring.wire(found, found.nodes[0])
    assert sent == [
        "SET SESSION sql_log_off = ON, SESSION slow_query_log = OFF",
        f"SET GLOBAL wsrep_sst_auth = 'sst:{PASSWORD}'",
        "closed",
    ]


def test_rsync_logs_in_nowhere(tmp_path: Path) -> None:
    found = members(Topology("galera", 2), tmp_path)
    wiring = topology.of(found.target)
    assert wiring is not None
    options = wiring.options(found, found.nodes[0], tmp_path)
    assert options.settings["wsrep_sst_method"] == "rsync"
    assert (options.account_sql, options.environment) == ((), {})
    found.servers["db"] = SimpleNamespace(rows=pytest.fail)  # type: ignore[assignment]
    wiring.wire(found, found.nodes[0])


def test_what_a_transfer_lacks_is_said_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    binaries = Binaries("", {"server": tmp_path / "sbin/mariadbd"})
    with pytest.raises(DynoError, match="no rsync found"):
        statetransfer.check_installed("rsync", binaries)
    for name in ("mariadb-backup", "mbstream"):
        with pytest.raises(DynoError, match=f"no `{name}` in {tmp_path}/bin") as caught:
            statetransfer.check_installed("mariabackup", binaries)
        assert "sst: rsync" in caught.value.fix and "mariadb-backup" in caught.value.fix
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.touch(0o755)
    with pytest.raises(DynoError, match="no socat found"):
        statetransfer.check_installed("mariabackup", binaries)
