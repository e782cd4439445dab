"""Runs that end when all is decided, by way of the command line."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from running import Place, complete_trials, result, wait_for

pytestmark = pytest.mark.live

LOOKED = """
experiment: looked
question: How much slower is twenty times the delay?
targets: {db: {kind: null}}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 100}
factors:
  delay:
    short: {db.options: {delay_us: 200}}
    long: {db.options: {delay_us: 4000}}
trials: {max: 9, until: decided}
warmup: 0s
duration: 200ms
interval: 100ms
claims: ["tps[short] / tps[long] > 2"]
"""


def told(directory: Path) -> tuple[int, int]:
    """Blocks that ran and looks that were taken; everything written agrees on them."""
    found = result(directory)
    blocks, looks = found["blocks"], found["looks"]
    assert looks["first"] == 4
    assert looks["after_block"] == blocks
    assert looks["taken"] == blocks - 3
    assert len(complete_trials(directory)) == 2 * blocks
    assert looks["sentence"] in (directory / "report.html").read_text()
    assert looks["sentence"] in (directory / "report.md").read_text()
    if blocks < 9:
        assert looks["decided"]
        assert looks["sentence"].startswith(f"Decided after {blocks} of at most 9 blocks")
        assert any(note.startswith(looks["sentence"]) for note in found["notes"])
        plan = json.loads((directory / "manifest.json").read_text())["plan"]
        assert plan["looks"] == {"first": 4, "max": 9, "decided_at": blocks}
    return blocks, looks["taken"]


def test_a_run_ends_once_its_claims_are_decided(there: Place) -> None:
    done = there.dyno("run", there.experiment(LOOKED), "--dir", "out")
    assert done.returncode == 0, done.stderr
    told(there.path / "out")
    assert result(there.path / "out")["looks"]["sentence"] in " ".join(done.stdout.split())
    redrawn = there.dyno("report", "out")
    assert redrawn.returncode == 0, redrawn.stderr
    told(there.path / "out")
    again = there.dyno("run", "--resume", "out")  # it is over: nothing more is measured
    assert again.returncode == 0, again.stderr
    told(there.path / "out")
    assert there.until_clean() == []


def test_an_interrupted_run_goes_on_looking(there: Place) -> None:
    running = there.start("run", there.experiment(LOOKED), "--dir", "out")
    directory = there.path / "out"
    assert wait_for(lambda: len(complete_trials(directory)) >= 3, 180)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=120)
    assert running.returncode in (0, 3)
    resumed = there.dyno("run", "--resume", "out")
    assert resumed.returncode == 0, resumed.stderr
    told(directory)


def test_a_quick_run_is_a_single_block(there: Place) -> None:
    done = there.dyno("run", there.experiment(LOOKED), "--quick", "--dir", "out")
    assert done.returncode == 0, done.stderr
    found = result(there.path / "out")
    assert (found["blocks"], found["looks"], found["judged"]) == (1, None, False)
