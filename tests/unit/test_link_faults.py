"""Faults on links: what may be written, which ways they strike, and what overlapping ones leave."""

from __future__ import annotations

from typing import Any

import pytest
from test_experiment_load import ONE, failure, load

from dbdyno.errors import DynoError
from dbdyno.execute.servers.network.paths import Paths
from dbdyno.experiment.types import Network
from dbdyno.experiment.values.faults import (
    CLIENTS,
    Fault,
    Line,
)
from dbdyno.faults import FAULTS, nemesis
from dbdyno.faults.base import Conditions, Node
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json

CLUSTER = ONE.replace("{kind: mariadb}", "{kind: mariadb, topology: {kind: galera, nodes: 3}}")
FAR = CLUSTER.replace("nodes: 3", "nodes: 3, network: {delay: 5ms, bytes_per_s: 10M}")
WRITTEN = (
    CLUSTER
    + """\
faults:
  - {at: 1s, do: partition, node: [db.3, db], for: 3s}
  - {at: 5s, do: partition, node: primary, from: all, one_way: out}
  - {at: 6s, do: link, node: db.2, from: [db, clients], delay: 50ms, jitter: 5ms, loss: 1%,
     bytes_per_s: 1M}
  - {at: 9s, do: nemesis, for: 15s, every: 2s, of: [partition, link, kill], delay: 1s}
"""
).replace("node: primary", "node: db")


def test_every_fault_on_links_as_it_is_written() -> None:
    cut, both, bad, drawn = load(WRITTEN).cells[0].faults
    assert cut == Fault(1.0, "partition", ("db.3", "db"), "db", 3.0, peers=("nodes",))
    assert (both.peers, both.one_way) == (("nodes", "clients"), "out")
    assert bad.peers == ("db", "clients")
    assert bad.line == Line(0.05, 0.005, 1_000_000, 0.01)
    assert (drawn.peers, drawn.line) == (("nodes",), Line(1.0))
    assert [one.is_on_clients for one in (cut, both, bad)] == [False, True, True]
    plan = make(load(WRITTEN), Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x"))
    assert from_json(to_json(plan)) == plan


def test_nodes_may_have_a_network_between_them() -> None:
    topology = load(FAR).cells[0].targets[0].topology
    assert topology is not None
    assert topology.network == Network(0.005, 10_000_000)


@pytest.mark.parametrize(
    ("head", "fault", "said"),
    [
        (ONE, "¶{at: 1s, do: partition}", "no links between each other"),
        (ONE, "{at: 1s, do: link, delay: 1s, from: ¶nodes}", "no links between each other"),
        (
            CLUSTER.replace("3", "1"),
            "¶{at: 1s, do: partition, node: db}",
            "its `topology` has one node",
        ),
        (CLUSTER, "{at: 1s, do: partition, node: ¶db.4}", "no node `db.4`"),
        (CLUSTER, "{at: 1s, do: partition, node: db, from: ¶db.9}", "no node `db.9`"),
        (CLUSTER, "{at: 1s, do: partition, node: db, from: ¶db}", "at both ends"),
        (CLUSTER, "{at: 1s, do: partition, node: ¶[db, db.2, db.3]}", "no node is left"),
        (CLUSTER, "{at: 1s, do: partition, node: db, one_way: ¶true}", "one_way"),
        (CLUSTER, "{at: 1s, do: ¶link, node: db}", "changes nothing"),
        (CLUSTER, "{at: 1s, do: link, node: db, loss: ¶100%}", "less than 100%"),
        (CLUSTER, "{at: 1s, do: link, node: db, delay: ¶11s}", "at most 10s"),
        (CLUSTER, "{at: 1s, do: ¶nemesis, for: 9s, every: 1s, of: [link]}", "changes nothing"),
        (CLUSTER, "{at: 1s, do: nemesis, for: 9s, every: 1s, from: ¶clients}", "on links"),
        (
            ONE.replace("mariadb}", "mariadb, transport: socket}"),
            "{at: 1s, do: partition, from: ¶clients}",
            "no link to clients",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(head: str, fault: str, said: str) -> None:
    error = failure(f"{head}faults: [{fault}]\n")
    assert said in f"{error.what} {error.fix} {error.cause}", str(error)


class _Relay:
    """Takes what the relay is told, by listener."""

    def __init__(self) -> None:
        self.links: dict[str, Any] = {}

    def change(self, name: str, link: Any) -> None:
        self.links[name] = link


def network() -> tuple[_Relay, Paths]:
    """Three nodes, each with links to the others, and clients of the first."""
    relay = _Relay()
    paths = Paths(relay.change)
    for one in ("a", "b", "c"):
        for other in {"a", "b", "c"} - {one}:
            name = f"{one}>{other}"
            relay.links[name] = paths.put(name, (one, other), Network(0.005))
    relay.links["a"] = paths.put("a", (CLIENTS, "a"), Network())
    return relay, paths


def node(name: str, paths: Paths) -> Node:
    server: Any = None
    others = tuple(sorted({"a", "b", "c"} - {name}))
    return Node(name, server, "dyno", paths, others)


def drops(relay: _Relay) -> dict[str, str]:
    return {name: link["drop"] for name, link in relay.links.items() if link["drop"] != "none"}


def test_a_partition_cuts_its_side_off_and_nothing_within_it() -> None:
    relay, paths = network()
    fault = Fault(1.0, "partition", ("a", "b"), "db", peers=("nodes",))
    kind = FAULTS["partition"]
    assert kind.begin(node("a", paths), fault) == "a <> c"
    assert kind.begin(node("b", paths), fault) == "b <> c"
    assert drops(relay) == dict.fromkeys(("a>c", "c>a", "b>c", "c>b"), "both")
    kind.undo(node("a", paths), fault, "")
    kind.undo(node("b", paths), fault, "")
    assert drops(relay) == {}
    assert relay.links["a>c"]["delay_s"] == {"to_server": 0.005, "to_client": 0.005}


def test_a_one_way_cut_loses_what_a_node_sends_whoever_connected() -> None:
    relay, paths = network()
    fault = Fault(1.0, "partition", ("a",), "db", peers=("nodes", "clients"), one_way="out")
    assert FAULTS["partition"].begin(node("a", paths), fault) == "a > b, c, clients"
    assert drops(relay) == {
        "a>b": "to_server",
        "a>c": "to_server",
        "b>a": "to_client",
        "c>a": "to_client",
        "a": "to_client",
    }


def test_of_overlapping_faults_each_ends_its_own() -> None:
    relay, paths = network()
    slow = Fault(1.0, "link", ("a",), "db", peers=("b",), line=Line(delay_s=0.1, loss=0.5))
    cut = Fault(2.0, "partition", ("b",), "db", peers=("nodes",))
    FAULTS["link"].begin(node("a", paths), slow)
    FAULTS["partition"].begin(node("b", paths), cut)
    assert relay.links["a>b"]["delay_s"] == {"to_server": 0.1, "to_client": 0.1}
    assert relay.links["a>b"]["drop"] == "both"
    FAULTS["link"].undo(node("a", paths), slow, "")
    assert relay.links["b>a"]["delay_s"] == {"to_server": 0.005, "to_client": 0.005}
    assert relay.links["b>a"]["drop"] == "both"
    FAULTS["link"].undo(node("a", paths), slow, "")  # nothing is left of it
    FAULTS["partition"].undo(node("b", paths), cut, "")
    assert drops(relay) == {}
    assert relay.links["a>b"]["loss"] == {"to_server": 0.0, "to_client": 0.0}


def test_two_faults_that_are_equal_end_one_after_the_other() -> None:
    relay, paths = network()
    cut = Fault(1.0, "partition", ("a",), "db", 2.0, peers=("b",))
    for _ in range(2):
        FAULTS["partition"].begin(node("a", paths), cut)
    FAULTS["partition"].undo(node("a", paths), cut, "")
    assert drops(relay) == {"a>b": "both", "b>a": "both"}
    FAULTS["partition"].undo(node("a", paths), cut, "")
    assert drops(relay) == {}


def test_a_cut_that_nothing_is_left_for_is_an_error() -> None:
    _, paths = network()
    fault = Fault(1.0, "partition", ("a", "b", "c"), "db", peers=("nodes",))
    with pytest.raises(DynoError, match="no link of `a`"):
        FAULTS["partition"].begin(node("a", paths), fault)


def test_a_relay_that_refuses_a_cut_has_none_of_it() -> None:
    relay, paths = network()
    fault = Fault(1.0, "partition", ("a",), "db", peers=("nodes",))
    take = relay.change

    def refuse(name: str, link: Any) -> None:
        if name == "c>a" and link["drop"] != "none":
            raise DynoError("the relay refuses")
        take(name, link)

    relay.change = refuse  # type: ignore[method-assign]
    paths._change = refuse
    with pytest.raises(DynoError, match="the relay refuses"):
        FAULTS["partition"].begin(node("a", paths), fault)
    assert drops(relay) == {}


def test_conditions_on_top_of_others() -> None:
    base = Conditions(delay_s=0.1, bytes_per_s=1000)
    assert base.under(Conditions(delay_s=0.0)) == Conditions(delay_s=0.0, bytes_per_s=1000)
    assert base.under(Conditions(cut=True)).under(Conditions(loss=0.1)) == Conditions(
        delay_s=0.1, bytes_per_s=1000, loss=0.1, cut=True
    )


def test_a_nemesis_hands_its_links_to_what_it_draws() -> None:
    drawing = Fault(
        *(0.0, "nemesis", ("any",), "db", 100.0),
        peers=("clients",),
        one_way="in",
        line=Line(delay_s=0.1),
        every_s=1.0,
        hold_s=1.0,
        of=("partition", "kill"),
    )
    found = nemesis.drawn(drawing, 1, 0)
    assert {one.do for one in found} == {"partition", "kill"}
    for one in found:
        assert one.peers == (("clients",) if one.do == "partition" else ())
        assert one.one_way == ("in" if one.do == "partition" else "")
