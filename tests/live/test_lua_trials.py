"""Trials of scripts as the engine runs them: signals, and rates whether they are kept or not."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import run

from dbdyno.execute.engine import job

pytestmark = pytest.mark.live

SCRIPT = """
local ffi = require("ffi")
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("SELECT 1")
  if sysbench.opt.pause > 0 then ffi.C.usleep(sysbench.opt.pause * 1000) end
end
"""
DECLARED = "sysbench.cmdline.options = {pause = {'milliseconds', 0}}\n"
RATE = {"process": "uniform", "steps": [{"for_s": None, "from_per_s": 200, "to_per_s": 200}]}


def plan(directory: Path, pause_ms: int = 0, **more: Any) -> dict[str, Any]:
    """A trial of two sessions on a database of their own."""
    group = {
        "name": "g",
        "target": "db",
        "workload": "lua",
        "sessions": 2,
        "options": {
            "script": "own.lua",
            "text": DECLARED + SCRIPT,
            "options": {"pause": pause_ms},
        },
        **more.pop("group", {}),
    }
    return {
        "schema_version": 1,
        "job": "run",
        "trial": "t",
        "directory": str(directory),
        "seed": 5,
        "warmup_s": 0.2,
        "duration_s": 1.0,
        "interval_s": 0.2,
        "targets": {"db": {"driver": "sqlite", "address": {"file": str(directory / "own.db")}}},
        "groups": [group],
        **more,
    }


def balance(total: dict[str, Any]) -> None:
    """Each arrival that was due has been answered, has failed, or is left."""
    loop = total["open"]
    unanswered = loop["failed"] + loop["left"]
    answered = loop["response"]["count"] - loop["response"].get("censored", 0)
    assert loop["due"] == answered + unanswered


@pytest.mark.parametrize("paced", [False, True])
@pytest.mark.parametrize(
    ("number", "code", "says"), [(signal.SIGINT, 3, "interrupted"), (signal.SIGUSR1, 0, "asked")]
)
def test_a_signal_ends_a_trial_and_what_was_measured_is_told(
    number: signal.Signals, code: int, says: str, paced: bool, tmp_path: Path
) -> None:
    group = {"arrivals": RATE} if paced else {}
    long = plan(tmp_path, duration_s=60.0, drain_s=5.0, group=group)
    with subprocess.Popen(
        [job.find(), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps(long))
            process.stdin.close()
            events = []
            for line in process.stdout:
                events.append(json.loads(line))
                if sum(event.get("phase") == "measure" for event in events) == 2:
                    process.send_signal(number)
                    break
            events += [json.loads(line) for line in process.stdout]
            assert process.wait(timeout=120) == code
        finally:
            process.kill()
    end = events[-1]
    assert end["event"] == "end"
    assert end[says] is True
    assert 0 < end["measured_s"] < 50
    total = end["groups"]["g"]
    intervals = [event["groups"]["g"] for event in events if event.get("phase") == "measure"]
    assert total["transactions"] == sum(one["transactions"] for one in intervals) > 0
    if paced:
        balance(total)


def test_a_rate_that_is_kept_leaves_nothing(tmp_path: Path) -> None:
    said = run(plan(tmp_path, drain_s=5.0, group={"arrivals": RATE}))
    assert said.code == 0, said.text
    end = said.events[-1]
    loop = end["groups"]["g"]["open"]
    assert (loop["due"], loop["left"], loop["failed"]) == (200, 0, 0)
    assert loop["response"]["count"] == 200
    assert end["generator"]["lag"] is None, "a library's answers lie nowhere"
    balance(end["groups"]["g"])


def test_a_rate_that_cannot_be_kept_grows_a_backlog_and_leaves_bounds(tmp_path: Path) -> None:
    said = run(plan(tmp_path, pause_ms=50, drain_s=0.2, group={"arrivals": RATE}))
    assert said.code == 0, said.text
    total = said.events[-1]["groups"]["g"]
    loop = total["open"]
    assert loop["due"] == 200
    assert loop["left"] > 100
    assert loop["backlog_end"] > 100
    assert loop["response"]["censored"] == loop["left"] + loop["failed"]
    if total["latency"]["count"] >= 20:  # else there is no median
        assert total["latency"]["p50_ns"] < loop["response"]["p50_ns"]
    balance(total)


def test_a_loop_of_the_scripts_own_is_paced_too_and_what_it_skips_has_failed(
    tmp_path: Path,
) -> None:
    own = """
local ffi = require("ffi")
function thread_run()
  local turn = 0
  while ffi.C.sb_more_events(sysbench.tid) do
    turn = turn + 1
    if turn % 2 == 0 then
      ffi.C.sb_event_start(sysbench.tid)
      ffi.C.sb_event_stop(sysbench.tid)
    end
  end
end
function event() end
"""
    asked = plan(tmp_path, drain_s=5.0, group={"arrivals": RATE})
    asked["groups"][0]["options"] = {"script": "own.lua", "text": own}
    said = run(asked)
    assert said.code == 0, said.text
    total = said.events[-1]["groups"]["g"]
    assert total["open"]["due"] == 200
    assert 95 <= total["open"]["failed"] <= 105
    balance(total)


def test_what_a_script_cannot_be_given_is_refused(tmp_path: Path) -> None:
    think = {"mean_s": 0.001, "distribution": "constant", "per": "transaction"}
    said = run(plan(tmp_path, group={"think": think}))
    assert said.code == 2
    assert "pauses by itself" in said.text


def test_errors_that_are_ignored_by_default_are_those_of_the_reference() -> None:
    told = subprocess.run([job.find(), "sysbench", "--help"], capture_output=True, text=True)
    page = (Path(__file__).parents[2] / "docs/reference/workloads.md").read_text()
    for driver, said in (
        ("mysql", "`mysql-ignore-errors`, by default {}"),
        ("pgsql", "`pgsql-ignore-errors`: {}"),
        ("sqlite", "`sqlite-ignore-errors`: {}"),
    ):
        found = re.search(rf"--{driver}-ignore-errors=\S+ .*\[([\w,]+)\]", told.stdout)
        assert found, driver
        assert said.format(found[1].replace(",", ", ")) in page
