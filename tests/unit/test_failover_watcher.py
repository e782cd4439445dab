"""What a trial's watcher has sessions and replicas do besides a failover. Nothing starts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.failover.watcher import Watcher
from dbdyno.experiment.types import DOWN, REPLICA, Failover, Topology


class Cluster:
    """Three nodes, the third of which is down."""

    def __init__(self) -> None:
        self.names = ("db", "db.2", "db.3")
        self.leader = "db"
        self.strays: set[str] = set()
        self.regroup: Callable[[], None] = self.strays.clear
        self.role: Callable[[str], str] = lambda name: DOWN if name == "db.3" else REPLICA


def watching() -> tuple[Any, Cluster, list[tuple[str, str, str]], list[Collection[str]]]:
    """A watcher, its cluster, what it wrote down, and to whom addresses do not lead."""
    cluster = Cluster()
    written: list[tuple[str, str, str]] = []
    led: list[Collection[str]] = []
    deployment: Any = SimpleNamespace(
        target=SimpleNamespace(topology=Topology("replicas", 3, 0, Failover(1.0))),
        cluster=cluster,
        leads_to_replicas=True,
    )
    log: Any = SimpleNamespace(append=lambda t_s, *what: written.append(what))
    return Watcher(deployment, led.append, log), cluster, written, led


def once(watcher: Any) -> None:
    """One turn of the thread that asks replicas."""
    turns = iter([False, True])
    watcher._over = SimpleNamespace(wait=lambda seconds: next(turns))
    watcher._read()


def test_sessions_that_read_leave_a_node_that_is_down() -> None:
    watcher, _, written, led = watching()
    once(watcher)
    assert (written, led) == ([("db.3", "left", "by sessions that read")], [{"db.3"}])
    once(watcher)
    assert led == [{"db.3"}]


def test_what_was_asked_under_another_primary_is_not_acted_on() -> None:
    watcher, cluster, written, led = watching()

    def role(name: str) -> str:
        cluster.leader = "db.2"  # meanwhile
        return DOWN

    cluster.role = role
    once(watcher)
    assert written == led == []


def test_replicas_that_answer_after_the_faults_follow_the_new_primary() -> None:
    watcher, cluster, written, _ = watching()
    cluster.strays.add("db.3")
    watcher.settle()
    assert (cluster.strays, written) == (set(), [])
    cluster.regroup = lambda: pytest.fail("there is none")
    watcher.settle()


@pytest.mark.parametrize(
    ("error", "said"),
    [(DynoError("it refuses"), "it refuses"), (TimeoutError(), "TimeoutError")],
)
def test_why_a_replica_does_not_follow_is_written_down(error: Exception, said: str) -> None:
    watcher, cluster, written, _ = watching()
    cluster.strays.add("db.3")

    def regroup() -> None:
        raise error

    cluster.regroup = regroup
    watcher.settle()
    assert written == [("db", "failed", said)]
