"""What a trial's watcher has sessions and replicas do besides a failover. Nothing starts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.failover.watcher import Watcher
from dbdyno.experiment.types import DOWN, MEMBER, REPLICA, Failover, Topology


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
        clocks={},
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


def test_without_a_quorum_nobody_is_chosen_and_sessions_stay() -> None:
    watcher, cluster, written, led = watching()
    other: Any = cluster
    other.watched, other.elects = False, True
    other.role = lambda name: DOWN  # non-Primary: no node takes writes
    other.accept = lambda name: pytest.fail("none takes writes")
    watcher._answered, watcher._failed = 0.0, 9
    for _ in range(3):
        watcher._look()
    assert (written, led, cluster.leader) == ([], [], "db")
    other.role = lambda name: MEMBER if name == "db.2" else DOWN  # it is regained
    other.accept = lambda name: setattr(cluster, "leader", name)
    watcher._look()
    assert [what[:2] for what in written] == [
        ("db", "silent"),
        ("db.2", "chosen"),
        ("db.2", "address"),
    ]
    assert led == [{"db"}]


def logs(
    watcher: Any, cluster: Any, unix_s: float, clock: Any
) -> list[tuple[float, str, str, str]]:
    """What is written down of a failover whose new primary has logged this time."""
    lines: list[tuple[float, str, str, str]] = []
    watcher._log = SimpleNamespace(append=lambda *line: lines.append(line))
    watcher._zero_unix_s, watcher._now = 1000.0, lambda: 1009.0
    watcher._threads = [SimpleNamespace(join=lambda: None)]
    watcher._clocks = {"db.2": clock} if clock else {}
    cluster.leader, cluster.takes_writes_since = "db.2", lambda: unix_s
    watcher.close()
    return lines


def test_the_log_of_a_new_primary_is_read_by_the_clock_of_the_trial() -> None:
    watcher, cluster, _, _ = watching()
    assert logs(watcher, cluster, 1003.5, None) == [
        (3.5, "db.2", "logged", "takes writes, by its log")
    ]
    right: Any = SimpleNamespace(unskewed=lambda unix_s, since_s, until_s: unix_s)
    assert logs(watcher, cluster, 1003.5, right)[0][3] == "takes writes, by its log"

    def an_hour_less(unix_s: float, since_s: float, until_s: float) -> float:
        assert (since_s, until_s) == (1000.0, 1009.0), "within the trial"
        return unix_s - 3600

    ahead: Any = SimpleNamespace(unskewed=an_hour_less)
    assert logs(watcher, cluster, 4603.5, ahead) == [
        (3.5, "db.2", "logged", "takes writes, by its log, whose clock was +3600 s off")
    ]
    back: Any = SimpleNamespace(unskewed=lambda unix_s, since_s, until_s: None)
    [(t_s, node, change, said)] = logs(watcher, cluster, 1003.5, back)
    assert (t_s, node, change) == (9.0, "db.2", "undated")
    assert "not known when: its clock was off" in said
