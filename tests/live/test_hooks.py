"""Commands around a real run, and what is undone after Ctrl-C, SIGTERM and kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import servers_there
from ending import LONG, Watched, ended, lines
from private_servers import binaries
from running import DYNO, Place, complete_trials, wait_for
from servers_there import PASSWORD

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: hooked
targets: {db: {kind: sqlite, durability: none}}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 100}
hooks:
  after_run: echo after_run >> trace
factors:
  flag:
    up:
      apply: echo apply >> trace; touch flag; SLOW
      wait_until: {run: test -e flag, deadline: 10s}
      undo: echo undo >> trace; rm flag
    raised: {apply: touch raised, undo: rm raised}
blocks: 3
warmup: 0s
duration: 200ms
interval: 100ms
"""


def words(there: Place) -> list[str]:
    trace = there.path / "trace"
    return trace.read_text().split() if trace.exists() else []


def started(there: Place, slow: str) -> subprocess.Popen[str]:
    """A run in the middle of an `apply` that takes long."""
    there.experiment(EXPERIMENT.replace("SLOW", slow))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    assert wait_for(lambda: (there.path / "flag").exists(), 180)
    return dyno


def test_levels_of_files_are_there_while_measured_and_gone_afterwards(there: Place) -> None:
    text = EXPERIMENT.replace("SLOW", "true").replace(
        "hooks:", "hooks:\n  before_trial: echo $DYNO_LEVEL_FLAG $(ls flag raised 2>/dev/null)"
    )
    there.experiment(text)
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stderr
    logs = sorted((there.path / "r").glob("trials/*/hooks/before_trial.log"))
    assert len(logs) == 6
    assert {log.read_text().splitlines()[-1] for log in logs} == {"up flag", "raised raised"}
    assert not (there.path / "flag").exists() and not (there.path / "raised").exists()
    assert "What was done around it" in (there.path / "r" / "report.html").read_text()
    assert there.until_clean() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_apply_and_what_it_did_is_undone(there: Place, number: int) -> None:
    dyno = started(there, "sleep 600")
    dyno.send_signal(number)
    output, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 3, output
    assert words(there) == ["apply", "undo", "after_run"]
    assert not (there.path / "flag").exists()
    assert there.until_clean() == []


def test_after_kill_9_the_resumed_run_undoes_first_wherever_it_is_started(there: Place) -> None:
    dyno = started(there, f"test -e {there.path}/mended || exec sleep 600")
    dyno.kill()
    dyno.communicate(timeout=120)
    assert (there.path / "flag").exists()
    assert [a["level"] for a in json.loads((there.path / "r/applied.json").read_text())] == ["up"]
    (there.path / "mended").touch()
    manifest = there.path / "r/manifest.json"
    before = manifest.read_text()
    manifest.write_text(before.replace('"boot_id": "', '"boot_id": "an earlier boot, '))
    refused = there.dyno("run", "--resume", "r")
    assert (refused.returncode, "flag=up is still applied" in refused.stderr) == (2, True)
    manifest.write_text(before)
    resumed = subprocess.run(
        [DYNO, "run", "--resume", str(there.path / "r")],
        cwd="/",
        env=there.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert resumed.returncode == 0, resumed.stderr
    found = words(there)
    assert found[:3] == ["apply", "undo", "apply"]
    assert found[-1] == "after_run"
    assert found.count("apply") == found.count("undo")
    assert not (there.path / "flag").exists()
    assert there.until_clean() == []  # nor does the first apply's `sleep` live on


def test_a_hook_that_hangs_voids_its_trials_and_the_run_goes_on(there: Place) -> None:
    text = EXPERIMENT.replace("SLOW", "true").replace(
        "hooks:",
        "hooks:\n  before_trial: {run: 'test $DYNO_LEVEL_FLAG = raised || sleep 600 & wait $!',"
        " deadline: 1s}",  # in which a busy machine starts a shell
    )
    there.experiment(text.replace("blocks: 3", "blocks: 1"))
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stderr
    records = [
        json.loads(path.read_text())
        for path in (there.path / "r").glob("trials/b01-t???/trial.json")
    ]
    assert sorted(record["status"] for record in records) == ["complete", "void"]
    assert "before_trial" in next(r["void_reason"] for r in records if r["void_reason"])
    assert "was not done after" in (there.path / "r" / "report.md").read_text()
    assert there.until_clean() == []


def within(there: Place, run: str, duration: str = "1500ms") -> Path:
    """An experiment with a command half a second into each trial."""
    return there.experiment(f"""
experiment: within
targets: {{db: {{kind: "null", options: {{delay_us: 1000}}}}}}
workload: {{kind: oltp, preset: point_select, tables: 1, rows: 100}}
hooks:
  during_trial: {{run: {run!r}, at_s: 0.5, deadline: 30s}}
  after_trial: echo after >> trace
factors: {{workload.sessions: [1, 2]}}
blocks: 1
warmup: 300ms
duration: {duration}
interval: 100ms
""")


def test_a_command_runs_within_each_trial_at_its_second(there: Place) -> None:
    within(there, "echo $DYNO_TRIAL >> trace", LONG)

    def ran(watched: Watched) -> bool:
        commands = lines(there.path / "r/hooks.ndjson")
        done = {one["trial"] for one in commands if one["point"] == "during_trial"}
        return watched.directory.name in done

    with ended(there.path / "r", ran):
        done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stderr
    assert words(there) == ["b01-t001", "after", "b01-t002", "after"]
    runs = [json.loads(line) for line in (there.path / "r/hooks.ndjson").read_text().splitlines()]
    moments = [run for run in runs if run["point"] == "during_trial"]
    assert [(run["at_s"], run["outcome"]) for run in moments] == [(0.5, "ok")] * 2
    assert all(run["started_s"] >= 0.5 for run in moments)
    assert "during\\_trial at 0.5 s" in (there.path / "r/report.md").read_text()
    assert there.until_clean() == []


def test_a_search_runs_it_in_each_probe(there: Place) -> None:
    text = within(there, "echo $DYNO_TRIAL >> trace").read_text()
    find = "rows: 100, sessions: 4, find: {rate: max, while: response_ms_p95 < 50, start: 200/s}"
    text = text.replace("rows: 100", find)
    there.experiment(text.replace("factors: {workload.sessions: [1, 2]}", ""))
    done = there.dyno("run", "experiment.yaml", "--dir", "r", "--quick")
    assert done.returncode == 0, done.stderr
    probes = len(list((there.path / "r/trials/b01-t001").glob("probe-*")))
    # Before that, of an attempt whose load was over before its command.
    assert words(there)[-1 - probes :] == ["b01-t001"] * probes + ["after"]
    assert probes > 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_within_a_trial_with_all_it_has_started(
    there: Place, number: int
) -> None:
    within(there, f"test -e {there.path}/go || {{ touch begun; sleep 600 & wait; }}")
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    assert wait_for(lambda: (there.path / "begun").exists(), 180)
    dyno.send_signal(number)
    if number == signal.SIGINT:  # the first waits for the trial, and so for its command
        assert wait_for(
            lambda: "stopping after this trial" in (there.path / "r/run.log").read_text()
        )
        dyno.send_signal(number)
    output, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 3, output
    assert there.until_clean() == []  # nor does the `sleep` live on
    (there.path / "go").touch()
    assert there.dyno("run", "--resume", "r").returncode == 0
    runs = [json.loads(line) for line in (there.path / "r/hooks.ndjson").read_text().splitlines()]
    assert [(run["trial"], run["outcome"]) for run in runs if run["point"] == "during_trial"] == [
        ("b01-t001", "stopped"),
        ("b01-t001", "ok"),
        ("b01-t002", "ok"),
    ]


def test_a_checkpoint_in_the_middle_of_a_trial(there: Place) -> None:
    psql = binaries("postgres").paths["server"].with_name("psql")
    with servers_there.there("postgres") as server:
        server.grant(*server.read_only(), "pg_checkpoint TO app")
        there.environment |= {"APP_PASSWORD": PASSWORD, "PGPASSWORD": PASSWORD}
        there.experiment(f"""
experiment: checkpoint
targets: {{db: {{url: "{server.url}", password_env: APP_PASSWORD, data: {{existing: shop}}}}}}
workload: {{kind: oltp, preset: point_select, tables: 2, rows: {servers_there.ROWS}, sessions: 2}}
hooks:
  during_trial: {{run: "{psql} {server.url} -c CHECKPOINT", at_s: 2}}
blocks: 2
warmup: 0s
duration: 3s
""")
        requested = "SELECT checkpoints_req FROM pg_stat_bgwriter"
        if int(server.sql("SHOW server_version_num")[0][0]) >= 170000:
            requested = "SELECT num_requested FROM pg_stat_checkpointer"
        before = server.sql(requested)[0][0]
        done = there.dyno("run", "experiment.yaml", "--dir", "r")
        assert done.returncode == 0, done.stderr
        assert wait_for(lambda: server.sql(requested)[0][0] >= before + 2)
    runs = [json.loads(line) for line in (there.path / "r/hooks.ndjson").read_text().splitlines()]
    assert [(run["trial"], run["at_s"], run["outcome"]) for run in runs] == [
        ("b01-t001", 2.0, "ok"),
        ("b02-t001", 2.0, "ok"),
    ]
    for run in runs:
        assert run["started_s"] >= 2.0
        log = (there.path / "r" / run["log"]).read_text()
        assert log.splitlines()[-1] == "CHECKPOINT"
    assert len(complete_trials(there.path / "r")) == 2


def test_a_password_of_dyno_is_not_in_a_commands_environment(there: Place) -> None:
    there.experiment(EXPERIMENT.replace("SLOW", "env > env.txt").replace("blocks: 3", "blocks: 1"))
    there.environment["HARMLESS"] = "1"
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stderr
    seen = dict(
        line.split("=", 1)
        for line in (there.path / "env.txt").read_text().splitlines()
        if "=" in line
    )
    assert seen["HARMLESS"] == "1"
    assert {name for name in seen if name.startswith("DYNO_")} - set(os.environ) == {
        *("DYNO_RUN", "DYNO_TRIAL", "DYNO_BLOCK", "DYNO_CELL", "DYNO_LEVEL_FLAG"),
        "DYNO_SCRATCH",
    }
    assert Path(seen["DYNO_RUN"]) == there.path / "r"


def test_a_level_may_be_the_file_system_that_servers_keep_their_files_on(there: Place) -> None:
    """Directories take the part of mounts: `rmdir` fails if anything of dbdyno is left in one."""
    scratch = there.path / "fs"
    scratch.mkdir()
    there.experiment(f"""
experiment: storage
targets: {{db: {{kind: sqlite, durability: none}}}}
workload: {{kind: oltp, preset: update_index, tables: 1, rows: 100}}
hooks: {{before_trial: 'ls {there.path}/fs > "{there.path}/seen-$DYNO_LEVEL_STORAGE"'}}
factors:
  storage:
    other:
      apply: mv {scratch} {scratch}.below && mkdir -m 1777 {scratch}
      undo: rmdir {scratch} && mv {scratch}.below {scratch}
    usual:
blocks: 2
warmup: 0s
duration: 200ms
interval: 100ms
""")
    done = there.dyno("run", "experiment.yaml", "--dir", "r", "--scratch", scratch)
    assert done.returncode == 0, done.stderr
    other, usual = ((there.path / f"seen-{name}").read_text() for name in ("other", "usual"))
    assert other.strip() and usual.strip() and other != usual
    assert not scratch.with_name("fs.below").exists()
    scratch.rmdir()
    assert there.until_clean() == []
