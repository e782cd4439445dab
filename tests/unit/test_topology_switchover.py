"""A switchover while other threads work on nodes of its topology: it waits for them, and they never
for it. Threads and events; nothing starts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from test_topology_locks import elsewhere, until_done, watched
from test_topology_take_over import Server, three

from dbdyno.errors import DynoError
from dbdyno.experiment.types import PRIMARY, REPLICA
from dbdyno.faults.drills.base import Step, Steps
from dbdyno.topology import planned
from dbdyno.topology.base import Position

CHANGE = ["check", "close", "catch_up", "promote", "lead", "follow", "retire"]
WAITED = ["check", "wait", *CHANGE[1:]]


@dataclass
class Replica(Server):
    """A server that also says how far behind it is."""

    lag: float = 0.0

    def lag_s(self) -> float:
        return self.lag


@dataclass
class Succession:
    """Writes down what is done to which node."""

    did: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None  # while nobody can write
    caught_up: Callable[[Any], None] = lambda members: None

    def position(self, server: Any) -> Position:
        return Position(1, True, "here")

    def close(self, members: Any) -> Callable[[], None]:
        self.did.append("close")
        self.meanwhile()
        return lambda: self.did.append("reopen")

    def follow(self, members: Any, node: Any) -> str:
        self.did.append(f"follow {node.name}")
        return f"follows {members.leader.name}"

    def retire(self, members: Any, node: Any) -> str:
        self.did.append(f"retire {node.name}")
        return f"follows {members.leader.name}"

    def catch_up(self, members: Any, node: Any) -> None:
        self.caught_up(members)
        self.did.append(f"catch_up {node.name}")

    def __getattr__(self, name: str) -> Any:
        return lambda members, node: self.did.append(f"{name} {node.name}")


@pytest.fixture
def cluster() -> tuple[Any, Succession]:
    """Three nodes that are well."""
    made, servers = three()
    made._wiring.succession = succession = Succession()
    servers |= {name: Replica(REPLICA) for name in ("db.2", "db.3")} | {"db": Replica(PRIMARY)}
    return made, succession


class Change:
    """A switchover in a thread of its own."""

    def __init__(self, cluster: Any) -> None:
        self.waits, self.said = threading.Event(), list[str]()
        self.error: DynoError | None = None
        self.steps = Steps(heard=self._hear)
        self._cluster = cluster
        self._thread = elsewhere(self._run)

    def _hear(self, step: Step) -> None:
        if step.name == "wait" and step.ended_s is None:
            self.waits.set()

    def _run(self) -> None:
        try:
            self.said.append(self._cluster.switch_over(self.steps, lambda: None))
        except DynoError as error:
            self.error = error

    def over(self) -> list[str]:
        """The names of its steps."""
        until_done(self._thread)
        return [step.name for step in self.steps.done]


def test_without_other_work_it_does_not_wait(cluster: tuple[Any, Succession]) -> None:
    made, succession = cluster
    change = Change(made)
    assert change.over() == CHANGE
    assert change.said == ["db.2 leads; db follows db.2"]
    assert succession.did == [
        *("close", "drain db.2", "prepare db.2", "promote db.2"),
        *("follow db.3", "retire db"),
    ]
    assert (made.leader, made.strays) == ("db.2", set())


def test_it_waits_for_a_replacement_which_ends_under_the_old_primary(
    cluster: tuple[Any, Succession], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, succession = cluster
    seeding, waits, leaders = threading.Event(), threading.Event(), list[str]()

    def seed_again(*what: Any) -> str:
        seeding.set()
        assert waits.wait(120)
        return "follows db"

    def replace() -> None:
        with made.work("db.3", "replace"):
            made.seed_again("db.3", Steps(), lambda: None, "shop")

    monkeypatch.setattr(planned, "seed_again", seed_again)
    succession.caught_up = lambda members: leaders.append(members.leader.name)
    replacing = elsewhere(replace)
    assert seeding.wait(120)
    change = Change(made)
    assert change.waits.wait(120)
    waits.set()
    until_done(replacing)
    assert change.over() == WAITED
    assert leaders == ["db"]
    assert succession.did[:2] == ["catch_up db.3", "close"]
    assert change.said == ["db.2 leads; db follows db.2; it waited for replace of db.3"]


def test_a_node_that_is_down_can_be_started_while_it_waits(
    cluster: tuple[Any, Succession],
) -> None:
    made, _ = cluster
    server = made._members.servers["db.3"]
    is_alive = [False]
    server.process = SimpleNamespace(alive=lambda: is_alive[0])
    change = Change(made)
    assert change.waits.wait(120)
    with made._locks.of("db.3", "a start"):
        is_alive[0] = True
    assert change.over() == WAITED
    assert made.leader == "db.2"


def test_it_says_after_its_time_limit_which_node_is_not_well(
    cluster: tuple[Any, Succession], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, succession = cluster
    monkeypatch.setattr(planned, "READY_S", 0.0)
    made._members.servers["db.3"].process = SimpleNamespace(alive=lambda: False)
    change = Change(made)
    assert change.over() == ["check", "wait"]
    assert change.error is not None and "db.3 does not answer" in change.error.what
    assert succession.did == []
    until_done(elsewhere(lambda: made._locks.take("db", "a start")))


def test_its_time_limit_counts_only_while_nobody_works(
    cluster: tuple[Any, Succession], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = cluster
    monkeypatch.setattr(planned, "READY_S", 0.0)
    with made.work("db.3", "upgrade"):
        change = Change(made)
        assert change.waits.wait(120)
    assert change.over() == WAITED
    assert change.error is None


def test_who_would_work_on_a_node_meanwhile_finds_the_new_primary(
    cluster: tuple[Any, Succession],
) -> None:
    made, succession = cluster
    waits, found, threads = watched(made._locks), list[str](), list[threading.Thread]()

    def work() -> None:
        with made.work("db.3", "upgrade"):
            found.append(made.leader)

    def meanwhile() -> None:
        threads.append(elsewhere(work))
        assert waits.wait(120)

    succession.meanwhile = meanwhile
    assert Change(made).over() == CHANGE
    until_done(threads[0])
    assert found == ["db.2"]


def test_a_user_who_stops_ends_the_wait(cluster: tuple[Any, Succession]) -> None:
    made, succession = cluster

    def stop() -> None:
        raise DynoError("stopped")

    made._check = stop
    with made.work("db.3", "upgrade"):
        change = Change(made)
        assert change.over() == ["check", "wait"]
    assert change.error is not None and change.error.what == "stopped"
    assert succession.did == []


def test_replicas_that_others_work_on_are_led_to_a_new_primary_later(
    cluster: tuple[Any, Succession],
) -> None:
    made, succession = cluster
    made.strays = {"db.2", "db.3"}
    with made._locks.of("db.3", "a start"):
        until_done(elsewhere(made.regroup))
    assert (made.strays, succession.did) == ({"db.3"}, ["follow db.2"])
    made.regroup()
    assert made.strays == set()


def test_a_replica_that_takes_over_while_it_is_detached_stays_with_the_others(
    cluster: tuple[Any, Succession],
) -> None:
    made, succession = cluster
    succession.caught_up = lambda members: made.accept("db.2")  # a failover has come
    steps = Steps()
    with pytest.raises(DynoError, match=r"db\.2 is no replica that could be detached"):
        made.detach("db.2", steps, "shop")
    assert [step.name for step in steps.done] == ["check", "catch_up", "detach"]
    assert (made.leader, made._members.detached) == ("db.2", set())
    until_done(elsewhere(lambda: made._locks.take("db.2", "a start")))
