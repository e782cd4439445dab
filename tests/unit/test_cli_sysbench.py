"""`dyno sysbench` becomes the engine: arguments untouched, signals as they were, its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import dbdyno

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
        timeout=60,
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
        timeout=60,
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
        timeout=60,
    )
    assert done.returncode == -signal.SIGINT
    ignored = int(done.stdout.split()[1], 16)
    for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGXFSZ):
        # Under nohup a program goes on ignoring SIGHUP, as it should.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            assert not ignored >> (number - 1) & 1, number
