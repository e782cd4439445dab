"""Rows of the proof about the meter and `dyno check`: every table is filled, and both ends of the
wire count the same requests. What is measured depends on the machine, and is judged by `make proof`
only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.proof import wire
from tools.proof.row import Effort
from tools.proof.rows.checks import check, check_cost
from tools.proof.rows.measuring import latency, meter

from dbdyno.execute.engine import job

pytestmark = pytest.mark.live


@pytest.fixture
def effort() -> Iterator[Effort]:
    """The smallest amount, in a place that servers can read."""
    with tempfile.TemporaryDirectory(prefix="dp", dir="/var/tmp") as scratch:
        yield Effort(True, job.find(), Path(scratch), lambda text: None)


def test_both_ends_of_the_wire_count_the_same_requests(effort: Effort) -> None:
    seen = wire.pair(effort, "bimodal:0us,2ms,20%", 0.005, 0.3)
    # What is under way at the end the server may have answered; statements that open a session too.
    assert seen.ours.count > 0
    assert 0 <= seen.record.count - seen.ours.count <= 4 * wire.SESSIONS
    # A transaction is longer than its stay at the server.
    ours, record = seen.ours.quantile_ns(0.0), seen.record.quantile_ns(0.0)
    assert ours is not None and record is not None and ours >= record


ROWS = [latency.ROW, meter.ROW, check.ROW, check_cost.ROW]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_table_is_filled(effort: Effort, row: object) -> None:
    outcome = row.measure(effort)  # type: ignore[attr-defined]
    assert outcome.met is None
    assert outcome.measured
    for table in outcome.tables:
        assert table.rows
        assert all(cell for line in table.rows for cell in line)
