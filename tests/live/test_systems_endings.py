"""How real servers end: hung, killed, with their guardian or with dyno; nothing is left."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest
from private_servers import (
    SERVERS,
    bench,
    binaries,
    gone,
    running,
    shared_memory_of,
    still_there,
)
from running import wait_for

from dbdyno.systems.process import managed

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("temp")]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_hung_server_is_killed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = "postgres" if kind == "postgres" else "mysql"
    control_module = importlib.import_module(f"dbdyno.systems.{family}.control")
    monkeypatch.setattr(control_module, "CONTROL_TIMEOUT_S", 1)
    monkeypatch.setattr(managed, "HUNG_TIMEOUT_S", 0.5)
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGSTOP)  # which then makes no more of them
        for pid in children(server.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        assert not server.alive()
        server.stop()
        assert server.was_killed  # type: ignore[attr-defined]
        assert gone(server.pid)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_server_is_noticed_and_cleaned_up(kind: str, temp: Path) -> None:
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        memory = shared_memory_of(server.pid)
        assert kind != "postgres" or len(memory) == 2
        os.kill(server.pid, signal.SIGKILL)
        assert wait_for(lambda: not server.alive())
        server.stop()
        assert gone(server.pid)
        assert made.directory.exists(), "the log is still needed"
    assert list(temp.iterdir()) == []
    assert still_there(memory) == set()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_guardian_takes_its_server_along(kind: str, temp: Path) -> None:
    with bench(kind) as made:
        server = made.start()
        assert server.pid is not None
        os.kill(server.process.guardian_pid, signal.SIGKILL)  # type: ignore[attr-defined]
        assert wait_for(lambda: gone(server.pid or 0), 60)
        assert not server.alive()
        server.stop()
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_dyno_dies(kind: str, number: signal.Signals, temp: Path) -> None:
    binaries(kind)
    program = textwrap.dedent(f"""
        import json, sys, time
        from private_servers import running
        with running({kind!r}) as (made, server):
            print(json.dumps({{
                "pid": server.pid,
                "guardian": server.process.guardian_pid,
                "directory": str(made.directory.parent),
                "sockets": str(server.socket_path.parent),
            }}), flush=True)
            time.sleep(600)
    """)
    dyno = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},  # what tests import, it can too
        text=True,
    )
    try:
        assert dyno.stdout is not None
        facts = json.loads(dyno.stdout.readline())
        assert not gone(facts["pid"])
        assert Path(facts["directory"]).exists()
        memory = shared_memory_of(facts["pid"])
    finally:
        dyno.send_signal(number)
        dyno.wait()
    assert wait_for(lambda: gone(facts["pid"]), 60)
    assert wait_for(lambda: gone(facts["guardian"]), 60)
    assert wait_for(lambda: not Path(facts["directory"]).exists(), 60)
    assert not Path(facts["sockets"]).exists()
    assert wait_for(lambda: list(temp.iterdir()) == [])
    assert still_there(memory) == set()


def test_the_terminal_cannot_stop_a_server() -> None:
    with running("mariadb") as (_, server):
        process = server.process  # type: ignore[attr-defined]
        for number in (signal.SIGHUP, signal.SIGINT):
            os.kill(process.guardian_pid, number)
        assert os.getsid(process.guardian_pid) != os.getsid(0)
        assert os.getsid(server.pid or 0) != os.getsid(process.guardian_pid)
        assert server.alive()
