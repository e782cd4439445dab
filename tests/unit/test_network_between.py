"""The network between nodes: which listeners there are, what nodes are started with, what is an
error."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import installed
from dbdyno.errors import DynoError
from dbdyno.execute.servers.network import measuring
from dbdyno.execute.servers.network.between import Between
from dbdyno.execute.servers.network.links import Links
from dbdyno.hosts import LOCAL

CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).close()"


@pytest.fixture
def links() -> Iterator[Links]:
    made = Links(LOCAL, installed.find(), (), print)
    yield made
    made.close()


def between(links: Links, tmp_path: Path) -> Between:
    return Between(links, LOCAL, installed.find(), tmp_path / "network", "db", None)


def connect(made: Between, node: str, port: int) -> None:
    """As a process of a node does."""
    subprocess.run(
        [sys.executable, "-c", CONNECT, str(port)], env=dict(made.environment(node)), check=True
    )


def await_accepted(links: Links, listener: str) -> None:
    """Who has connected, and has gone, may not have been accepted yet."""
    assert links.relay is not None
    deadline = time.monotonic() + 120
    while links.relay.state(listener).accepted != 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_connections_of_a_node_go_through_its_own_listener(links: Links, tmp_path: Path) -> None:
    made = between(links, tmp_path)
    for name in ("db", "db.2", "db.3"):
        made.environment(name)
    with measuring.echo() as port:
        made.open({"db": {"clients": port}, "db.2": {}, "db.3": {}})
        connect(made, "db.2", port)
        connect(made, "db", port)  # its own port: directly
        await_accepted(links, "db.2>db clients")
        assert links.relay is not None
        assert links.relay.state("db.3>db clients").accepted == 0
    assert links.paths.relayed() == {
        *(("db.2", "db"), ("db", "db.2")),
        *(("db.3", "db"), ("db", "db.3")),
    }
    made.check()


def test_a_server_that_starts_again_at_another_port_is_found(links: Links, tmp_path: Path) -> None:
    made = between(links, tmp_path)
    with measuring.echo() as port:
        made.open({"db": {"group": 1}, "db.2": {}})
        made.open({"db": {"group": port}, "db.2": {}})
        connect(made, "db.2", port)
        await_accepted(links, "db.2>db group")
    made.check()


def test_nodes_that_pass_the_network_by_are_an_error(links: Links, tmp_path: Path) -> None:
    made = between(links, tmp_path)
    made.check()  # a node that is alone
    made.open({"db": {"group": 1}, "db.2": {}})
    with pytest.raises(DynoError, match="without the network between them") as caught:
        made.check()
    assert "statically" in caught.value.cause
