"""Who takes over from a lost primary, in which order, and what may be written. Nothing starts."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.types import Failover, Node, Target, Topology
from dbdyno.store.metrics import outages
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.topology import WIRINGS, failover
from dbdyno.topology.base import Members, Position
from dbdyno.topology.replicas import mariadb, mysql
from dbdyno.wording.within_trial import survival_text
from dbdyno.wording.within_trial.survival_text import Outcome

# ---- what is written

FILE = """\
experiment: away
question: Who takes over?
targets:
  db: {target}
workload: {{kind: oltp, rows: 1000}}
"""


def loaded(target: str) -> Topology:
    found = load(FILE.format(target=target)).cells[0].targets[0].topology
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("target", "after_s"),
    [
        ("{kind: mariadb, topology: {kind: replicas, nodes: 2, failover: {}}}", 1.0),
        ("{kind: postgres, topology: {kind: replicas, failover: {after: 300ms}}}", 0.3),
        ("{kind: mariadb, topology: {kind: galera, failover: {after: 2s}}}", 2.0),
        ("{kind: mysql, topology: {kind: group, failover: {}}}", None),
    ],
)
def test_a_failover_begins_after_a_time_unless_the_nodes_elect(
    target: str, after_s: float | None
) -> None:
    assert loaded(target).failover == Failover(after_s)


@pytest.mark.parametrize(
    ("target", "what", "place"),
    [
        (
            "{kind: mariadb, topology: {kind: replicas, nodes: 1, failover: {}}}",
            "no failover is possible with `nodes: 1`",
            "failover:",
        ),
        (
            "{kind: mariadb, topology: {kind: galera, nodes: 2, failover: {}}}",
            "no failover is possible with `nodes: 2`",
            "failover:",
        ),
        (
            "{kind: mysql, topology: {kind: group, failover: {after: 1s}}}",
            "`failover.after` means nothing to `group`",
            "1s}",
        ),
        (
            "{kind: mariadb, topology: {kind: replicas, failover: {after: 50ms}}}",
            "`failover.after` is 0.05 s, and at least 0.2 s are needed",
            "50ms}",
        ),
        (
            "{kind: mariadb, transport: socket, topology: {kind: replicas, failover: {}}}",
            "sessions cannot follow a primary by `transport: socket`",
            "failover:",
        ),
        (
            "{kind: postgres, topology:"
            " {kind: replicas, nodes: 2, wait_for_replicas: 1, failover: {}}}",
            "after a failover commits would wait for 1 of 0 replicas for ever",
            "failover:",
        ),
    ],
)
def test_a_failover_that_cannot_be_is_refused_at_its_place(
    target: str, what: str, place: str
) -> None:
    with pytest.raises(DynoError) as found:
        loaded(target)
    assert what in found.value.what
    assert found.value.where is not None
    line = FILE.format(target=target).splitlines()[found.value.where.line - 1]
    assert line[found.value.where.column - 1 :].startswith(place)


def test_members_have_a_primary_for_faults_where_sessions_follow_one() -> None:
    text = FILE + "faults: [{{at: 1s, do: kill, node: primary}}]\n"
    with pytest.raises(DynoError, match="is the primary"):
        load(text.format(target="{kind: mariadb, topology: {kind: galera}}"))
    load(text.format(target="{kind: mariadb, topology: {kind: galera, failover: {}}}"))


# ---- who takes over


def at(received: int, *, applied: bool = True) -> Position:
    return Position(received, applied, str(received))


def test_the_replica_that_received_most_takes_over_whatever_it_has_applied() -> None:
    found = {"db.2": at(7), "db.3": at(9, applied=False), "db.4": at(9)}
    assert failover.candidate(found) == "db.3"
    assert failover.candidate({}) is None


def test_only_topologies_without_an_election_have_a_succession() -> None:
    decided = {(one.kind, one.topology) for one in WIRINGS if one.succession is not None}
    assert all(one.succession is None for one in WIRINGS if one.logical)  # nobody takes over
    assert decided == {(kind, "replicas") for kind in ("mariadb", "mysql", "postgres")}


@dataclass
class Server:
    """A server that has a position, or hangs."""

    name: str
    did: list[str]
    received: int | None = 0
    running: bool = True

    @property
    def process(self) -> Server:
        return self

    def alive(self) -> bool:
        return self.running

    def kill(self) -> None:
        self.running = False
        self.did.append(f"killed {self.name}")

    def close_connection(self) -> None:
        pass


@dataclass
class Succession:
    """Writes down what it is asked to do."""

    did: list[str]
    asked: dict[str, int] = field(default_factory=dict)

    def position(self, server: Server) -> Position:
        if server.received is None:
            raise TimeoutError
        times = self.asked[server.name] = self.asked.get(server.name, 0) + 1
        return at(server.received, applied=times > 2)  # it takes its time

    def prepare(self, members: Members, node: Node) -> None:
        self.did.append(f"prepared {node.name}")

    def promote(self, members: Members, node: Node) -> None:
        self.did.append(f"promoted {node.name}")

    def follow(self, members: Members, node: Node) -> str:
        raise AssertionError

    def prepare_return(self, members: Members, node: Node, directory: Path) -> None:
        raise AssertionError

    def return_sql(self) -> tuple[str, ...]:
        raise AssertionError


def taken_over(*received: int | None) -> tuple[list[str], Members, list[tuple[str, str, str]]]:
    did: list[str] = []
    told: list[tuple[str, str, str]] = []
    target = Target("db", "mariadb", topology=Topology("replicas", len(received) + 1))
    members = Members(target, Binaries(""), Resolved({}, (), ()), {})
    every: dict[str, Any] = {"db": Server("db", did)}
    every |= {f"db.{n}": Server(f"db.{n}", did, one) for n, one in enumerate(received, 2)}
    members.servers |= every
    failover.take_over(Succession(did), members, lambda *what: told.append(what))
    return did, members, told


def test_the_old_primary_is_killed_before_another_is_promoted() -> None:
    did, members, told = taken_over(3, 5, None)
    assert did == ["killed db", "prepared db.3", "promoted db.3"]
    assert (members.leader.name, members.deposed) == ("db.3", {"db"})
    assert [node.name for node in members.followers] == ["db", "db.2", "db.4"]
    assert told == [
        ("db", "fenced", ""),
        ("db.3", "candidate", "it received 5, and applies what is left of it"),
        ("db.3", "promoted", "it had 5; db.2 3"),
    ]


def test_a_replica_that_hangs_is_not_waited_for_while_another_answers() -> None:
    is_over = threading.Event()

    class Hanging(Succession):
        def position(self, server: Server) -> Position:
            if server.name == "db.2":
                assert is_over.wait(60)
                raise TimeoutError
            return super().position(server)

    target = Target("db", "mariadb", topology=Topology("replicas", 3))
    members = Members(target, Binaries(""), Resolved({}, (), ()), {})
    every: dict[str, Any] = {name: Server(name, [], 1) for name in ("db", "db.2", "db.3")}
    members.servers |= every
    try:
        assert failover.any_answers(Hanging([]), members)
    finally:
        is_over.set()
    every["db.3"].running = False
    assert not failover.any_answers(Hanging([]), members)
    members.deposed |= {"db.2", "db.3"}
    assert not failover.any_answers(Hanging([]), members)


def test_a_primary_that_nobody_could_replace_is_left_alone() -> None:
    did: list[str] = []
    target = Target("db", "mariadb", topology=Topology("replicas", 2))
    members = Members(target, Binaries(""), Resolved({}, (), ()), {})
    servers: dict[str, Any] = {"db": Server("db", did), "db.2": Server("db.2", did, 1, False)}
    members.servers |= servers
    with pytest.raises(DynoError, match="no node can take over from db"):
        failover.take_over(Succession(did), members, lambda *what: None)
    assert did == []


@pytest.mark.parametrize(
    ("gtids", "count"),
    [
        ("", 0),
        ("3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5", 5),
        (
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7:9-10,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:1",
            9,
        ),
        ("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-3:tag:1-2", 5),
    ],
)
def test_transactions_of_a_set_of_gtids_are_counted(gtids: str, count: int) -> None:
    assert mysql.transactions(gtids) == count


def test_a_position_of_mariadb_is_the_number_of_each_domain() -> None:
    assert [mariadb._number(one) for one in ("", "0-1-270", "0-3-5,1-1-2")] == [0, 270, 7]


# ---- what is measured


def test_metrics_of_a_failover_count_from_the_fault() -> None:
    commits = np.array([10.0] * 20 + [0.0] * 10 + [10.0] * 10)
    roles = [
        # Before any fault: nothing is measured from it.
        {"t_s": 1.0, "node": "db.3", "change": "promoted"},
        {"t_s": 2.8, "node": "db", "change": "fenced"},
        {"t_s": 2.9, "node": "db.2", "change": "promoted"},
    ]
    found = outages._promotion(roles, [(2.0, "db")]).metrics
    assert found == {"promotion_s": pytest.approx(0.9)}
    assert outages._promotion([], [(2.0, "db")]).metrics == {}
    ends_s = np.arange(1, 41) * 0.1
    assert outages._before(commits, ends_s, 2.0).metrics["transactions_per_s_before"] == (
        pytest.approx(100.0)
    )
    assert outages._before(commits, ends_s, 0.5).metrics == {}


def test_a_promotion_counts_from_the_fault_of_the_node_that_was_lost() -> None:
    roles = [
        {"t_s": 3.0, "node": "db", "change": "silent"},
        {"t_s": 3.1, "node": "db", "change": "fenced"},
        {"t_s": 3.5, "node": "db.2", "change": "promoted"},
    ]
    begun = [(1.0, "db"), (2.0, "db"), (3.2, "db.3")]  # the last one is another's
    assert outages._promotion(roles, begun).metrics == {"promotion_s": pytest.approx(1.5)}
    assert outages._promotion(roles[1:], begun).metrics == {"promotion_s": pytest.approx(1.5)}
    elsewhere = [(3.2, "db.3"), (3.6, "db")]
    assert outages._promotion(roles, elsewhere).metrics == {"promotion_s": pytest.approx(0.3)}


# ---- what is said


def outcome(where: str, lost: tuple[int | None, ...], outage: float, tps: float) -> Outcome:
    return Outcome(where, lost, 100, (outage,) * len(lost), 0, (tps,) * len(lost))


def test_the_answer_names_what_kept_all_what_it_costs_and_what_lost() -> None:
    kept, slow = outcome("group", (0,) * 6, 9.0, 500.0), outcome("sync", (0,) * 6, 2.0, 300.0)
    loser, unread = outcome("async", (0, 3, 4), 2.0, 900.0), outcome("gone", (0, None), 2.0, 1.0)
    text = " ".join(survival_text.summary([kept, slow, loser, unread]))
    assert "No acknowledged transaction was lost at group and sync." in text
    assert "up to 39%" in text.replace("39 %", "39%")
    assert "fastest" not in text  # that is for claims to judge
    assert survival_text.MEDIANS in text
    assert "lost: 7 (in 2 of 3 trials) at async" in text
    assert "not known what was lost at gone" in text
    ordered = sorted([unread, loser, slow, kept], key=Outcome.order)
    assert [one.where for one in ordered] == ["group", "sync", "async", "gone"]


def test_where_nothing_was_acknowledged_nothing_was_kept() -> None:
    idle = Outcome("idle", (0, 0), 0, (2.0,), 0, (9.0,))
    loser = outcome("async", (5,), 2.0, 9.0)
    assert not idle.keeps
    assert survival_text.summary([idle]) == (
        "Nothing was acknowledged, and so nothing could be lost, at idle.",
    )
    assert sorted([idle, loser], key=Outcome.order) == [loser, idle]


def test_losses_beside_trials_that_could_not_be_read_are_a_lower_bound() -> None:
    assert survival_text.lost(outcome("async", (5, None, 0), 2.0, 9.0)) == (
        "at least 5 (in 1 of 3 trials; 1 not known)"
    )


def test_of_many_set_ups_the_first_are_named() -> None:
    many = [outcome(f"s{n}", (0,) * 3, 1.0, 9.0) for n in range(6)]
    assert "lost at s0, s1, s2, s3 and 2 more." in survival_text.summary(many)[0]
    losers = [outcome(f"s{n}", (1,), 1.0, 9.0) for n in range(6)]
    said, _ = survival_text.summary(losers)
    assert said.endswith("1 (in 1 of 1 trials) at s3 and some at 2 more.")
    cut = Outcome("a", (0,), 1, (3.0, 9.0), 1, ())
    assert survival_text.outage(cut) == "at least 6.00 s (worst 9.00)"
