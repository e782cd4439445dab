"""Rows of the proof about the meter, audits and `dyno check`: every table is filled, both ends of
the wire count the same requests, and only trials with an audit have anything of one. What is
measured depends on the machine, and is judged by `make proof` only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.proof import wire
from tools.proof.checks.checker import Checker
from tools.proof.row import Effort, Outcome, Row
from tools.proof.rows.checks import check, check_cost
from tools.proof.rows.measuring import audit_cost, latency, meter

from dbdyno.execute.engine import job
from dbdyno.store.metrics.histogram import by_tag, read_log

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ARRIVALS_PER_S, LENGTH_S = 2000, 0.3


@pytest.fixture
def effort() -> Iterator[Effort]:
    """The smallest amount, in a place that servers can read."""
    with tempfile.TemporaryDirectory(prefix="dp", dir="/var/tmp") as scratch:
        yield Effort(True, job.find(), Path(scratch), lambda text: None)


def test_both_ends_of_the_wire_count_the_same_requests(
    effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a schedule: it has an end, which sessions that pause and go on have not until the engine
    stops them."""
    paused = wire.plan

    def scheduled(*arguments: Any) -> dict[str, Any]:
        request = paused(*arguments)
        del request["groups"][0]["think"]
        rate = {"for_s": None, "from_per_s": ARRIVALS_PER_S, "to_per_s": ARRIVALS_PER_S}
        request["groups"][0]["arrivals"] = {"process": "uniform", "steps": [rate]}
        return request

    monkeypatch.setattr(wire, "plan", scheduled)
    seen = wire.pair(effort, "bimodal:0us,2ms,20%", 0.0, LENGTH_S)
    answered = by_tag(read_log(effort.scratch / "wire" / "latency.hlog"))["wire/!response"]
    assert 0 < seen.ours.count <= answered.count == ARRIVALS_PER_S * LENGTH_S
    # Statements that open a session the server counts too.
    assert 0 <= seen.record.count - answered.count <= 4 * wire.SESSIONS
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
