"""Rows of the proof about the meter, audits and `dyno check`: every table is filled, both ends of
the wire count the same requests, and only trials with an audit have anything of one. What is
measured depends on the machine, and is judged by `make proof` only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.proof import wire
from tools.proof.checks.checker import Checker
from tools.proof.row import Effort, Outcome, Row
from tools.proof.rows.checks import check, check_cost
from tools.proof.rows.measuring import audit_cost, latency, meter

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
def test_every_table_is_filled(effort: Effort, row: Row) -> None:
    _is_filled(row.measure(effort))


def _is_filled(outcome: Outcome) -> None:
    assert outcome.met is None
    assert outcome.measured
    for table in outcome.tables:
        assert table.rows
        assert all(cell for line in table.rows for cell in line)


def test_only_trials_with_an_audit_have_anything_of_one(effort: Effort) -> None:
    outcome = audit_cost.ROW.measure(effort)
    _is_filled(outcome)
    traces = outcome.tables[1].rows
    assert {off for _, off, _ in traces} == {"0 of 2"}
    assert {on for _, _, on in traces} == {"2 of 2"}


def test_a_check_that_cannot_be_made_ends_the_measurement(effort: Effort) -> None:
    password = effort.scratch / "password"
    password.write_text("x")
    password.chmod(0o600)
    with Checker(min(os.sched_getaffinity(0)), idle=False) as checker:
        for _ in range(2):  # the process goes on
            with pytest.raises(RuntimeError, match=r"dyno check postgres://app@127\.0\.0\.1:1/x: "):
                checker.check("postgres://app@127.0.0.1:1/x", password)
