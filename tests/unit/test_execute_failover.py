"""Where the addresses of a deployment lead, by what its nodes are. Nothing starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dbdyno import systems
from dbdyno.execute.servers.audits.nodes import writers
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import (
    DOWN,
    INSTANCE,
    MEMBER,
    PRIMARY,
    REPLICA,
    Failover,
    Network,
    Target,
    Topology,
)
from dbdyno.systems.base import Resolved


class Links:
    """Where listeners lead, by name."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}

    def set(self, target: str, network: Network | None, ports: dict[str, int]) -> None:
        for name, port in ports.items():
            if network is None:
                self.at.pop(name, None)
            else:
                self.at[name] = port

    def ports(self, names: tuple[str, ...]) -> dict[str, int]:
        return {name: 9000 + self.at[name] for name in names if name in self.at}

    def measured(self, names: tuple[str, ...]) -> None:
        return None

    def lead(self, name: str, port: int) -> None:
        self.at[name] = port


class Cluster:
    """Names and a leader."""

    def __init__(self, nodes: int) -> None:
        self.names = ("db", *(f"db.{n}" for n in range(2, nodes + 1)))
        self.leader = "db"


def cell(*accesses: str) -> Any:
    """A cell whose groups use the target in these ways, without faults."""
    groups = [SimpleNamespace(target="db", access=access) for access in accesses]
    return SimpleNamespace(groups=groups, faults=())


class Server:
    def __init__(self, port: int) -> None:
        self.port = port


def deployed(nodes: int, *, follows: bool = True) -> tuple[Any, Any]:
    form = Topology("replicas", nodes, 0, Failover(1.0) if follows else None)
    target = Target("db", "mariadb", topology=form)
    found: Any = Deployment(target, systems.load("null"), None, Resolved({}, (), ()))  # type: ignore[arg-type]
    found.cluster = Cluster(nodes)
    found.servers |= {name: Server(port) for port, name in enumerate(found.cluster.names, 1)}
    return found, Links()


def test_without_failover_nothing_has_an_address() -> None:
    found, links = deployed(3, follows=False)
    found.connect(links, cell("primary", "replicas"))
    assert links.at == found.addresses == {}
    assert found.reached_by("primary") == ("db",)
    assert found.reached_by("replicas") == ("db.2", "db.3")


def test_sessions_of_the_primary_follow_it() -> None:
    found, links = deployed(3)
    found.connect(links, cell("write"))
    assert (links.at, found.reached_by("write")) == ({"db.primary": 1}, ("db.primary",))
    assert not found.leads_to_replicas
    found.cluster.leader = "db.3"
    found.lead(links, {"db"})
    assert links.at == {"db.primary": 3}
    assert found.reached_by("db.2") == ("db.2",)  # by name: nothing follows


def test_sessions_that_read_leave_a_dead_and_a_promoted_replica() -> None:
    found, links = deployed(3)
    found.connect(links, cell("replicas"))
    assert found.reached_by("replicas") == ("db.replica1", "db.replica2")
    assert links.at == {"db.replica1": 2, "db.replica2": 3}
    assert found.leads_to_replicas
    found.lead(links, {"db.2"})
    assert links.at == {"db.replica1": 3, "db.replica2": 3}
    found.cluster.leader = "db.2"
    found.lead(links, {"db"})
    assert links.at == {"db.replica1": 3, "db.replica2": 3}
    found.lead(links)  # the old primary is back
    assert links.at == {"db.replica1": 1, "db.replica2": 3}
    found.lead(links, {"db", "db.3"})  # no replica is left: each to its own node
    assert links.at == {"db.replica1": 2, "db.replica2": 3}


def test_of_two_nodes_the_new_primary_serves_sessions_that_read() -> None:
    found, links = deployed(2)
    found.connect(links, cell("replicas"))
    found.cluster.leader = "db.2"
    found.lead(links, {"db"})
    assert links.at == {"db.replica1": 2}
    found.lead(links)  # the old primary is back
    assert links.at == {"db.replica1": 1}


def test_another_cell_may_need_no_address() -> None:
    found, links = deployed(2)
    found.connect(links, cell("primary", "replicas"))
    assert set(links.at) == {"db.primary", "db.replica1"}
    found.connect(links, cell("any"))
    assert links.at == found.addresses == {}


def test_commits_are_looked_for_where_clients_would() -> None:
    assert writers({"db": REPLICA, "db.2": PRIMARY, "db.3": DOWN}) == {"db.2"}
    assert writers({"db": MEMBER, "db.2": MEMBER, "db.3": DOWN}) == {"db", "db.2"}
    assert writers({"db": INSTANCE, "db.2": INSTANCE}) == {"db", "db.2"}
    assert writers({"db": DOWN, "db.2": REPLICA}) == {"db"}  # nobody can tell
