"""Open loops, end to end: a rate that is sustained, one that none could sustain, a schedule, a
search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Place, place, result

pytestmark = pytest.mark.live

OVERLOAD = """
experiment: overload
question: What if more is asked than any server can do?
targets: {db: {kind: null, options: {delay_us: 1000}}}
workload: {kind: oltp, preset: point_select, rows: 100, sessions: 4, rate: 10/s}
factors: {rate: [10/s, 400000/s]}
blocks: 3
warmup: 200ms
duration: 600ms
interval: 200ms
drain: 300ms
claims: ["response_ms_p95[400000/s] < 20", "response_ms_p50[400000/s] >= 1000000"]
"""

SCHEDULE = """
experiment: bursts
targets: {db: {kind: sqlite}}
groups:
  app:
    kind: oltp
    preset: point_select
    rows: 1000
    sessions: 2
    rate: [{for: 400ms, to: 500/s}, {for: 200ms, at: 2000/s}, {at: 100/s}]
    arrivals: uniform
  users: {kind: oltp, preset: point_select, rows: 1000, sessions: 2, think: 10ms}
blocks: 1
warmup: 0s
duration: 1s
interval: 200ms
"""

SEARCH = """
experiment: highest
targets: {db: {kind: null, options: {delay_us: 2000}}}
workload:
  kind: oltp
  preset: point_select
  rows: 100
  find: {rate: max, while: response_ms_p50 < 50, start: 300/s, within: 20%}
factors: {sessions: [1, 4]}
blocks: 1
warmup: 100ms
duration: 300ms
interval: 100ms
drain: 100ms
claims: ["rate_max[4] / rate_max[1] >= 1.2"]
"""


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        yield made
        assert made.until_clean() == []


def metrics(run: Path, **levels: str) -> dict[str, Any]:
    cells = result(run)["cells"]
    return next(cell["metrics"] for cell in cells if cell["levels"] == levels)


def events(run: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(run.glob("trials/b01-t*/events.ndjson")):
        yield from map(json.loads, file.read_text().splitlines())


def test_a_rate_that_no_server_can_hold(there: Place) -> None:
    run = there.path / "run"
    file = there.experiment(OVERLOAD)
    done = there.dyno("run", file, "--dir", run, "-v")
    assert done.returncode == 0, done.stderr

    found = result(run)
    assert found["answer"].startswith(
        "The system could not hold the rate in 1 of 2 cells: at rate 400000/s"
    )
    assert [claim["verdict"] for claim in found["claims"]] == ["refuted", "undecided"]
    over = metrics(run, rate="400000/s")
    assert over["response_ms_p95"]["bound"] == ">="
    assert over["left"]["mean"] > 0
    assert over["transactions_per_s"]["mean"] < 4000 < over["due_per_s"]["mean"]
    assert "bound" not in metrics(run, rate="10/s")["transactions_per_s"]
    ends = [event for event in events(run) if event["event"] == "end"]
    # The backlog of a quarter of a million is a counter: it needs no memory.
    peaks = [end["generator"]["rss_max_bytes"] for end in ends]
    assert max(peaks) < min(peaks) + 16e6, peaks

    page = (run / "report.html").read_text()
    assert "≥" in page
    assert "Offered and achieved rate" not in page  # two rates are no line
    assert "could not hold the rate" in page
    assert "due/s:" in done.stderr
    assert re.search(r"backlog: \d{4,}", done.stderr)
    assert "response p95 >= " in done.stderr


def test_a_schedule_and_thinking_users(there: Place) -> None:
    run = there.path / "run"
    done = there.dyno("run", there.experiment(SCHEDULE), "--dir", run)
    assert done.returncode == 0, done.stderr
    found = metrics(run)
    # 100 on the ramp, 400 in the burst, 40 after it, evenly spaced.
    assert found["app.due_per_s"]["mean"] == pytest.approx(540, abs=3)
    assert found["app.response_ms_p50"]["mean"] >= found["app.service_ms_p50"]["mean"]
    assert "users.response_ms_p50" not in found
    assert found["users.transactions_per_s"]["mean"] <= 2 / 0.010
    due = {
        (event["t_s"] - event["length_s"], event["t_s"]): event["groups"]["app"]["open"]["due"]
        for event in events(run)
        if event["event"] == "interval" and event["phase"] == "measure"
    }
    assert sum(due.values()) == pytest.approx(540, abs=3)
    # An interval ends late where its reader does.
    begun_s, ended_s = max(due, key=lambda times: due[times] / (times[1] - times[0]))
    assert begun_s < 0.6 and ended_s > 0.4, due
    assert "on a schedule" in (run / "report.html").read_text()


def test_a_search_finds_what_sessions_can_do(there: Place) -> None:
    run = there.path / "run"
    file = there.experiment(SEARCH)
    planned = there.dyno("run", file, "--dry-run")
    assert "32 probes" in planned.stdout
    done = there.dyno("run", file, "--dir", run)
    assert done.returncode == 0, done.stderr
    assert "probe 1: " in done.stderr
    one, four = (metrics(run, sessions=n)["rate_max_per_s"]["mean"] for n in ("1", "4"))
    assert 0 < one < four <= 4 / 0.002
    for trial in run.glob("trials/b01-t*"):
        record = json.loads((trial / "trial.json").read_text())
        assert len(record["probes"]) == len(list(trial.glob("probe-*")))
        assert record["metrics"]["probes"] == len(record["probes"])
        assert {probe["passed"] for probe in record["probes"]} == {True, False}
        assert (trial / "latency.hlog").is_file()
    assert "Searches" in (run / "report.html").read_text()
    again = there.dyno("report", run)
    assert again.returncode == 0, again.stderr


def test_a_quick_search_is_quick(there: Place) -> None:
    run = there.path / "run"
    done = there.dyno("run", there.experiment(SEARCH), "--quick", "--dir", run)
    assert done.returncode == 0, done.stderr
    assert result(run)["quick"]
    for file in run.glob("trials/*/trial.json"):
        assert len(json.loads(file.read_text())["probes"]) <= 8
