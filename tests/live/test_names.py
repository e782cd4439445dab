"""Nodes that are found by names: a real name server, and sessions that follow its records."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from ending import LONG, Watched, ended
from private_servers import binaries
from running import Place, complete_trials

from dbdyno import installed
from dbdyno.errors import DynoError
from dbdyno.execute.servers.network import measuring
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


def reached(port: int) -> bool:
    """Whether a session gets through to an echo."""
    with socket.create_connection(("127.0.0.1", port), 60) as session:
        session.settimeout(60)
        try:
            session.sendall(b"x")
            return session.recv(1) == b"x"
        except ConnectionError:
            return False


def test_a_machine_that_is_gone_is_found_again_under_its_name(server: NameServer) -> None:
    relay = Relay(LOCAL, installed.find())
    try:
        with measuring.echo() as port:
            at = relay.listen("db", port).port
            made = NamedNodes(relay, server, keep_s=0.0)
            made.open({"db": port}, {"db": "db"})
            assert reached(at)
            made.leave("db")
            assert not reached(at)
            made.register("db")
            assert reached(at)
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
