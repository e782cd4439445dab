"""Scripts whose connections are lost in mid-run: killed one by one, or with their server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from private_servers import CORE
from scripted import DRIVERS, FIRST, address, command, serving, started

from dbdyno.systems.base import Server

pytestmark = pytest.mark.live

SESSIONS = 4
SCRIPT = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""
# What either system calls a connection that was closed from outside.
LOST = {"mariadb": "2013,2006,1927", "postgres": "57P01,08006,08003"}


def kill_all(kind: str, server: Server) -> None:
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 's'"
    server.run(FIRST[kind], [kill if kind == "postgres" else "KILL CONNECTION USER s"])


@contextmanager
def under_load(kind: str, port: int, path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A run of some seconds, of which the first is over."""
    script = path / "own.lua"
    script.write_text(SCRIPT)
    times = (f"--threads={SESSIONS}", "--time=3", "--report-interval=1")
    words = command(script, *address(kind, port), *times, *options, "run")
    with started(words, "[ 1s ]") as process:
        yield process


def number(label: str, text: str) -> int:
    found = re.search(rf"{label}: +(\d+)", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("kind", CORE)
def test_lost_connections_are_made_anew_or_end_the_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(kind, monkeypatch) as (bench, server, port):
        ignore = f"--{DRIVERS[kind]}-ignore-errors="

        with under_load(kind, port, tmp_path, ignore + LOST[kind]) as process:
            kill_all(kind, server)
            text = process.communicate(timeout=60)[0]
        assert process.returncode == 0, text
        assert number("reconnects", text) == SESSIONS
        assert "[ 3s ]" in text and "FATAL" not in text

        with under_load(kind, port, tmp_path, ignore + "1") as process:
            kill_all(kind, server)
            text = process.communicate(timeout=60)[0]
        assert process.returncode == 1, text
        said = r"mysql_drv_query\(\) returned error \d+ \(|PQexec\(\) failed: 7 "
        assert re.search(f"FATAL: ({said})", text), text
        assert "FATAL: `thread_run' function failed: " in text
        assert number("total number of events", text) > 0

        with under_load(kind, port, tmp_path, ignore + "all") as process:
            server.stop()
            again = bench.start()
            try:
                text = process.communicate(timeout=60)[0]
            finally:
                again.stop()
        assert process.returncode == 0, text
        assert number("reconnects", text) >= SESSIONS
        last = re.findall(r"^\[ 3s \] .* tps: ([\d.]+)", text, re.M)
        assert float(last[0]) > 0, text


def kill(server: Server) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", CORE)
def test_a_server_that_is_killed_ends_the_run_or_is_waited_for(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(kind, monkeypatch) as (bench, server, port):
        ignore = f"--{DRIVERS[kind]}-ignore-errors="

        # As long as the server needs to come back: events end it, which no time does.
        endless = ("--time=0", "--rate=400", "--events=4000")
        with under_load(kind, port, tmp_path, ignore + "all", *endless) as process:
            kill(server)
            server.stop()
            server = bench.start()
            text = process.communicate(timeout=60)[0]
        assert process.returncode == 0, text
        assert number("reconnects", text) >= SESSIONS
        assert "FATAL" not in text and number("total number of events", text) == 4000

        with under_load(kind, port, tmp_path, ignore + "1") as process:
            kill(server)
            server.stop()
            text = process.communicate(timeout=60)[0]
        assert process.returncode == 1, text
        assert "FATAL: `thread_run' function failed: " in text
        assert number("total number of events", text) > 0  # what was done stays

        server = bench.start()
        with under_load(kind, port, tmp_path, ignore + "all") as process:
            kill(server)
            server.stop()  # and it is not restarted
            text = process.communicate(timeout=60)[0]
        assert process.returncode == 1, text
        assert f"127.0.0.1:{port}: cannot connect" in text
        assert "[ 3s ]" in text and number("total number of events", text) > 0
