"""Predicts what three real Galera nodes will do, does it to them, and compares: states and their
order. `make proof ROWS=cluster` measures times and conflict counters too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.proof.galera import checks, conflicts, hot_rows, nodes
from tools.proof.galera.nodes import Nodes
from tools.proof.galera.observing import prepare
from tools.proof.row import Effort

import needed

pytestmark = pytest.mark.live

TRIES = 3  # where the CPUs are taken for seconds, nodes suspect each other, and little is committed
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
    assert conflicts.measure(cluster, ("n1",), 1.5).errors == 0
    for _ in range(TRIES):
        found = conflicts.measure(cluster, ("n1", "n2"), 3.0)
        if found.errors and found.committed:
            break
    assert found.errors > 0 and found.committed > 0


def test_hot_rows_on_nodes_with_a_line_between_fail_where_several_nodes_write_them(
    tmp_path: Path,
) -> None:
    if lacking := nodes.missing():
        needed.missing(f"{lacking} is not installed: run `make servers`")
    if lacking := hot_rows.missing():
        needed.missing(f"network namespaces want {lacking}")
    effort = Effort(True, tmp_path, tmp_path, lambda text: None)
    for _ in range(TRIES):
        found = hot_rows.measure(effort, hot_rows.DELAY_S)
        assert {(one.writers, one.rows) for one in found} == {
            (writers, rows) for writers in (1, 2, 3) for rows in hot_rows.ROWS
        }
        for one in found:
            if one.writers == 1:
                assert one.predicted.victims == one.observed.errors == 0
        if not (lacking := [one for one in found if lacks(one)]):
            break
    assert not lacking


def lacks(one: hot_rows.Held) -> bool:
    """Whether something commits too little, or does not fail where all must meet."""
    meet = one.writers > 1 and one.rows == 1
    fails = one.predicted.victims and one.observed.errors
    return not (one.observed.committed and one.predicted.committed and (fails or not meet))


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.name)
def test_states_come_in_the_order_that_was_predicted(cluster: Nodes, check: checks.Check) -> None:
    for _ in range(TRIES):
        found = checks.run(cluster, check)
        if found.in_order:
            break
    assert found.in_order, (found.predicted, found.observed)
