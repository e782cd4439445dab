"""`dyno run` from file to verdict, and everything that can interrupt it."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from running import Place, complete_trials, result, wait_for

pytestmark = pytest.mark.live

SMALL = """
experiment: small
question: Does journal_mode matter?
targets:
  db: {kind: sqlite, durability: os_crash_unsafe}
workload: {kind: oltp, preset: write_only, tables: 1, rows: 1000}
factors:
  journal:
    rollback: {db.config: {journal_mode: DELETE}}
    wal: {db.config: {journal_mode: WAL}}
  sessions: [1, 2]
blocks: 3
warmup: 100ms
duration: 300ms
interval: 100ms
claims: ["tps[wal] > tps[rollback] at each sessions"]
"""


def test_a_small_experiment_ends_in_verdicts_and_reports(there: Place) -> None:
    file = there.experiment(SMALL)
    done = there.dyno("run", file, "--dir", "out")
    assert done.returncode == 0, done.stderr
    found = result(there.path / "out")
    assert len(found["cells"]) == 4
    assert all(cell["trials"] == 3 for cell in found["cells"])
    assert all(cell["metrics"]["transactions_per_s"]["mean"] > 0 for cell in found["cells"])
    assert found["claims"][0]["verdict"] in ("supported", "refuted", "undecided")
    assert (there.path / "out/report.html").stat().st_size > 10_000
    assert "Does journal_mode matter?" in (there.path / "out/report.md").read_text()
    assert there.until_clean() == []


def test_json_goes_to_stdout_and_talk_to_stderr(there: Place) -> None:
    done = there.dyno("run", there.experiment(SMALL), "--quick", "--json", "--dir", "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == result(there.path / "out")
    assert "trial" in done.stderr


def test_quick_is_never_judged(there: Place) -> None:
    done = there.dyno("run", there.experiment(SMALL), "--quick", "--dir", "out")
    assert done.returncode == 0, done.stderr
    verdicts = {claim["verdict"] for claim in result(there.path / "out")["claims"]}
    assert not verdicts & {"supported", "refuted"}
    again = there.dyno("report", "out", "--fail-on-undecided")
    assert again.returncode == 2
    assert "--fail-on-undecided: `" in again.stderr
    assert there.dyno("report", "out").returncode == 0


def test_dry_run_and_check_do_nothing(there: Place) -> None:
    file = there.experiment(SMALL)
    before = sorted(there.path.rglob("*"))
    check = there.dyno("run", file, "--check")
    dry = there.dyno("run", file, "--dry-run")
    assert (check.returncode, dry.returncode) == (0, 0), check.stderr + dry.stderr
    assert "12 trials" in dry.stdout
    assert check.stdout == ""
    good = json.loads(there.dyno("run", file, "--check", "--json").stdout)
    assert (good["ok"], good["cells"], good["blocks"]) == (True, 4, 3)
    bad = there.dyno("run", file, "--check", "--json", "--set", "blocks=many")
    assert bad.returncode == 2
    found = json.loads(bad.stdout)
    assert not found["ok"]
    assert "blocks" in found["error"]["what"]
    assert (found["error"]["where"]["line"], found["error"]["where"]["column"]) >= (1, 1)
    assert sorted(there.path.rglob("*")) == before


def test_the_same_seed_gives_the_same_plan(there: Place) -> None:
    file = there.experiment(SMALL)
    one, two, other = (
        json.loads(there.dyno("run", file, "--dry-run", "--json", *more).stdout)
        for more in ((), (), ("--set", "seed=7"))
    )
    assert (one["plan"], one["estimate"]) == (two["plan"], two["estimate"])
    assert one["plan"]["trials"] != other["plan"]["trials"]


def trials_exist(run: Path, count: int) -> bool:
    return len(complete_trials(run)) >= count


def test_ctrl_c_once_ends_after_this_trial_and_resume_finishes(there: Place) -> None:
    file = there.experiment(SMALL)
    dyno = there.start("run", file, "--dir", "out")
    run = there.path / "out"
    assert wait_for(lambda: trials_exist(run, 2), 120)
    dyno.send_signal(signal.SIGINT)
    out, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 3, out
    assert "--resume" in out
    kept = complete_trials(run)
    assert 2 <= len(kept) < 12
    assert there.until_clean() == []
    assert json.loads(there.dyno("status", run, "--json").stdout)["status"] == "interrupted"

    resumed = there.dyno("run", "--resume", run)
    assert resumed.returncode == 0, resumed.stderr
    after = complete_trials(run)
    assert len(after) == 12
    assert all(after[name] == text for name, text in kept.items())


def test_a_run_resumes_on_its_own_storage_and_no_other_unasked(there: Place) -> None:
    there.path.joinpath("disk").mkdir()
    dyno = there.start("run", there.experiment(SMALL), "--dir", "out", "--scratch", "disk")
    run = there.path / "out"
    assert wait_for(lambda: trials_exist(run, 5), 120)  # block 1 whole, block 2 begun
    dyno.send_signal(signal.SIGINT)
    dyno.communicate(timeout=120)
    assert dyno.returncode == 3

    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        refused = there.dyno("run", "--resume", run, "--scratch", memory)
        assert refused.returncode == 2
        assert "storage: " in refused.stderr
        assert "--mix-environments" in refused.stderr
        assert "Traceback" not in refused.stderr
        before = complete_trials(run)
        mixed = there.dyno("run", "--resume", run, "--scratch", memory, "--mix-environments")
        assert mixed.returncode == 0, mixed.stderr
    after = complete_trials(run)
    kept = [name for name, text in before.items() if after[name] == text]
    whole = {name[:3] for name in before if sum(n[:3] == name[:3] for n in before) == 4}
    assert {name[:3] for name in kept} == whole, "a broken block is measured again"
    manifest = json.loads((run / "manifest.json").read_text())
    places = [session["environment"]["scratch"] for session in manifest["sessions"]]
    assert places == [str(there.path / "disk"), memory]
    assert any("Another environment from block" in note for note in result(run)["notes"])
    # What it was measured on last is now its storage; it is gone, and nothing takes its place.
    assert there.dyno("run", "--resume", run).returncode == 2


def test_a_lost_terminal_does_not_stop_a_run(there: Place) -> None:
    dyno = there.start("run", there.experiment(SMALL), "--dir", "out")
    run = there.path / "out"
    assert wait_for(lambda: trials_exist(run, 1), 120)
    dyno.send_signal(signal.SIGHUP)
    out, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 0, out
    assert len(complete_trials(run)) == 12


def test_a_second_process_is_kept_out(there: Place) -> None:
    dyno = there.start("run", there.experiment(SMALL), "--dir", "out")
    run = there.path / "out"
    assert wait_for(lambda: trials_exist(run, 1), 120)
    dyno.send_signal(signal.SIGSTOP)  # so that it is not over before the second one asks
    second = there.dyno("run", "--resume", run)
    dyno.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert str(dyno.pid) in second.stderr
    dyno.communicate(timeout=120)
    assert dyno.returncode == 0


@pytest.mark.parametrize("victim", ["dyno", "engine"])
def test_kill_9_loses_no_complete_trial_and_leaves_nothing(there: Place, victim: str) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    pause = random.Random(seed)
    run = there.path / "out"
    dyno = there.start("run", there.experiment(SMALL), "--dir", "out")
    assert wait_for(lambda: trials_exist(run, 1), 120)
    for _ in range(3):
        time.sleep(pause.uniform(0, 1.0))
        kept = complete_trials(run)
        if victim == "dyno":
            dyno.kill()
        else:
            kill_engine(there)
        dyno.communicate(timeout=120)
        assert there.until_clean() == []
        after = complete_trials(run)
        assert all(after[name] == text for name, text in kept.items())
        dyno = there.start("run", "--resume", run)
    out, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 0, out
    assert len(complete_trials(run)) == 12


def kill_engine(there: Place) -> None:
    for pid, line in there.processes():
        if "dyno-engine run" in line:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, signal.SIGKILL)
