"""Trials that end when they are steady, on the engine's own null driver."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from running import Place, place

from dbdyno.store.run import Run

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: steadily
targets: {db: {kind: null, options: {delay_us: 1000}}}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 1000, sessions: 4}
warmup: 0s
duration: {until: steady, min: 5s, max: 12s}
matters: 40%
blocks: 1
sampling: off
"""


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        yield made
        assert made.until_clean() == []


def test_a_trial_ends_when_it_is_steady_and_only_that_part_counts(there: Place) -> None:
    done = there.dyno("run", there.experiment(EXPERIMENT), "--dir", "run")
    assert done.returncode == 0, done.stderr
    run = Run.open(there.path / "run")
    [still] = run.records()
    assert still.measured_s is not None
    events = run.events(still.id)
    end = next(event for event in events if event["event"] == "end")
    assert not end["interrupted"]
    if still.steady_from_s is None:  # a machine that was never quiet
        assert "never became steady" in still.warnings[0]
        return
    counted = [
        event
        for event in events
        if event["event"] == "interval"
        and event["t_s"] - event["length_s"] > still.steady_from_s - 0.01
    ]
    length_s = sum(event["length_s"] for event in counted)
    assert still.steady_from_s + length_s == pytest.approx(still.measured_s, abs=0.01)
    transactions = sum(event["groups"]["workload"]["transactions"] for event in counted)
    assert still.metrics["transactions_per_s"] == pytest.approx(transactions / length_s)
    assert "server_cpu_us_per_op" not in still.metrics
    assert not (run.trial_dir(still.id) / "metrics.ndjson").exists()
    assert json.loads((run.trial_dir(still.id) / "trial.json").read_text())["measured_s"] > 0
