"""Real servers that are ended in mid-life and start again: as themselves, with what was committed
and with a guardian of their own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from private_servers import SERVERS, gone, running, shared_memory_of, still_there
from running import wait_for

from dbdyno.systems.process.managed import Managed

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("temp")]


@pytest.mark.parametrize("kind", [*SERVERS, "redis"])
@pytest.mark.parametrize("tls", ["off", "verify"])
def test_a_killed_server_starts_again_as_it_was(kind: str, tls: str, temp: Path) -> None:
    with running(kind, tls=tls) as (made, server):
        assert isinstance(server, Managed)
        server.create_schema("dyno")
        if kind != "redis":
            server.run("dyno", ["CREATE TABLE kept (a int)", "INSERT INTO kept VALUES (7)"])
        before = server.engine_target(made.target, made.resolved, "dyno")
        pid = server.pid or 0
        memory = shared_memory_of(pid) if kind == "postgres" else set()
        server.kill()
        assert gone(pid)
        assert not server.alive()
        server.start_again()
        assert server.alive()
        assert server.pid != pid
        assert still_there(memory) == set()
        # Port, user, password and certificate: clients find it as before.
        assert server.engine_target(made.target, made.resolved, "dyno") == before
        if kind != "redis":
            assert [list(row) for row in server.run("dyno", ["SELECT a FROM kept"])] == [[7]]
        server.check_settings(made.resolved)
        again = server.pid
    assert gone(again or 0)
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("kind", ["mariadb"])
def test_its_new_guardian_removes_it(kind: str, temp: Path) -> None:
    with running(kind) as (_, server):
        assert isinstance(server, Managed)
        assert server.stop()
        server.start_again()
        pid = server.pid or 0
        os.kill(server.process.guardian_pid, signal.SIGKILL)
        assert wait_for(lambda: gone(pid), 60)  # it does not outlive its guardian


@pytest.mark.parametrize("kind", ["postgres"])
def test_a_paused_server_answers_again(kind: str) -> None:
    with running(kind) as (_, server):
        assert isinstance(server, Managed)
        server.pause()
        stat = Path(f"/proc/{server.pid}/stat")  # it stops when it runs next
        assert wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        server.resume()
        assert server.alive()
