"""Rows of the proof about the meter and `dyno check`: every table is filled, and both ends of the
wire count the same requests. What is measured depends on the machine, and is judged by `make proof`
only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.proof import wire
from tools.proof.row import Effort
from tools.proof.rows.checks import check, check_cost
from tools.proof.rows.measuring import latency, meter

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
def test_every_table_is_filled(effort: Effort, row: object) -> None:
    outcome = row.measure(effort)  # type: ignore[attr-defined]
    assert outcome.met is None
    assert outcome.measured
    for table in outcome.tables:
        assert table.rows
        assert all(cell for line in table.rows for cell in line)
