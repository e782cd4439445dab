"""Counters that only all nodes of a topology together can tell."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment.claims.metrics import Scope, canonical
from dbdyno.experiment.types import Topology
from dbdyno.store.metrics import outages
from dbdyno.store.metrics.of_nodes import summed
from dbdyno.systems.base import TargetPlan

FAILURES = "status.wsrep_local_cert_failures"
CLUSTER = TargetPlan("db", "mariadb", topology=Topology("galera", 2))


def test_the_nodes_of_a_topology_are_added_up() -> None:
    metrics = {f"node1.{FAILURES}": 1.5, f"node2.{FAILURES}": 2.0, FAILURES: 1.5}
    assert summed(metrics, [CLUSTER]) == {f"nodes.{FAILURES}": 3.5}
    prefixed = {f"db.{name}": value for name, value in metrics.items()}
    alone = TargetPlan("other", "mariadb")
    assert summed(prefixed, [CLUSTER, alone]) == {f"db.nodes.{FAILURES}": 3.5}


def test_a_sum_that_lacks_a_node_is_not_known() -> None:
    assert summed({f"node1.{FAILURES}": 1.5}, [CLUSTER]) == {}
    assert summed({f"node1.{FAILURES}": 1.5}, [TargetPlan("db", "mariadb")]) == {}


def test_a_claim_may_ask_for_a_sum_and_for_no_other_one() -> None:
    scope = Scope(("app",), ("db",))
    assert canonical(f"nodes.{FAILURES}", scope) == f"nodes.{FAILURES}"
    two = Scope(("app",), ("db", "other"))
    assert canonical(f"db.nodes.{FAILURES}", two) == f"db.nodes.{FAILURES}"
    with pytest.raises(DynoError):
        canonical("nodes.status.Threads_running", scope)


def test_the_longest_statement_of_a_trial_counts() -> None:
    done = {"do": "sql", "node": "db", "at_s": 1.0, "begun_s": 1.0}
    faults = [
        {**done, "in_force_s": 1.5},
        {**done, "in_force_s": 4.0},
        {**done, "in_force_s": 9.0, "problem": "refused"},
        {**done},
        {**done, "do": "kill", "in_force_s": 9.0},
    ]
    assert outages.of_statements(faults) == {"sql_s": 3.0}
    assert outages.of_statements(faults[3:]) == {}
