"""Predicts what three real Galera nodes will do, does it to them, and looks: states and their
order. `make proof ROWS=cluster` measures times and conflict counters too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tools.proof.galera import checks, conflicts, nodes
from tools.proof.galera.nodes import Nodes
from tools.proof.galera.observing import prepare

import needed

pytestmark = pytest.mark.live

# Short, so that the whole takes a minute; the model reads them from the server.
OPTIONS = {
    "evs.keepalive_period": "PT0.5S",
    "evs.inactive_check_period": "PT0.1S",
    "evs.suspect_timeout": "PT2S",
    "evs.inactive_timeout": "PT6S",
    "evs.install_timeout": "PT3S",
    "evs.join_retrans_period": "PT0.3S",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    if lacking := nodes.missing():
        needed.missing(f"{lacking} is not installed: run `make servers`")
    with Nodes(OPTIONS) as made:
        prepare(made[checks.WRITER])
        conflicts.prepare(made[checks.WRITER])
        yield made


def test_a_hot_row_written_on_two_nodes_conflicts_and_on_one_node_does_not(cluster: Nodes) -> None:
    assert conflicts.measure(cluster, ("n1",), 1.5).victims == 0
    found = conflicts.measure(cluster, ("n1", "n2"), 3.0)
    assert found.victims > 0 and found.committed > 0


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.name)
def test_states_come_in_the_order_that_was_predicted(cluster: Nodes, check: checks.Check) -> None:
    found = checks.run(cluster, check)
    assert found.in_order, (found.predicted, found.observed)
