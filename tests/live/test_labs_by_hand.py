"""`dyno lab`: real servers in the background, found by name; nothing is left whatever dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from private_servers import binaries
from running import DYNO, Place, wait_for

from dbdyno.lab import listening, registry
from needed import missing

pytestmark = pytest.mark.live

THEIR_ACCOUNT = 12345
# It may read what is root's alone, since this Python may be below root's home; and nothing else.
AS_USER = (
    *("setpriv", f"--reuid={THEIR_ACCOUNT}", f"--regid={THEIR_ACCOUNT}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
SMALL = ("--memory", "32Mi")


@pytest.fixture
def labs(there: Place) -> Iterator[Place]:
    """A place, all labs of which are ended by force if a test fails."""
    yield there
    for pid in owners(there):
        os.kill(pid, signal.SIGKILL)


def owners(there: Place) -> list[int]:
    """The processes that own labs."""
    return [pid for pid, line in there.processes() if "dbdyno.lab.owner" in line]


def lab(there: Place, *words: object) -> str:
    """What `dyno lab` prints, if it succeeds."""
    done = there.dyno("lab", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def status(there: Place) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(lab(there, "status", "--json"))
    return found


def roles(there: Place) -> dict[str, str]:
    """Of all nodes."""
    return {node["name"]: node["role"] for one in status(there) for node in one["nodes"]}


def have(there: Place, **asked: str) -> bool:
    """Whether all nodes come to have these roles, `_` for `.` in their names: one that is late with
    its answer has none."""
    wanted = {name.replace("_", "."): role for name, role in asked.items()}
    return wait_for(lambda: roles(there) == wanted)


def refused(there: Place, *words: object) -> str:
    """The error of `dyno lab`, which has to fail."""
    done = there.dyno("lab", *words)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_replicas_are_reached_by_url_and_client_and_a_killed_one_comes_back(labs: Place) -> None:
    binaries("mariadb")
    done = labs.dyno("lab", "up", "replicas", "--kind", "mariadb", "--nodes", 2, *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    assert "replicas: starting replicas.2" in done.stderr
    made = json.loads(done.stdout)
    assert (made["state"], made["topology"], made["node_count"]) == ("up", "replicas", 2)
    assert have(labs, replicas="primary", replicas_2="replica")
    assert all(node["rss_bytes"] > 0 and node["pid"] > 0 for node in made["nodes"])

    lab(labs, "shell", "-e", "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (7)")
    read = ("shell", "replica", "--batch", "-N", "-e", "SELECT id FROM t")
    assert wait_for(lambda: labs.dyno("lab", *read).stdout == "7\n")

    lab(labs, "kill", "replicas.2")
    assert roles(labs)["replicas.2"] == "down"
    assert "no replica now" in refused(labs, "url", "replica")
    assert "does not run" in refused(labs, "kill", 2)
    lab(labs, "start", 2)
    assert have(labs, replicas="primary", replicas_2="replica")
    assert wait_for(lambda: labs.dyno("lab", *read).stdout == "7\n")

    lab(labs, "pause", 2)
    [found] = status(labs)
    assert [node["state"] for node in found["nodes"]] == ["running", "paused"]
    lab(labs, "resume", 2)
    assert have(labs, replicas="primary", replicas_2="replica")

    url, file = lab(labs, "url").strip(), Path(lab(labs, "url", "--password-file").strip())
    checked = labs.dyno("check", url, "--password-file", file, "--json")
    assert checked.returncode in (0, 1), checked.stderr
    password = file.read_text().strip()
    assert len(password) > 20
    assert "ready for connections" in lab(labs, "logs", 2)
    said = lab(labs, "status", "--json") + lab(labs, "url", 2, "--export") + lab(labs, "logs", 2)
    lines = " ".join(line for _, line in labs.processes())
    assert password not in said + lines + done.stderr + url
    labs.note_ports()
    assert lab(labs, "down", "--json") == '{"down": ["replicas"]}\n'
    assert labs.until_clean() == []


def test_subscribers_of_a_lab_have_the_tables_that_are_made_on_each_node(labs: Place) -> None:
    binaries("postgres")
    asked = ("--kind", "postgres", "--nodes", 2, "--replication", "logical", *SMALL)
    assert "replicas of 2 nodes, logical replication" in lab(labs, "up", "replicas", *asked)
    assert have(labs, replicas="primary", replicas_2="replica")
    for node in ("primary", "replica"):
        lab(labs, "shell", node, "-c", "CREATE TABLE t (id INT PRIMARY KEY)")
    lab(labs, "shell", "replica", "-c", "ALTER SUBSCRIPTION node_2 REFRESH PUBLICATION")
    lab(labs, "shell", "primary", "-c", "INSERT INTO t VALUES (7)")
    read = ("shell", "replica", "-At", "-c", "SELECT id FROM t")
    assert wait_for(lambda: lab(labs, *read) == "7\n")
    assert wait_for(lambda: [node["lag_s"] for node in status(labs)[0]["nodes"]] == [None, 0])
    lab(labs, "down")
    assert labs.until_clean() == []


def test_postgres_is_reached_by_psql_and_the_lines_for_a_shell(labs: Place) -> None:
    binaries("postgres")
    lab(labs, "up", "postgres", *SMALL, "--name", "pg")
    answer = lab(labs, "shell", "pg", "-At", "-c", "SELECT current_database(), current_user")
    assert answer == "lab|dyno\n"
    (labs.path / "lines").write_text(lab(labs, "url", "--export"))
    script = '. ./lines; psql -At -c "SELECT 6 * 7"; dyno check "$DYNO_LAB_URL" --json'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=labs.path,
        env={**labs.environment, "PATH": f"{DYNO.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    number, _, document = done.stdout.partition("\n")
    assert number == "42", done.stderr
    assert json.loads(document)
    labs.note_ports()
    # The server and its owner die at once: the guardians are enough.
    [owner] = owners(labs)
    [node] = status(labs)[0]["nodes"]
    os.kill(owner, signal.SIGKILL)
    os.kill(node["pid"], signal.SIGKILL)
    assert labs.until_clean() == []
    done = labs.dyno("lab", "status")
    assert (done.stdout, done.stderr) == ("", "no lab is up\n")


def test_a_galera_node_leaves_and_joins_and_none_begins_a_cluster_alone(labs: Place) -> None:
    binaries("mariadb")
    up = labs.dyno("lab", "up", "galera", "--nodes", 2, "--arbitrator", *SMALL, "--name", "g")
    if "apt-get install" in up.stderr:
        missing("no Galera: run `make servers`")
    assert up.returncode == 0, up.stderr
    assert "galera of 2 nodes and an arbitrator" in up.stdout
    votes = {"g_arbitrator": "arbitrator"}
    assert have(labs, g="member", g_2="member", **votes)
    lab(labs, "stop", "g.2")
    assert have(labs, g="member", g_2="down", **votes)
    lab(labs, "start", 2)
    assert have(labs, g="member", g_2="member", **votes)
    lab(labs, "kill", "arbitrator")
    assert have(labs, g="member", g_2="member", g_arbitrator="down")
    lab(labs, "start", "g.arbitrator")
    assert have(labs, g="member", g_2="member", **votes)
    assert "no client can log in at `g.arbitrator`" in refused(labs, "shell", "arbitrator")
    assert "gcomm" in lab(labs, "logs", "arbitrator")
    done = labs.dyno("lab", "kill", "g", "g.2", "--json")
    assert [one["node"] for one in json.loads(done.stdout)] == ["g", "g.2"]
    assert "no other node of lab `g` runs" in refused(labs, "start", "g")
    lab(labs, "down")
    assert labs.until_clean() == []


def test_labs_have_names_and_end_one_by_one_or_together(labs: Place) -> None:
    binaries("redis")
    for name in ("a", "b"):
        lab(labs, "up", "redis", "--name", name)
    assert "2 labs are up: a, b" in refused(labs, "shell", "primary")
    assert "2 labs are up: a, b" in refused(labs, "down")
    assert "`a` is up" in refused(labs, "up", "redis", "--name", "a")
    assert "no lab called `c`" in refused(labs, "down", "c")
    error = json.loads(labs.dyno("lab", "url", "c.2", "--json").stdout)["error"]
    assert "no lab has a node `c.2`" in error["what"]
    for name in ("a", "b"):
        assert lab(labs, "shell", name, "PING") == "PONG\n"
    ports = [node["port"] for one in status(labs) for node in one["nodes"]]
    assert len(set(ports)) == 2
    lab(labs, "down", "a")
    assert [one["name"] for one in status(labs)] == ["b"]
    lab(labs, "up", "redis", "--name", "a")
    lab(labs, "down", "--all")
    assert status(labs) == []
    assert labs.until_clean() == []


@pytest.mark.parametrize("victim", ["owner", "everything"])
def test_whatever_is_killed_nothing_is_left(labs: Place, victim: str) -> None:
    binaries("redis")
    lab(labs, "up", "redis")
    labs.note_ports()
    if victim == "owner":
        [owner] = owners(labs)
        os.kill(owner, signal.SIGKILL)
    else:
        killed = labs.processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none may see another's death
            for pid, _ in killed:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        assert wait_for(lambda: not labs.processes())
        assert labs.leftovers(), "as after a power cut, nobody was left to clear up"
        done = labs.dyno("lab", "status")
        assert done.returncode == 0
        assert "lab `redis` ended with its machine" in done.stderr
    assert labs.until_clean() == []
    lab(labs, "up", "redis")  # the name is free
    lab(labs, "down")


def test_a_lab_ends_by_itself_and_by_sigterm(labs: Place) -> None:
    binaries("redis")
    lab(labs, "up", "redis", "--for", "8s")
    assert wait_for(lambda: not owners(labs))
    assert labs.until_clean() == []
    lab(labs, "up", "redis")
    os.kill(owners(labs)[0], signal.SIGTERM)
    assert labs.until_clean() == []


def test_a_lab_that_comes_up_can_be_taken_down(
    labs: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    binaries("postgres")
    monkeypatch.setenv("XDG_STATE_HOME", labs.environment["XDG_STATE_HOME"])
    process = labs.start("lab", "up", "postgres", *SMALL)
    assert process.stdout is not None
    assert any("making a data directory" in line for line in iter(process.stdout.readline, ""))
    [record] = registry.listed()
    os.kill(record.pid, signal.SIGSTOP)  # the request is there before it goes on
    with socket.socket(socket.AF_UNIX) as connection, listening.named(record.socket) as name:
        connection.connect(name)
        connection.sendall(b'{"do": "down"}\n')
        os.kill(record.pid, signal.SIGCONT)
        assert connection.recv(100) == b"{}\n"
    assert "was ended while it came up" in process.communicate(timeout=120)[0]
    assert process.returncode == 2
    assert labs.until_clean() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_who_does_not_wait_for_a_lab_gets_none(labs: Place, number: signal.Signals) -> None:
    binaries("postgres")
    process = labs.start("lab", "up", "replicas", "--kind", "postgres", "--nodes", 2, *SMALL)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any("making a data directory" in line for line in lines)
    process.send_signal(number)
    rest = process.communicate(timeout=120)[0]
    assert process.returncode == (3 if number == signal.SIGINT else -number)
    assert "Traceback" not in rest
    assert labs.until_clean() == []
    assert status(labs) == []


def test_what_cannot_come_up_leaves_nothing(labs: Place) -> None:
    binaries("mariadb")
    words = refused(labs, "up", "mariadb", "--basedir", "/nonexistent")
    assert "no MariaDB server found under /nonexistent" in words
    words = refused(labs, "up", "mariadb", "--version", "3.23")
    assert "no mariadb 3.23 found" in words
    words = refused(labs, "up", "mariadb", "--config", "no_such_setting=1")
    assert "no_such_setting" in words
    words = refused(labs, "up", "mariadb", "--memory", "900Ti")
    assert "more than the machine has" in words
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = refused(labs, "up", "mariadb", "--config", f"port={port}")
        assert f"cannot listen on 127.0.0.1:{port}" in words
    done = labs.dyno("lab", "up", "galera", "--nodes", 2, "--config", "wsrep_on=1", "--json")
    assert "wsrep_on" in json.loads(done.stdout)["error"]["what"]
    assert labs.until_clean() == []
    closed = labs.path / "state"
    shutil.rmtree(closed, ignore_errors=True)
    closed.write_text("")
    assert "XDG_STATE_HOME" in refused(labs, "up", "mariadb")


@pytest.mark.skipif(os.geteuid() != 0, reason="root tries what another user can do")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv changes the account")
def test_without_root_servers_run_as_the_user_and_labs_are_their_users(labs: Place) -> None:
    binaries("redis")
    lab(labs, "up", "redis", "--name", "roots")
    [node] = status(labs)[0]["nodes"]
    assert Path(f"/proc/{node['pid']}").stat().st_uid != 0
    home = labs.path / "home"
    home.mkdir()
    os.chown(home, THEIR_ACCOUNT, THEIR_ACCOUNT)

    def as_user(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*AS_USER, DYNO, "lab", *words],
            cwd=home,
            env={**labs.environment, "XDG_STATE_HOME": str(home), "HOME": str(home)},
            capture_output=True,
            text=True,
        )

    done = as_user("up", "redis", "--json")
    assert done.returncode == 0, done.stderr
    [theirs] = json.loads(done.stdout)["nodes"]
    assert Path(f"/proc/{theirs['pid']}").stat().st_uid == THEIR_ACCOUNT
    assert as_user("shell", "redis", "PING").stdout == "PONG\n"
    assert [one["name"] for one in status(labs)] == ["roots"]
    assert "no lab called `roots`" in as_user("down", "roots").stderr
    assert as_user("down").returncode == 0
    lab(labs, "down")
    assert labs.until_clean() == []
