"""Rows of the proof about servers that work together and die, at their smallest size: plants are
found with their exact number, and nothing is left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import binaries
from tools.proof.lab.leftovers import Watch
from tools.proof.lab.setups import GALERA, missing
from tools.proof.row import Effort, Outcome
from tools.proof.rows.lab import outage, planted_losses, random_faults, topology_times

import needed
from dbdyno.execute.engine import job

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


@pytest.fixture
def effort() -> Iterator[Effort]:
    """The smallest amount, in a place that servers can read."""
    binaries("mariadb")
    with tempfile.TemporaryDirectory(prefix="dp", dir="/var/tmp") as scratch:
        effort = Effort(True, job.find(), Path(scratch), lambda text: None)
        with Watch(effort.scratch) as watch:
            yield effort
        assert watch.left() == []


def test_what_a_relay_swallows_is_found_and_nothing_else(effort: Effort) -> None:
    outcome = planted_losses.ROW.measure(effort)
    planted, clean = filled(outcome)
    [_, _, _, what, _, lost, *others] = planted[0]
    assert what == f"{lost} lost" and int(lost) > 0
    assert others == ["0", "0", "0"]
    assert clean[0][-2:] == ("1", "none")  # recounted, and no alarm
    assert wrong(outcome) == []


def test_random_faults_leave_nothing_and_are_recounted(effort: Effort) -> None:
    outcome = random_faults.ROW.measure(effort)
    [[row]] = filled(outcome)
    assert int(row[1]) > 0, "a fault struck"
    assert wrong(outcome) == []


def test_a_cluster_comes_up_and_goes(effort: Effort) -> None:
    if why := missing(GALERA):
        needed.missing(f"{why}: run `make servers`")
    filled(topology_times.ROW.measure(effort))


def test_an_outage_is_held_against_the_server_s_log(effort: Effort) -> None:
    outcome = outage.ROW.measure(effort)
    [[row]] = filled(outcome)
    assert float(row[3].partition(" ")[0]) >= outage.AWAY_S[1]
    assert wrong(outcome) == []


def filled(outcome: Outcome) -> list[tuple[tuple[str, ...], ...]]:
    """Rows of all tables, none of them empty."""
    assert outcome.met is None
    assert outcome.measured
    for table in outcome.tables:
        assert table.rows
        assert all(cell for line in table.rows for cell in line)
    return [table.rows for table in outcome.tables]


def wrong(outcome: Outcome) -> list[str]:
    """What a row found that should not be."""
    return [note for note in outcome.notes if note.startswith(("Wrong", "Alarm", "Void"))]
