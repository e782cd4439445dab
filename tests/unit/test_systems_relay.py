"""The relay as Python starts it, and a network that is measured: real processes and sockets."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.engine import job
from dbdyno.execute.servers.network import links as links_module
from dbdyno.execute.servers.network import measuring
from dbdyno.execute.servers.network.links import Links
from dbdyno.experiment.types import Network
from dbdyno.hosts import LOCAL
from dbdyno.systems.process.relay import Link, Relay


@pytest.fixture
def relay() -> Iterator[Relay]:
    made = Relay(LOCAL, job.find())
    yield made
    made.stop()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def links(told: list[str]) -> Iterator[Links]:
    made = Links(LOCAL, job.find(), (), told.append)
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[int]:
    """The port of an echo."""
    with measuring.echo() as port:
        yield port


def test_conditions_change_and_are_answered_with_their_time(relay: Relay, server: int) -> None:
    begun = relay.listen("db", server)
    with measuring.connected(begun.port) as connection:
        slow = relay.change("db", Link(delay_s=0.01))
        assert (slow.port, slow.connections) == (begun.port, 1)
        assert slow.at_unix_s >= begun.at_unix_s > 1.6e9
        assert measuring.round_trips(connection).shortest_s >= 0.02
        assert relay.state("db").bytes_to_server >= 4
    assert relay.reset("db").accepted == 1


def test_a_partition_is_silence_until_it_heals(relay: Relay, server: int) -> None:
    port = relay.listen("db.2", server).port
    with measuring.connected(port) as connection:
        relay.change("db.2", Link(drop="both"))
        connection.sendall(b"x")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        relay.change("db.2", Link(drop="none"))
        connection.settimeout(60)
        assert connection.recv(1) == b"x"


def test_an_address_follows_a_new_primary(relay: Relay, server: int) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = relay.listen("db", nobody.getsockname()[1]).port
        with pytest.raises(ConnectionError), measuring.connected(port):
            pass
        relay.lead_to("db", server, reset=True)
        with measuring.connected(port) as connection:
            assert measuring.round_trips(connection).shortest_s > 0
        assert relay.close("db").port == port


def test_what_it_refuses_and_its_end_are_errors(relay: Relay, server: int) -> None:
    with pytest.raises(DynoError, match="there is no listener nobody"):
        relay.reset("nobody")
    relay.listen("db", server)
    os.kill(relay.pid, signal.SIGKILL)
    with pytest.raises(DynoError, match="has ended"):
        relay.state("db")
    relay.stop()
    relay.stop()


def test_it_ends_with_its_standard_input(relay: Relay, server: int) -> None:
    port = relay.listen("db", server).port
    relay.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(DynoError, match="cannot be started as a relay"):
        Relay(LOCAL, job.find().with_name("no-such-engine"))


def test_a_network_is_measured_before_the_load_uses_it(links: Links, server: int) -> None:
    links.set("db", Network(0.005, 2_000_000), {"db": server})
    measured = links.measured(["db"])
    assert measured is not None
    assert measured.round_trip_s >= 0.01
    assert measured.direct_s > 0
    assert measured.bytes_per_s is not None
    assert 0 < measured.bytes_per_s <= 2_000_000 * 1.02
    at = links.ports(["db", "other"])
    assert list(at) == ["db"]
    with measuring.connected(at["db"]) as connection:
        assert measuring.round_trips(connection).shortest_s >= 0.01


def test_a_changed_network_keeps_its_port_and_none_removes_it(links: Links, server: int) -> None:
    links.set("db", Network(0.005), {"db": server, "db.2": server})
    before = links.ports(["db", "db.2"])
    links.set("db", Network(), {"db": server, "db.2": server})
    assert links.ports(["db", "db.2"]) == before
    measured = links.measured(["db", "db.2"])
    assert measured is not None
    assert measured.network == Network()
    links.set("db", None, {"db": server})
    assert list(links.ports(["db", "db.2"])) == ["db.2"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", before["db"]), 5)


def test_a_target_without_a_network_starts_no_relay(links: Links) -> None:
    links.set("db", None, {"db": 3306})
    assert links.relay is None
    assert links.measured(["db"]) is None


def test_its_cpu_time_is_watched_and_its_end_is_seen(links: Links, server: int) -> None:
    links.set("db", Network(), {"db": server})
    links.watch()
    with measuring.connected(links.ports(["db"])["db"]) as connection:
        for _ in range(20):
            measuring.round_trips(connection)
    assert links.busy() > 0
    assert links.relay is not None
    os.kill(links.relay.pid, signal.SIGKILL)
    os.waitid(os.P_PID, links.relay.pid, os.WEXITED | os.WNOWAIT)
    assert not links.alive()
    assert links.busy() <= 0


def test_a_relay_that_is_too_fast_is_an_error_and_a_slow_one_a_remark(
    links: Links, server: int, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_if(shortest_s: float, median_s: float) -> None:
        found = measuring.RoundTrips(median_s, shortest_s)
        monkeypatch.setattr(links_module.measuring, "round_trips", lambda _: found)

    as_if(0.001, 0.001)
    with pytest.raises(DynoError, match="target `db`"):
        links.set("db", Network(0.005), {"db": server})
    as_if(0.02, 0.05)
    monkeypatch.setattr(links_module, "ROUND_TRIP_WITHIN_S", -1.0)
    links.set("db", Network(0.005), {"db.2": server})
    assert "10 ms were asked for" in told[0]
