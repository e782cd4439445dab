"""Quorums that are lost and regained: what nodes say, what a trial notes, what a report tells."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dbdyno.execute.failover.quorums import QuorumObserver
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.metrics import outages
from dbdyno.store.metrics.timeseries import Trace
from dbdyno.store.rolelog import QUORUM_LOST, QUORUM_REGAINED
from dbdyno.topology import galera, group
from dbdyno.topology.base import Quorum
from dbdyno.wording.within_trial import faults_text

HAS, LACKS = Quorum(True, "Primary"), Quorum(False, "non-Primary")
Line = tuple[float, str, str, str]


class Cluster:
    """Two nodes, whose processes have these ids."""

    names = ("db", "db.2")

    def __init__(self) -> None:
        self.pids: dict[str, int | None] = {"db": 1, "db.2": 2}

    def pid(self, name: str) -> int | None:
        return self.pids[name]


def observing() -> tuple[QuorumObserver, list[Line]]:
    """An observer whose clock is at 3 s of the trial, and what it writes down."""
    lines: list[Line] = []
    log: Any = SimpleNamespace(append=lambda *line: lines.append(line))
    deployment: Any = SimpleNamespace(cluster=Cluster())
    observer = QuorumObserver(deployment, log, lambda: 103.0)
    observer._zero_unix_s = 100.0
    return observer, lines


# ---- what nodes say


@pytest.mark.parametrize(
    ("status", "has"), [("Primary", True), ("non-Primary", False), ("Disconnected", None)]
)
def test_a_node_of_galera_says_whether_its_component_is_primary(
    status: str, has: bool | None
) -> None:
    server = SimpleNamespace(look=lambda sql, timeout_s: [("wsrep_cluster_status", status)])
    found = galera.WIRING.quorum(server)
    assert (found and found.has) == has
    assert found is None or found.said == f"wsrep_cluster_status is {status}"


@pytest.mark.parametrize(
    ("states", "has"),
    [
        (["ONLINE", "ONLINE", "ONLINE"], True),
        (["ONLINE", "ONLINE", "UNREACHABLE"], True),
        (["ONLINE", "UNREACHABLE", "UNREACHABLE"], False),
        (["ONLINE", "UNREACHABLE"], False),
        (["ONLINE", "ONLINE", "RECOVERING"], True),
        (["ERROR", "UNREACHABLE"], None),
        (["RECOVERING", "ONLINE"], None),
        ([], None),
    ],
)
def test_a_member_of_a_group_counts_whom_it_reaches(states: list[str], has: bool | None) -> None:
    rows = [(number == 0, state) for number, state in enumerate(states)]
    server = SimpleNamespace(look=lambda sql, timeout_s: rows)
    found = group.WIRING.quorum(server)
    assert (None if found is None else found.has) == has


# ---- what is noted


def test_a_loss_and_its_end_are_noted_once() -> None:
    observer, lines = observing()
    for said in (HAS, LACKS, LACKS, None, LACKS, HAS, HAS):
        observer.see("db", 1, said)
    assert lines == [
        (3.0, "db", QUORUM_LOST, "non-Primary"),
        (3.0, "db", QUORUM_REGAINED, "Primary"),
    ]


def test_a_node_that_joins_again_has_lost_nothing() -> None:
    observer, lines = observing()
    for pid, said in ((2, HAS), (2, None), (3, LACKS), (3, HAS), (3, LACKS)):
        observer.see("db.2", pid, said)
    assert [line[2] for line in lines] == [QUORUM_LOST]


def test_a_node_that_was_started_again_may_end_a_loss() -> None:
    observer, lines = observing()
    for pid, said in ((1, LACKS), (5, None), (5, LACKS), (5, HAS)):
        observer.see("db", pid, said)
    assert [line[2] for line in lines] == [QUORUM_LOST, QUORUM_REGAINED]


def test_each_node_is_asked_until_the_load_has_ended() -> None:
    observer, lines = observing()
    cluster: Any = observer._cluster
    cluster.quorum = lambda name: LACKS if name == "db.2" else HAS
    observer.start(100.0)
    while not lines:
        time.sleep(0.01)
    observer.settle()
    observer.close()
    assert lines == [(3.0, "db.2", QUORUM_LOST, "non-Primary")]
    assert not any(thread.is_alive() for thread in observer._threads)


# ---- what is reported


def changes(*told: tuple[float, str, str]) -> list[dict[str, Any]]:
    return [{"t_s": t_s, "node": node, "change": change, "said": ""} for t_s, node, change in told]


def test_the_longest_loss_of_a_node_is_a_metric() -> None:
    found = outages._quorum_lost(
        changes(
            (1.0, "db", QUORUM_LOST),
            (1.5, "db.2", QUORUM_LOST),
            (3.0, "db", QUORUM_REGAINED),
            (5.0, "db.2", QUORUM_REGAINED),
            (6.0, "db", "promoted"),
        ),
        10.0,
    )
    assert found == ({"quorum_lost_s": 3.5}, {})
    assert outages._quorum_lost(changes((6.0, "db", "promoted")), 10.0) == ({}, {})


def test_a_loss_that_lasts_until_the_end_is_a_lower_bound() -> None:
    found = outages._quorum_lost(changes((4.0, "db", QUORUM_LOST)), 10.0)
    assert found == ({"quorum_lost_s": 6.0}, {"quorum_lost_s": AT_LEAST})


def test_a_metric_of_a_group_is_that_of_its_trial_with_faults() -> None:
    ends_s = np.arange(1, 31) / 10
    trace = Trace("t", 3.0, ends_s, {"g": np.full(30, 5.0)})
    roles = changes((1.0, "db", QUORUM_LOST), (2.0, "db", QUORUM_REGAINED))
    fault = {"do": "pause", "node": "db.2", "begun_s": 0.5}
    assert outages.of_group(trace, "g", [fault], roles).metrics["quorum_lost_s"] == 1.0
    assert "quorum_lost_s" not in outages.of_group(trace, "g", (), roles).metrics


def test_a_report_says_how_long_it_was() -> None:
    assert faults_text.effect("quorum_lost_s", [3.5], 1, 0) == (
        "A node was without a quorum for 3.50 s."
    )
    assert faults_text.effect("quorum_lost_s", [3.5], 2, 1) == (
        "A node was without a quorum for at least 3.50 s; none was in 1 trial."
    )
    assert faults_text.effect("quorum_lost_s", [], 2, 0) == ""
    assert {QUORUM_LOST, QUORUM_REGAINED} <= set(faults_text.MARKED)
