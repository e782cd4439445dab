"""A failover next to a start of the same node, and what others hear of it. Nothing starts."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from test_topology_locks import elsewhere, until_done, watched

from dbdyno.experiment.types import DOWN, PRIMARY, REPLICA, Target, Topology
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.topology import Cluster, failover


@dataclass
class Process:
    """It runs."""

    def alive(self) -> bool:
        return True


@dataclass
class Server:
    """A server that says what it is."""

    role: str
    process: Process = field(default_factory=Process)


class Wiring:
    """Believes the servers."""

    succession = object()
    rejoins = False

    def role(self, server: Server) -> str:
        return server.role

    def seed_again(self, *what: Any) -> None:
        """By the succession."""


def three(role: str = PRIMARY) -> tuple[Any, dict[str, Any]]:
    servers: dict[str, Any] = {"db": Server(role), "db.2": Server(REPLICA), "db.3": Server(REPLICA)}
    target = Target("db", "mariadb", topology=Topology("replicas", 3))
    made: Any = Cluster(
        Wiring(),  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        target,
        Binaries(""),
        Resolved({}, (), ()),
        servers,
    )
    return made, servers


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of primaries that were replaced."""
    found: list[str] = []

    def take_over(succession: Any, members: Any, tell: Any, check: Any) -> None:
        found.append(members.leader.name)
        members.deposed.add(members.leader.name)
        members.leader_name = "db.2"

    monkeypatch.setattr(failover, "take_over", take_over)
    return found


def beside_a_start(cluster: Any) -> bool:
    """What a failover does that meets a start, which holds the node's lock until it is over."""
    waits, is_held, found = watched(cluster._locks), threading.Event(), list[bool]()

    def start() -> None:
        with cluster._locks.of("db", "a start"):
            is_held.set()
            assert waits.wait(120)

    starting = elsewhere(start)
    assert is_held.wait(120)
    until_done(elsewhere(lambda: found.append(cluster.take_over())))
    until_done(starting)
    return found[0]


def test_a_primary_whose_start_is_under_way_stays_the_primary(taken: list[str]) -> None:
    cluster, _ = three()
    assert not beside_a_start(cluster)
    assert (taken, cluster.leader) == ([], "db")


def test_one_that_does_not_answer_after_its_start_is_replaced(taken: list[str]) -> None:
    cluster, _ = three(DOWN)
    assert beside_a_start(cluster)
    assert (taken, cluster.leader) == (["db"], "db.2")
    assert cluster.strays == {"db.3"}


def test_a_primary_that_hangs_is_not_asked_again(taken: list[str]) -> None:
    cluster, _ = three()  # it would answer by now
    assert cluster.take_over()
    assert taken == ["db"]


def test_a_failover_does_not_wait_for_work_on_other_nodes_or_on_the_lost_one(
    taken: list[str],
) -> None:
    cluster, _ = three()
    found: list[bool] = []
    with cluster.work("db", "upgrade"), cluster._locks.of("db.3", "a start"):
        until_done(elsewhere(lambda: found.append(cluster.take_over())))
    assert (found, taken) == ([True], ["db"])


def test_all_replicas_have_their_turn_though_one_cannot_follow() -> None:
    cluster, _ = three()
    told: list[tuple[str, str, str]] = []
    cluster.tell = lambda *what: told.append(what)

    class Succession:
        def follow(self, members: Any, node: Any) -> str:
            if node.name == "db.2":
                raise TimeoutError("it died just now")
            return "follows db"

    cluster._wiring.succession = Succession()
    cluster.strays = {"db.2", "db.3"}
    with pytest.raises(TimeoutError, match="died just now"):
        cluster.regroup()
    assert cluster.strays == {"db.2"}
    assert told == [("db.3", "follows", "follows db")]


def test_who_asks_during_a_failover_hears_that_the_node_is_fenced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, _ = three()
    assert not cluster.is_fenced("db")
    found: list[bool] = []
    asking = threading.Thread(target=lambda: found.append(cluster.is_fenced("db")))

    def take_over(succession: Any, members: Any, tell: Any, check: Any) -> None:
        asking.start()
        asking.join(0.05)
        assert found == []
        members.deposed.add("db")

    monkeypatch.setattr(failover, "take_over", take_over)
    assert cluster.take_over()
    asking.join(120)
    assert found == [True]
