"""An engine that is stopped, or silent, is noticed; one that goes on is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbdyno.execute.engine import watchdog
from dbdyno.execute.engine.job import Job, error_of
from dbdyno.execute.engine.watchdog import Watchdog
from dbdyno.hosts import LOCAL

RUN = {"job": "run", "interval_s": 0.01, "drain_s": 0.0, "groups": []}
LOAD = {"job": "load"}
INTERVAL = '{"event": "interval"}'


def engine(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE)


def stopped(process: subprocess.Popen[bytes]) -> bool:
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours until silence counts."""
    monkeypatch.setattr(watchdog, "SILENCE_S", 1e6)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few checks until silence counts."""
    for name in ("SILENCE_S", "START_S", "STOPPED_S"):
        monkeypatch.setattr(watchdog, name, 0.05)


@pytest.mark.usefixtures("patient")
def test_lines_come_whole_and_in_order() -> None:
    process = engine("printf 'a\\nb'; sleep 0.05; printf 'c\\n\\nd'")
    dog = Watchdog(process, RUN, look_s=0.01)
    assert list(dog.lines()) == [b"a\n", b"bc\n", b"\n", b"d"]
    assert dog.reason == ""
    assert process.wait() == 0


@pytest.mark.usefixtures("patient")
def test_a_stopped_engine_is_killed() -> None:
    process = engine(f"echo '{INTERVAL}'; kill -STOP $$; echo never")
    dog = Watchdog(process, RUN, look_s=0.01)
    assert list(dog.lines()) == [f"{INTERVAL}\n".encode()]
    assert "SIGSTOP" in dog.reason
    assert process.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("patient")
def test_a_stop_that_is_over_is_noticed() -> None:
    """The hole in what was measured stays."""
    process = engine(f"echo '{INTERVAL}'; exec sleep 600")
    dog = Watchdog(process, RUN, look_s=0.05)
    lines = dog.lines()
    next(lines)
    os.kill(process.pid, signal.SIGSTOP)
    while not stopped(process):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGCONT)
    assert list(lines) == []
    assert "SIGSTOP" in dog.reason
    process.wait()


@pytest.mark.usefixtures("patient")
def test_loading_may_be_stopped_and_go_on() -> None:
    process = engine("echo a; kill -STOP $$; echo b")
    dog = Watchdog(process, LOAD, look_s=0.01)
    lines = dog.lines()
    assert next(lines) == b"a\n"
    while not stopped(process):
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGCONT)
    assert list(lines) == [b"b\n"]
    assert dog.reason == ""
    assert process.wait() == 0


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("plan", [RUN, LOAD])
def test_a_stop_without_end_ends_loading_too(plan: dict[str, object]) -> None:
    process = engine("kill -STOP $$")
    dog = Watchdog(process, plan, look_s=0.01)
    assert list(dog.lines()) == []
    assert "SIGSTOP" in dog.reason
    process.wait()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("said", [f"echo '{INTERVAL}'", "true"])
def test_silence_ends_a_trial(said: str) -> None:
    process = engine(f"{said}; exec sleep 600")
    dog = Watchdog(process, RUN, look_s=0.01)
    list(dog.lines())
    assert "said nothing" in dog.reason
    process.wait()


@pytest.mark.usefixtures("impatient")
def test_loading_may_be_silent() -> None:
    process = engine("sleep 0.3; echo done")
    dog = Watchdog(process, LOAD, look_s=0.01)
    assert list(dog.lines()) == [b"done\n"]
    assert dog.reason == ""
    process.wait()


def test_what_a_stopped_engine_measured_is_an_error(tmp_path: Path) -> None:
    """Even if it reported its end before the first check."""
    program = tmp_path / "engine"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys\n"
        "sys.stdin.read()\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        'print(\'{"event": "end", "measured_s": 1.0}\', flush=True)\n'
    )
    program.chmod(0o755)
    outcome = Job(LOCAL, program, RUN, tmp_path / "events.ndjson").run(lambda event: None)
    assert "SIGSTOP" in outcome.spoilt
    assert "SIGSTOP" in error_of(outcome, "trial b01-t001").what
