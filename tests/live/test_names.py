"""Nodes that are found by names: a real name server, and sessions that follow its records."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ending import LONG, Watched, ended
from private_servers import binaries
from running import Place, complete_trials

from dbdyno import installed
from dbdyno.errors import DynoError
from dbdyno.execute.servers.network.names import NamedNodes
from dbdyno.hosts import LOCAL
from dbdyno.systems.process.account import account_for
from dbdyno.systems.process.relay import Relay
from dbdyno.topology import names
from dbdyno.topology.names import NameServer
from needed import missing

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: named
targets:
  db:
    kind: postgres
    memory: 64Mi
    durability: os_crash_unsafe
    topology: {kind: replicas, nodes: 2, failover: {after: 500ms}, dns: {ttl: 1s}}
workload:
  kind: oltp
  preset: update_index
  route: primary
  tables: 1
  rows: 1000
  sessions: 2
  deadline: 2s
faults: [{at: 500ms, do: kill, node: primary}]
blocks: 1
warmup: 200ms
duration: DURATION
interval: 100ms
"""


@pytest.fixture
def bind() -> None:
    try:
        names.check_installed()
    except DynoError as error:
        missing(f"{error.what}: run `make servers`")


@pytest.fixture
def server(bind: None) -> Iterator[NameServer]:
    made = NameServer(LOCAL, account_for("mysql"), 1)
    yield made
    made.stop()


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(1):
            self.request.sendall(data)


@contextmanager
def echoes() -> Iterator[int]:
    """The port of an echo for several sessions at a time."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True  # those whose client is gone, and was not heard of
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def connected(port: int) -> socket.socket:
    session = socket.create_connection(("127.0.0.1", port), 60)
    session.settimeout(60)
    return session


def echoed(session: socket.socket) -> bool:
    """Whether a session gets through to an echo."""
    try:
        session.sendall(b"x")
        return session.recv(1) == b"x"
    except ConnectionError:
        return False


def reached(port: int) -> bool:
    """The same of a new one."""
    with connected(port) as session:
        return echoed(session)


def is_silent(session: socket.socket) -> bool:
    """Whether nothing is heard of a session, not even its end."""
    session.settimeout(0.3)
    try:
        session.sendall(b"x")
        session.recv(1)
    except TimeoutError:
        return True
    return False


def test_a_machine_that_is_gone_is_found_again_under_its_name(server: NameServer) -> None:
    relay = Relay(LOCAL, installed.find())
    try:
        with echoes() as port:
            at = relay.listen("db", port).port
            made = NamedNodes(relay, server, keep_s=0.0)
            made.open({"db": port}, {"db": "db"})
            with connected(at) as session:
                assert echoed(session)
                made.leave("db")
                assert is_silent(session)
                assert not reached(at)  # there is no route to it
                made.register("db")
                assert reached(at)
                assert is_silent(session)
        assert relay.state("db").lookups == 3
    finally:
        relay.stop()


def test_nothing_is_left_of_a_name_server(server: NameServer) -> None:
    directory = server._directory
    key = directory / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    command = Path(f"/proc/{server._process.pid}/cmdline").read_text()
    assert "named" in command and "secret" not in command
    server.set({"db.2": "127.0.1.9"})
    assert not list(directory.glob("update-*"))
    server.stop()
    assert not directory.exists()
    assert not server.alive()


@pytest.mark.usefixtures("bind")
def test_sessions_follow_a_name_to_a_new_primary(there: Place) -> None:
    binaries("postgres")
    there.experiment(EXPERIMENT.replace("DURATION", LONG))

    def followed(watched: Watched) -> bool:
        promoted = watched.changed("promoted")
        return bool(promoted) and watched.well(promoted[-1])

    with ended(there.path / "r", followed):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [record] = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert record["status"] == "complete", record["void_reason"]
    assert "promoted" in [one["change"] for one in record["roles"]]
    back_s = [each["end_s"] for each in record["outages"]]
    assert back_s and None not in back_s, record["outages"]


# D06: a dead machine is replaced under its name; its record changes before the new server starts,
# or, which is the trap, after that.
REPLACED = """
experiment: replaced
targets:
  db:
    kind: postgres
    memory: 64Mi
    durability: os_crash_unsafe
    topology: {kind: replicas, nodes: 2, dns: {ttl: 1s}}
groups:
  writer: {kind: oltp, preset: update_index, tables: 1, rows: 1000, sessions: 1, deadline: 500ms}
  reader:
    kind: oltp
    preset: point_select
    tables: 1
    rows: 1000
    sessions: 1
    deadline: 500ms
    route: db.2
audit: commits
factors:
  record:
    before: {faults: [{at: 300ms, do: replace, node: db.2}]}
    after: {faults: [{at: 300ms, do: replace, node: db.2, record: after}]}
blocks: 1
warmup: 200ms
duration: DURATION
interval: 500ms
"""
SEED = ["backup", "copy", "start", "join", "catch_up"]


@pytest.mark.usefixtures("bind")
def test_a_dead_node_is_replaced_under_its_name(there: Place) -> None:
    binaries("postgres")
    there.experiment(REPLACED.replace("DURATION", LONG))
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    records = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert [each["status"] for each in records] == ["complete"] * 2, records
    found = {("before", "after")[each["cell"]]: each for each in records}
    for level, order in (
        ("before", ["loss", "register", *SEED]),
        ("after", ["loss", *SEED, "register"]),
    ):
        record = found[level]
        [fault] = record["faults"]
        steps = {step["step"]: step for step in fault["steps"]}
        assert list(steps) == order
        metrics = record["metrics"]
        assert (metrics["audit.lost"], metrics["audit.diverged"]) == (0, 0)
        assert metrics["audit.acknowledged"] > 0
        # The old address is silent: nobody comes back before the name leads elsewhere.
        outages = [each for each in record["outages"] if each["group"] == "reader"]
        assert outages
        for outage in outages:
            ended_s = outage["end_s"]
            assert ended_s is None or ended_s >= steps["register"]["begun_s"] - 0.01, record
