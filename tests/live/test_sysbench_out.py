"""`dyno sysbench --dyno-out` with the real engine: runs that end well, fail, or are ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import wait_for

from dbdyno.execute.engine import job
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run

pytestmark = pytest.mark.live

DYNO = Path(sys.executable).with_name("dyno")
SCRIPT = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("SELECT 1")
  events = (events or 0) + 1
  if done and os.time() > done and events > 100 then error("no luck any more") end
end
"""


def said(place: Path, *args: str) -> subprocess.CompletedProcess[str]:
    (place / "own.lua").write_text(SCRIPT)
    return subprocess.run(
        [DYNO, "sysbench", "own.lua", "--db-driver=sqlite", "--sqlite-db=own.db", *args],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=180,
    )


def only_record(path: Path) -> TrialRecord:
    (record,) = Run.open(path).records()
    return record


def test_a_run_has_what_the_result_has_and_a_report(tmp_path: Path) -> None:
    done = said(tmp_path, "--dyno-out=out", "--json=own.json", "--time=1", "--rate=50", "run")
    assert done.returncode == 0, done.stderr
    assert "transactions:" in done.stdout
    assert done.stderr == ""
    total = json.loads((tmp_path / "own.json").read_text())["total"]
    metrics = only_record(tmp_path / "out").metrics
    assert metrics["transactions_per_s"] == pytest.approx(total["events_per_s"])
    assert metrics["response_ms_mean"] == pytest.approx(total["response_ms"]["avg"])
    assert metrics["service_ms_mean"] == pytest.approx(total["latency_ms"]["avg"])
    report = subprocess.run(
        [DYNO, "report", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert report.returncode == 0, report.stderr
    assert (tmp_path / "out/report.html").exists()


def test_a_script_that_fails_leaves_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "own.lua").write_text(SCRIPT)
    failing = SCRIPT.replace("con = ", "done = os.time() + 1; con = ")
    (tmp_path / "failing.lua").write_text(failing)
    done = subprocess.run(
        [DYNO, "sysbench", "failing.lua", "--db-driver=sqlite", "--dyno-out=out", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 1
    record = only_record(tmp_path / "out")
    assert "no luck any more" in record.warnings[0]
    assert record.metrics["transactions_per_s"] > 0


def test_a_run_that_is_ended_keeps_its_seconds(tmp_path: Path) -> None:
    with subprocess.Popen(
        [DYNO, "sysbench", "cpu", "--time=60", "--dyno-out=out", "run"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    ) as process:
        record = tmp_path / "out/sysbench.ndjson"
        assert wait_for(
            lambda: record.exists() and len(record.read_text().splitlines()) >= 3, timeout_s=50
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == -signal.SIGINT
    kept = only_record(tmp_path / "out")
    assert "cut off" in kept.warnings[0]
    assert kept.metrics["transactions_per_s"] > 0


def test_the_engine_alone_refuses_the_option(tmp_path: Path) -> None:
    link = tmp_path / "sysbench"
    link.symlink_to(job.find())
    done = subprocess.run(
        [link, "--dyno_out=out", "cpu", "run"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "call it as 'dyno sysbench --dyno-out=DIR" in done.stderr
    assert not (tmp_path / "out").exists()
