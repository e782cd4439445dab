"""`dyno sysbench` becomes the engine: arguments untouched, signals as they were, its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dbdyno
from dbdyno.store.run import Run

FAKE = """#!{python}
import json, sys
if sys.argv[1:] == ["--version"]:
    print("dyno-engine {version}")
    sys.exit(0)
print(json.dumps([sys.argv[1:], sys.stdin.read()]))
sys.exit(7)
"""
DYNO = [sys.executable, "-c", "from dbdyno.cli.entry import main; main()"]


def called(tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    fake = tmp_path / "dyno-engine"
    fake.write_text(FAKE.format(python=sys.executable, version=dbdyno.__version__))
    fake.chmod(0o755)
    return subprocess.run(
        [*DYNO, *args],
        input="function event() end",
        env=os.environ | {"DYNO_ENGINE": str(fake)},
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_arguments_standard_input_and_exit_code_pass_through(tmp_path: Path) -> None:
    args = ["--help", "--", "-h", "--threads=2", "a b", "run", "--version"]
    done = called(tmp_path, "sysbench", *args)
    assert done.stderr == ""
    assert done.returncode == 7
    assert done.stdout.startswith('[["sysbench", "--help", "--", "-h", "--threads=2", "a b", "run"')
    assert "function event() end" in done.stdout


def test_an_engine_that_is_not_there_is_an_error_for_people(tmp_path: Path) -> None:
    environment = os.environ | {"DYNO_ENGINE": str(tmp_path / "none")}
    done = subprocess.run(
        [*DYNO, "sysbench", "cpu", "run"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("dyno: ") and "Traceback" not in done.stderr


def test_signals_are_the_engines(tmp_path: Path) -> None:
    fake = tmp_path / "dyno-engine"
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo dyno-engine {dbdyno.__version__} && exit\n'
        "grep SigIgn /proc/self/status\nkill -INT $$\n"
    )
    fake.chmod(0o755)
    done = subprocess.run(
        [*DYNO, "sysbench"],
        env=os.environ | {"DYNO_ENGINE": str(fake)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == -signal.SIGINT
    ignored = int(done.stdout.split()[1], 16)
    for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGXFSZ):
        # Under nohup a program goes on ignoring SIGHUP, as it should.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            assert not ignored >> (number - 1) & 1, number


# -- --dyno-out ----------------------------------------------------------------------------------

RECORD = Path(__file__).parents[1] / "fixtures" / "imported" / "sysbench-record.ndjson"
RECORDING = f"""#!/bin/sh
[ "$1" = --version ] && echo dyno-engine {dbdyno.__version__} && exit
[ "$1" = record ] || exit 9
shift
head -n "${{LINES_OF_IT:-99}}" {RECORD} > "$1"
shift
echo "$@"
echo "to stderr" >&2
exec sh -c "${{THEN:-exit 7}}"
"""


def recorded(tmp_path: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    fake = tmp_path / "dyno-engine"
    fake.write_text(RECORDING)
    fake.chmod(0o755)
    return subprocess.run(
        [*DYNO, "sysbench", *args],
        cwd=tmp_path,
        env=os.environ | {"DYNO_ENGINE": str(fake)} | environment,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_a_directory_for_the_run_is_taken_out_of_the_arguments(tmp_path: Path) -> None:
    done = recorded(tmp_path, "mine", "--dyno_out", "a/b", "--mysql-password=hush", "run")
    assert (done.stdout, done.stderr) == (
        "sysbench mine --mysql-password=hush run\n",
        "to stderr\n",
    )
    assert done.returncode == 7
    run = Run.open(tmp_path / "a/b")
    (record,) = run.records()
    assert record.metrics["transactions_per_s"] > 0
    assert (run.status, record.warnings) == ("complete", ())
    assert "hush" not in (tmp_path / "a/b/manifest.json").read_text()
    assert run.manifest["command"][-1] == f"--dyno-out={tmp_path / 'a/b'}"


@pytest.mark.long
def test_what_was_measured_is_kept_however_the_run_ends(tmp_path: Path) -> None:
    done = recorded(tmp_path, "--dyno-out=out", "run", LINES_OF_IT="2", THEN="kill -TERM $$")
    assert done.returncode == -signal.SIGTERM
    (record,) = Run.open(tmp_path / "out").records()
    assert "cut off" in record.warnings[0]
    done = recorded(tmp_path, "--dyno-out=none/x", "prepare", LINES_OF_IT="0")
    assert done.returncode == 7
    assert "nothing was measured" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.long
def test_a_directory_that_is_used_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("")
    (tmp_path / "file").write_text("")
    for directory, why in (("out", "not empty"), ("file", "cannot make"), ("", "no directory")):
        done = recorded(tmp_path, f"--dyno-out={directory}", "run")
        assert done.returncode == 2
        assert why in done.stderr
        assert done.stdout == ""
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_signals_reach_the_load(tmp_path: Path) -> None:
    fake = tmp_path / "dyno-engine"
    fake.write_text(RECORDING)
    fake.chmod(0o755)
    waits = "trap 'echo heard; exit 5' USR1; echo ready; while :; do sleep 0.02; done"
    with subprocess.Popen(
        [*DYNO, "sysbench", "--dyno-out=out", "run"],
        cwd=tmp_path,
        env=os.environ | {"DYNO_ENGINE": str(fake), "THEN": waits},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)][1] == "ready\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.read() == "heard\n"
        assert process.wait(timeout=180) == 5
    assert Run.open(tmp_path / "out").status == "complete"
