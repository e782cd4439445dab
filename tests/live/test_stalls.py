"""Stalls of a real server, which signals stop and continue: each is found, with its length, and a
trial left alone has none of that length."""

from __future__ import annotations

import json
import os
import signal
import time

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
duration: 6s
interval: 6s
seed: 1
"""
STOPPED_S = 1.0
STOPS = 2


def test_a_server_that_is_stopped_stalls_as_often() -> None:
    with place() as there:
        there.experiment(EXPERIMENT)
        run = there.start("run", "experiment.yaml")
        events = f"{there.path}/runs/*/trials/b01-t001/events.ndjson"

        def measuring() -> bool:
            files = list(there.path.glob("runs/*/trials/b01-t001/events.ndjson"))
            return bool(files) and '"phase":"warmup"' in files[0].read_text()

        assert wait_for(measuring), events
        for _ in range(STOPS):
            time.sleep(1.0)
            pid = next(pid for pid, line in there.processes() if "mariadbd --" in line)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(pid, signal.SIGCONT)
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 0, said
        (directory,) = there.path.glob("runs/*")
        (trial,) = result(directory)["inside"]
        long = [one for one in trial["stalls"] if one["length_s"] > 0.8 * STOPPED_S]
        assert len(long) == STOPS and all(one["depth"] > 0.9 for one in long), trial
        (cell,) = result(directory)["stalls"]
        assert cell["sentence"].startswith("Throughput falls to nothing for ")
        assert "Stalls" in (directory / "report.md").read_text()
        record = json.loads((directory / "trials/b01-t001/trial.json").read_text())
        assert record["metrics"]["stalled_share"] > 0.8 * STOPS * STOPPED_S / 6
        assert there.until_clean() == []
