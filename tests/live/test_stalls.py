"""Stalls of a real server, which signals stop and continue: each is found, with its length, and a
trial left alone has none of that length."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from running import place, result, wait_for

pytestmark = pytest.mark.live

# The interval is the whole trial: what is found comes from the ticks.
EXPERIMENT = """
experiment: stops
targets:
  db: {kind: mariadb, durability: none, isolation: read_committed, memory: 64Mi}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 1000, sessions: 2}
blocks: 1
warmup: 500ms
duration: 12s
interval: 12s
seed: 1
"""
STOPPED_S = 1.0
STOPS = 2
TICK_S = 0.1
WITHIN_S = 0.3  # a stall begins and ends with a tick


def test_a_server_that_is_stopped_stalls_as_often() -> None:
    with place() as there:
        there.experiment(EXPERIMENT)
        run = there.start("run", "experiment.yaml")
        events = f"{there.path}/runs/*/trials/b01-t001/events.ndjson"

        def measuring() -> bool:
            files = list(there.path.glob("runs/*/trials/b01-t001/events.ndjson"))
            return bool(files) and '"phase":"warmup"' in files[0].read_text()

        assert wait_for(measuring, 120), events
        stops = []
        for _ in range(STOPS):
            time.sleep(1.0)
            pid = next(pid for pid, line in there.processes() if "mariadbd --" in line)
            os.kill(pid, signal.SIGSTOP)
            begun_s = time.time()
            time.sleep(STOPPED_S)
            stops.append((begun_s, time.time()))
            os.kill(pid, signal.SIGCONT)
        said, _ = run.communicate(timeout=180)
        assert run.returncode == 0, said
        (directory,) = there.path.glob("runs/*")
        (trial,) = result(directory)["inside"]
        long = [one for one in trial["stalls"] if one["length_s"] > 0.8 * STOPPED_S]
        zero_s, ticks = measured(directory / "trials/b01-t001/events.ndjson")
        found = [covering(long, begun - zero_s, ended - zero_s) for begun, ended in stops]
        assert all(one and one["depth"] > 0.9 for one in found), (found, stops, zero_s, trial)
        for other in [one for one in long if one not in found]:  # the machine's own
            assert depth(other, ticks) == pytest.approx(other["depth"], abs=0.2), trial
        (cell,) = result(directory)["stalls"]
        assert cell["sentence"].startswith("Throughput falls to nothing for ")
        assert "Stalls" in (directory / "report.md").read_text()
        record = json.loads((directory / "trials/b01-t001/trial.json").read_text())
        stopped_s = sum(ended - begun for begun, ended in stops)
        assert record["metrics"]["stalled_share"] > 0.8 * stopped_s / record["measured_s"]
        assert there.until_clean() == []


def measured(events: Path) -> tuple[float, list[int]]:
    """The unix time at which measuring began, and commits by tick."""
    told = [json.loads(line) for line in events.read_text().splitlines()]
    (zero_s,) = (one["measure_unix_s"] for one in told if one["event"] == "ready")
    intervals = [one for one in told if one.get("phase") == "measure"]
    return zero_s, [tick for one in intervals for tick in one["groups"]["workload"]["ticks"]]


def covering(
    stalls: Sequence[dict[str, Any]], begun_s: float, ended_s: float
) -> dict[str, Any] | None:
    """The stall that a stop is within."""
    covers = (
        one
        for one in stalls
        if one["start_s"] <= begun_s + WITHIN_S
        and one["start_s"] + one["length_s"] >= ended_s - WITHIN_S
    )
    return next(covers, None)


def depth(stall: dict[str, Any], ticks: Sequence[int]) -> float:
    """The share of the usual commits that is missing in it, by the ticks."""
    first = round(stall["start_s"] / TICK_S)
    during = ticks[first : first + round(stall["length_s"] / TICK_S)]
    return 1 - sum(during) / (median(ticks) * len(during))
