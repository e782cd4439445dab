"""Scripts whose connections are lost in mid-run: killed one by one, or with their server."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from private_servers import CORE
from running import wait_for
from scripted import DRIVERS, FIRST, address, command, serving, started

from dbdyno.systems.base import Server

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SESSIONS = 4
# Each session ends after an event that finds the file: when the test has seen what it is about.
SCRIPT = """\
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("SELECT 1")
  local over = io.open("OVER")
  if over then
    over:close()
    return true
  end
end
"""
# What either system calls a connection that was closed from outside.
LOST = {"mariadb": "2013,2006,1927", "postgres": "57P01,08006,08003"}
OPEN = {
    "mariadb": "SELECT id FROM information_schema.processlist WHERE user = 's'",
    "postgres": "SELECT pid FROM pg_stat_activity WHERE usename = 's'",
}
ENDLESS = ("--time=0", "--rate=400")
ENDS_S = 180


def kill_all(kind: str, server: Server) -> None:
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 's'"
    server.run(FIRST[kind], [kill if kind == "postgres" else "KILL CONNECTION USER s"])


def connections(kind: str, server: Server) -> set[int]:
    """Those of the load, by the server's numbers."""
    return {int(row[0]) for row in server.run(FIRST[kind], [OPEN[kind]])}


def connected_anew(kind: str, server: Server, before: set[int]) -> bool:
    """Whether each session has a connection, and none of those before."""
    now = connections(kind, server)
    return len(now) == SESSIONS and not now & before


@contextmanager
def under_load(
    kind: str, port: int, path: Path, *options: str, times: tuple[str, ...] = ENDLESS
) -> Iterator[subprocess.Popen[str]]:
    """A run of which the first second is over."""
    script, over = path / "own.lua", path / "over"
    over.unlink(missing_ok=True)
    script.write_text(SCRIPT.replace("OVER", str(over)))
    times = (f"--threads={SESSIONS}", "--report-interval=1", *times)
    words = command(script, *address(kind, port), *times, *options, "run")
    with started(words, "[ 1s ]") as process:
        yield process


def ended(process: subprocess.Popen[str], path: Path) -> str:
    """What a run says that the test ends."""
    (path / "over").touch()
    return str(process.communicate(timeout=ENDS_S)[0])


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
            before = connections(kind, server)
            kill_all(kind, server)
            assert wait_for(lambda: connected_anew(kind, server, before))
            text = ended(process, tmp_path)
        assert process.returncode == 0, text
        assert number("reconnects", text) == SESSIONS
        assert "FATAL" not in text

        with under_load(kind, port, tmp_path, ignore + "1") as process:
            kill_all(kind, server)
            text = process.communicate(timeout=ENDS_S)[0]
        assert process.returncode == 1, text
        said = r"mysql_drv_query\(\) returned error \d+ \(|PQexec\(\) failed: 7 "
        assert re.search(f"FATAL: ({said})", text), text
        assert "FATAL: `thread_run' function failed: " in text
        assert number("total number of events", text) > 0

        with under_load(kind, port, tmp_path, ignore + "all") as process:
            server.stop()
            again = bench.start()
            try:
                assert wait_for(lambda: connected_anew(kind, again, set()))
                text = ended(process, tmp_path)
            finally:
                again.stop()
        assert process.returncode == 0, text
        assert number("reconnects", text) >= SESSIONS


def kill(server: Server) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", CORE)
def test_a_server_that_is_killed_ends_the_run_or_is_waited_for(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(kind, monkeypatch) as (bench, server, port):
        ignore = f"--{DRIVERS[kind]}-ignore-errors="

        with under_load(kind, port, tmp_path, ignore + "all") as process:
            kill(server)
            server.stop()
            server = bench.start()
            assert wait_for(functools.partial(connected_anew, kind, server, set()))
            text = ended(process, tmp_path)
        assert process.returncode == 0, text
        assert number("reconnects", text) >= SESSIONS
        assert "FATAL" not in text and number("total number of events", text) > 0

        with under_load(kind, port, tmp_path, ignore + "1") as process:
            kill(server)
            server.stop()
            text = process.communicate(timeout=ENDS_S)[0]
        assert process.returncode == 1, text
        assert "FATAL: `thread_run' function failed: " in text
        assert number("total number of events", text) > 0  # what was done stays

        server = bench.start()
        with under_load(kind, port, tmp_path, ignore + "all", times=("--time=7",)) as process:
            kill(server)
            server.stop()  # and it is not restarted
            text = process.communicate(timeout=ENDS_S)[0]
        assert process.returncode == 1, text
        assert f"127.0.0.1:{port}: cannot connect" in text
        reported = [int(second) for second in re.findall(r"^\[ (\d+)s \]", text, re.MULTILINE)]
        assert max(reported) >= 3, "it was tried for as long as the run lasts"
        assert number("total number of events", text) > 0
