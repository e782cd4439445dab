"""Run directories and bundles of somebody else: nothing of theirs is done, and dbdyno writes
nothing where they want it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from running import Place

pytestmark = pytest.mark.live

PLAIN = """
experiment: plain
question: Is a server that answers at once faster than one that does not?
targets:
  db: {kind: null, durability: full, isolation: serializable, memory: 64Mi}
workload: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
factors:
  delay:
    none: {db.options: {delay_us: 100}}
    some: {db.options: {delay_us: 300}}
blocks: 3
warmup: 0s
duration: 300ms
interval: 100ms
"""
HOOK = PLAIN + 'hooks: {before_run: ["echo done >> %s"]}\n'


def run_of(there: Place, text: str = PLAIN) -> Path:
    there.experiment(text)
    done = there.dyno("run", "experiment.yaml", "--dir", "out")
    assert done.returncode == 0, done.stderr
    return there.path / "out"


def test_a_run_is_for_its_owners_eyes(there: Place) -> None:
    run = run_of(there)
    assert stat.S_IMODE(run.stat().st_mode) == 0o700


def test_a_report_is_written_through_no_link(there: Place) -> None:
    run = run_of(there)
    mine = there.path / "mine"
    mine.write_text("mine")
    for name in ("result.json", "report.md", "report.html"):
        (run / name).unlink()
        (run / name).symlink_to(mine)
    done = there.dyno("report", run)
    assert done.returncode == 0, done.stderr
    assert mine.read_text() == "mine"
    assert not (run / "report.html").is_symlink()
    there.dyno("report", run, "--bundle", "b", "--to", "reports")
    assert mine.read_text() == "mine"


def test_reports_do_not_follow_a_directory_that_is_a_link(there: Place) -> None:
    run = run_of(there)
    (there.path / "elsewhere").mkdir()
    (run / "redacted").symlink_to(there.path / "elsewhere")
    done = there.dyno("report", run, "--redact")
    assert done.returncode == 2
    assert "symbolic link" in done.stderr
    assert list((there.path / "elsewhere").iterdir()) == []


def test_a_lock_that_is_a_link_is_not_emptied(there: Place) -> None:
    run = run_of(there)
    mine = there.path / "mine"
    mine.write_text("mine")
    (run / "lock").unlink()
    (run / "lock").symlink_to(mine)
    done = there.dyno("run", "--resume", run)
    assert done.returncode == 2
    assert mine.read_text() == "mine"


def test_a_bundles_commands_are_not_run_unasked(there: Place) -> None:
    """As a base, a bundle's experiment is run again: with its passwords and connections."""
    trace = there.path / "trace"
    run = run_of(there)
    manifest = json.loads((run / "manifest.json").read_text())
    theirs = f"{{kind: mysql, url: 'mysql://app@127.0.0.1:1/x', password_command: 'touch {trace}'}}"
    text = PLAIN.replace(PLAIN.partition("  db: ")[2].partition("\n")[0], theirs)
    text = text.replace("{db.options: {delay_us: 100}}", "{db.protocol: text}")
    text = text.replace("{db.options: {delay_us: 300}}", "{db.protocol: prepared}")
    manifest["plan"]["spec_text"] = text
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert there.dyno("report", run, "--bundle", "b.dyno").returncode == 0
    there.experiment(text.replace(f", password_command: 'touch {trace}'", ""), "own.yaml")
    done = there.dyno("run", "own.yaml", "--against", "b.dyno", "--dir", "both")
    assert done.returncode == 2
    assert "the `password_command` of target db" in done.stderr
    assert "a connection to the server of target db" in done.stderr
    assert "--trust" in done.stderr
    assert not trace.exists()
    assert not (there.path / "both").exists()
    done = there.dyno("run", "own.yaml", "--against", "b.dyno", "--dir", "both", "--trust")
    assert done.returncode == 2  # no process listens there
    assert trace.exists()


def test_a_bundle_without_commands_is_a_base(there: Place) -> None:
    run = run_of(there)
    assert there.dyno("report", run, "--bundle", "b.dyno").returncode == 0
    own = there.experiment(PLAIN, "own.yaml")
    done = there.dyno("run", "--check", own, "--against", "b.dyno")
    # `delay_us` is an option of the null server: neither a path nor a program.
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_run_of_another_account_is_not_resumed_unasked(there: Place) -> None:
    trace = there.path / "trace"
    run = run_of(there, HOOK % trace)
    trace.unlink()
    last = max((run / "trials").iterdir())
    (last / "trial.json").unlink()
    for path in (run, run / "manifest.json"):
        os.chown(path, 12345, 12345)
    done = there.dyno("run", "--resume", run)
    assert done.returncode == 2
    assert "belongs to another account" in done.stderr
    assert not trace.exists()
    assert not (last / "trial.json").exists()
    assert there.dyno("run", "--resume", run, "--trust").returncode == 0
    assert trace.exists()


@pytest.mark.parametrize("strict", [(), ("--strict",)])
def test_nothing_measured_is_no_success(there: Place, strict: tuple[str, ...]) -> None:
    one = PLAIN.replace("blocks: 3", "blocks: 1")
    there.experiment(f"{one}require: [generator_cpu_us_per_op < 0]\n")
    done = there.dyno("run", "experiment.yaml", "--dir", "out", *strict)
    assert done.returncode == 2
    assert "nothing was measured: every trial that is over is void" in done.stderr
    assert there.dyno("report", "out", *strict).returncode == 2


def test_a_trial_whose_engine_was_stopped_is_void(there: Place) -> None:
    there.experiment(PLAIN.replace("300ms", "2s").replace("blocks: 3", "blocks: 1"))
    process = there.start("run", "experiment.yaml", "--dir", "out")
    _stop_engine(process, there.path / "out")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out
    void = list((there.path / "out" / "trials").glob("*.void-1"))
    assert len(void) == 1
    record = json.loads((void[0] / "trial.json").read_text())
    assert "SIGSTOP" in record["void_reason"]


def _stop_engine(process: subprocess.Popen[str], run: Path) -> None:
    """Stops the engine that drives a trial, once it measures: that of the next one, where it was
    over meanwhile."""
    while process.poll() is None:
        measures = [path for path in run.glob("trials/*/events.ndjson") if path.stat().st_size]
        if not measures:
            time.sleep(0.01)
            continue
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children:
            try:
                words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"dyno-engine") and words[1:2] == [b"run"]:
                    os.kill(int(child), signal.SIGSTOP)
                    return
            except OSError:
                continue
        time.sleep(0.01)
    raise AssertionError("dyno ended before its engine was seen")
