"""Nodes that are found by names: what may be written, where records lead, which addresses nodes
have."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.analysis.between_runs.comparability import asked
from dbdyno.errors import DynoError
from dbdyno.execute.servers.network.names import NamedNodes
from dbdyno.experiment import load
from dbdyno.experiment.types import Dns
from dbdyno.experiment.values.faults import AFTER, Fault
from dbdyno.faults.base import Node
from dbdyno.faults.drills import replace
from dbdyno.faults.drills.base import Steps
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json
from dbdyno.report.sections.setting.tested import versions
from dbdyno.topology import names
from fixtures import synthetic

FILE = """\
experiment: named
targets:
  db: {{kind: {kind}, topology: {{kind: {form}, nodes: {nodes}{dns}}}{more}}}
groups:
  app: {{kind: {work}, target: db}}
"""
MACHINE = Machine(cores=8, memory_bytes=1 << 36, kernel="6", cpu_model="x")


def loaded(
    dns: str = ", dns: {ttl: 5s}",
    kind: str = "mariadb",
    form: str = "replicas",
    more: str = "",
    rest: str = "",
) -> Any:
    work = "kv" if kind == "redis" else "oltp"
    nodes = 6 if form == "cluster" else 2
    text = FILE.format(kind=kind, form=form, nodes=nodes, dns=dns, more=more, work=work)
    return load(text + rest)


# ---- what is written


def test_names_have_a_ttl_and_clients_that_keep_them() -> None:
    [target] = loaded().cells[0].targets
    assert target.topology.dns == Dns(5.0)
    [target] = loaded(", dns: {ttl: 1s, keep: 0s}").cells[0].targets
    assert target.topology.dns == Dns(1.0, 0.0)


def test_a_node_is_registered_before_it_starts_unless_the_file_says_otherwise() -> None:
    for written, record in (("", ""), (", record: before", ""), (", record: after", AFTER)):
        faults = f"faults: [{{at: 1s, do: replace, node: db.2{written}}}]\n"
        [fault] = loaded(rest=faults).cells[0].faults
        assert fault.record == record


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"dns": ", dns: {ttl: 1500ms}"}, "whole seconds"),
        ({"dns": ", dns: {}"}, "dns.ttl` is missing"),
        ({"more": ", transport: socket"}, "do not find its nodes by names"),
        ({"dns": ", router: {kind: haproxy}, dns: {ttl: 1s}"}, "do not find its nodes by names"),
        ({"kind": "redis", "form": "cluster"}, "do not find its nodes by names"),
        ({"more": ", limits: {network: {delay: 1ms}}"}, "a network to its clients"),
        (
            {"rest": "faults: [{at: 1s, do: partition, from: clients, node: db.2}]\n"},
            "on links to clients",
        ),
        (
            {"dns": "", "rest": "faults: [{at: 1s, do: replace, node: db.2, record: after}]\n"},
            "do not find nodes of `db` by names",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(arguments: dict[str, str], what: str) -> None:
    with pytest.raises(DynoError) as caught:
        loaded(**arguments)
    assert what in str(caught.value)
    assert caught.value.where is not None


def test_a_plan_keeps_names_and_a_series_distinguishes_them() -> None:
    plan = make(loaded(), MACHINE)
    assert from_json(to_json(plan)) == plan
    found = asked(plan, plan.cells[0])
    assert found["targets.db.topology.dns.ttl_s"] == "5.0"
    plain = make(loaded(""), MACHINE)
    assert not [name for name in asked(plain, plain.cells[0]) if "dns" in name]


def test_a_report_says_that_nodes_are_found_by_names() -> None:
    run, _ = synthetic.cache_run(Path("."))
    topology = {"kind": "replicas", "nodes": 2, "dns": {"ttl_s": 5.0, "keep_s": None}}
    record = run.kept[0].replace(
        targets={"db": {"kind": "mariadb", "version": "10.11", "topology": topology}}
    )
    assert versions([record]) == [
        "mariadb 10.11 (replicas, 2 nodes, found by names with a TTL of 5 s)"
    ]


def test_a_machine_without_bind_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "program", lambda name, places: None)
    with pytest.raises(DynoError, match="there is no `named`") as caught:
        names.check_installed()
    assert caught.value.fix.endswith("bind9 bind9-dnsutils")


# ---- where they lead


class Relay:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.listeners: dict[str, tuple[str, int, int]] = {}
        self.changed: dict[str, Any] = {}
        self.silent: set[str] = set()

    def listen(self, name: str, port: int, *, at: str, on: int) -> Any:
        port_of_machine = on or 7000
        self.listeners[name] = (at, port_of_machine, port)
        return type("State", (), {"port": port_of_machine})()

    def change(self, name: str, link: Any) -> None:
        if name in self.listeners:
            assert link == {"drop": "both"}
            self.silent.add(name)
        else:
            self.changed[name] = link


class Server:
    port = 5300

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.updates = 0

    def set(self, addresses: dict[str, str]) -> None:
        self.records.update(addresses)
        self.updates += 1


def named(keep_s: float | None = None) -> tuple[NamedNodes, Any, Any]:
    relay: Any = Relay()
    server: Any = Server()
    made = NamedNodes(relay, server, keep_s)
    made.open({"db": 41, "db.2": 42}, {"db": "db", "db.2": "db.2", "db.primary": "db"})
    return made, relay, server


def test_each_node_has_an_address_and_the_port_is_that_of_all() -> None:
    _, relay, server = named(keep_s=3.0)
    assert relay.listeners == {
        "machine 127.0.1.1": ("127.0.1.1", 7000, 41),
        "machine 127.0.1.2": ("127.0.1.2", 7000, 42),
    }
    assert server.records == {
        "db": "127.0.1.1",
        "db.2": "127.0.1.2",
        "db.primary": "127.0.1.1",
    }
    assert relay.changed["db.primary"] == {
        "resolve": {
            "name": "db-primary.dyno.test",
            "server": "127.0.0.1:5300",
            "port": 7000,
            "keep_s": 3.0,
            "patience_s": 3.0,
        }
    }
    assert names.name_of("db.2") == "db-2.dyno.test"


def test_a_role_leads_to_another_node_by_one_update() -> None:
    made, _, server = named()
    made.lead({"db.primary": "db.2"})
    assert (server.records["db.primary"], server.updates) == ("127.0.1.2", 2)
    made.lead({"db.primary": "db.2"})
    assert server.updates == 2


def test_a_replaced_machine_has_another_address_and_all_records_of_the_old_one() -> None:
    made, relay, server = named()
    made.leave("db")
    assert relay.silent == {"machine 127.0.1.1"}
    assert server.records["db"] == "127.0.1.1"  # until it is registered
    made.register("db")
    assert relay.listeners["machine 127.0.1.3"] == ("127.0.1.3", 7000, 41)
    assert relay.silent == {"machine 127.0.1.1"}
    assert server.records == {
        "db": "127.0.1.3",
        "db.2": "127.0.1.2",
        "db.primary": "127.0.1.3",
    }


def test_a_further_cell_goes_on_with_the_same_machines() -> None:
    made, relay, server = named()
    made.open({"db": 41, "db.2": 42}, {"db": "db"})
    assert len(relay.listeners) == 2
    assert server.records["db"] == "127.0.1.1"


# ---- a node that is replaced


class Operations:
    def __init__(self, done: list[str]) -> None:
        self._done = done

    def must_be_replaceable(self, name: str) -> None:
        """It is."""

    def replace(self, name: str, step: Any, check: Any) -> str:
        self._done.append(f"start {name}")
        return "follows"


class Names:
    def __init__(self, done: list[str]) -> None:
        self._done = done

    def leave(self, node: str) -> None:
        self._done.append(f"leave {node}")

    def register(self, node: str) -> None:
        self._done.append(f"register {node}")


@pytest.mark.parametrize(
    ("record", "order"),
    [
        ("", ["leave db.2", "register db.2", "start db.2"]),
        (AFTER, ["leave db.2", "start db.2", "register db.2"]),
    ],
)
def test_a_record_changes_before_the_server_starts_or_after(
    record: str, order: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replace, "Managed", SimpleNamespace)
    done: list[str] = []
    process = SimpleNamespace(alive=lambda: True)
    server: Any = SimpleNamespace(process=process, kill=lambda: None, directory=tmp_path)
    operations: Any = Operations(done)
    node = Node("db.2", server, "db", operations=operations, names=Names(done))
    steps = Steps()
    fault = Fault(1.0, "replace", ("db.2",), "db", record=record)
    assert replace.FAULT.carry_out(node, fault, steps) == "follows"
    assert done == order
    assert [step.name for step in steps.done] == ["loss", "register"]
    done.clear()
    node.names = None
    replace.FAULT.carry_out(node, fault, Steps())
    assert done == ["start db.2"]
