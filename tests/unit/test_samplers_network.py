"""The sampler `network`: what is counted of made-up files, and what this machine says."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_samplers_hosts import series

from dbdyno.samplers.hosts import prometheus, remote
from dbdyno.samplers.machine import network
from dbdyno.samplers.machine.network import DROPPED, LOOPED, NAMES, RECEIVED, SENT, Network

HEADING = (
    "Inter-|   Receive                          |  Transmit\n"
    " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo"
    " colls carrier compressed\n"
)


def dev(**interfaces: tuple[int, int, int, int]) -> str:
    """/proc/net/dev of interfaces with bytes received, dropped there, bytes sent, dropped there."""
    lines = [
        f"{name.replace('_', '.'):>6}:{received:8} 7 0 {lost} 0 0 0 0 {sent} 9 0 {stuck} 0 0 0 0\n"
        for name, (received, lost, sent, stuck) in interfaces.items()
    ]
    return HEADING + "".join(lines)


def snmp(sent: int, again: int) -> str:
    return (
        "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
        "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\n"
        f"Tcp: 1 -1 90 {sent} {again} 0\n"
        "Udp: InDatagrams NoPorts\nUdp: 5 0\n"
    )


def netstat(overflows: int, drops: int) -> str:
    return (
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits\n"
        f"TcpExt: 3 {overflows} {drops} 900\n"
        "MPTcpExt: MPCapableSYNRX\nMPTcpExt: 0\n"
    )


PHYSICAL = frozenset({"eth0", "eth1"})


def test_rates_of_all_counters() -> None:
    last = network.parse(
        dev(lo=(100, 0, 100, 0), eth0=(1000, 1, 500, 0), eth1=(7, 0, 0, 0)),
        snmp(1000, 10),
        netstat(4, 5),
        PHYSICAL,
    )
    now = network.parse(
        dev(lo=(900, 0, 900, 0), eth0=(3000, 3, 600, 2), eth1=(1007, 0, 0, 0)),
        snmp(3000, 30),
        netstat(8, 15),
        PHYSICAL,
    )
    assert network.rates(last, now, 2.0) == {
        "received_bytes_per_s": 1500.0,
        "sent_bytes_per_s": 50.0,
        "loopback_bytes_per_s": 400.0,
        "dropped_packets_per_s": 2.0,
        "segments_per_s": 1000.0,
        "retransmits_per_s": 10.0,
        "listen_overflows_per_s": 2.0,
        "listen_drops_per_s": 5.0,
    }


def test_a_packet_on_its_way_through_a_bridge_and_a_veth_pair_is_counted_once() -> None:
    once = (5000, 1, 700, 0)
    text = dev(lo=(9, 0, 9, 0), eth0=once, docker0=once, veth1a2b=once, bond0=once, eth0_100=once)
    found = network.parse(text, "", "", PHYSICAL)
    assert found == {RECEIVED: 5000, SENT: 700, DROPPED: 1, LOOPED: 9}


def test_in_a_container_all_but_loopback_are_counted() -> None:
    found = network.parse(dev(lo=(9, 0, 9, 0), eth0=(50, 0, 7, 0)), "", "", frozenset())
    assert (found[RECEIVED], found[LOOPED]) == (50, 9)
    alone = network.parse(dev(lo=(9, 0, 9, 0)), "", "", PHYSICAL)  # a namespace without interfaces
    assert (alone[RECEIVED], alone[LOOPED]) == (0, 9)


def test_what_is_missing_or_odd_is_left_out() -> None:
    assert network.parse("", "", "", PHYSICAL) == {}
    assert network.parse("", "Tcp: OutSegs\n", "TcpExt: ListenDrops\n", PHYSICAL) == {}
    found = network.parse("", "Tcp: OutSegs RetransSegs\nTcp: 7\n", netstat(1, 1), PHYSICAL)
    assert "segments_per_s" in found and "retransmits_per_s" not in found
    old = network.parse("", "", "TcpExt: ListenDrops\nTcpExt: 4\n", PHYSICAL)
    assert network.rates(old, network.parse("", "", netstat(9, 9), PHYSICAL), 1.0) == {
        "listen_drops_per_s": 5.0
    }


def test_an_interface_that_goes_takes_nothing_back() -> None:
    last = network.parse(dev(eth0=(50, 0, 7, 0), eth1=(900, 0, 0, 0)), "", "", PHYSICAL)
    now = network.parse(dev(eth0=(60, 0, 9, 0)), "", "", PHYSICAL)
    assert network.rates(last, now, 1.0) == {RECEIVED: 0.0, SENT: 2.0, LOOPED: 0.0, DROPPED: 0.0}


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read_or_refused_as_a_value(one: str, other: str) -> None:
    with contextlib.suppress(ValueError):
        network.parse(one, f"Tcp: {other}", f"TcpExt: {one}", PHYSICAL)


def test_hardware_is_what_has_a_device_and_no_master_with_one(tmp_path: Path) -> None:
    for name in ("lo", "eth0", "vf0", "slave0", "bond0", "docker0"):
        (tmp_path / name).mkdir()
    for name in ("eth0", "vf0", "slave0"):
        (tmp_path / name / "device").mkdir()
    (tmp_path / "vf0" / "master").symlink_to(tmp_path / "eth0")  # an accelerated interface
    (tmp_path / "slave0" / "master").symlink_to(tmp_path / "bond0")
    assert network.hardware(tmp_path) == {"eth0", "slave0"}
    assert network.hardware(tmp_path / "none") == frozenset()


# ---- this machine


@pytest.fixture
def sampler() -> Iterator[Network]:
    made = Network()
    made.open()
    yield made
    made.close()
    made.close()


def test_bytes_over_loopback_and_segments_are_seen(sampler: Network) -> None:
    assert set(sampler.sample(1.0)) == set(NAMES)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with client, server:
            for _ in range(20):
                client.sendall(b"x" * 10_000)
                assert server.recv(10_000, socket.MSG_WAITALL)
            values = sampler.sample(0.5)
    assert values[LOOPED] >= 400_000
    assert values["segments_per_s"] >= 40
    assert all(value >= 0 for value in values.values())


def test_a_listen_queue_that_is_full_is_seen(sampler: Network) -> None:
    """Room for one connection that waits to be accepted, and one more by the kernel's rule."""
    seen = 0.0
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(6):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        deadline = time.monotonic() + 120
        while not seen and time.monotonic() < deadline:
            time.sleep(0.02)
            seen = sampler.sample(1.0)["listen_overflows_per_s"]
    assert seen >= 1


# ---- other machines


def test_a_host_is_read_over_ssh_by_the_same_rules() -> None:
    parser = remote.Parser()
    frames = []
    for uptime, text in ((10, dev(eth0=(50, 0, 0, 0), docker0=(50, 0, 0, 0))),
                         (12, dev(eth0=(90, 0, 0, 0), docker0=(90, 0, 0, 0)))):  # fmt: skip
        parser.line("@interface eth0")
        files = {"/proc/uptime": f"{uptime} 1", "/proc/net/dev": text, "/proc/net/snmp": snmp(1, 0)}
        for path, content in files.items():
            for line in content.splitlines():
                assert parser.line(f"{path}:{line}") is None
        frames.append(parser.line("@end"))
    last, now = frames
    assert last is not None and now is not None
    values = dict(parser.values(last, now, now.uptime_s - last.uptime_s))["network"]
    assert values[RECEIVED] == 20.0
    assert values["segments_per_s"] == 0.0


def test_a_prometheus_is_asked_for_the_same() -> None:
    moments = (1000.0, 1010.0)

    def counter(name: str, per_s: float, **labels: str) -> dict[str, object]:
        return series(name, [(t, per_s * t) for t in moments], **labels)

    scraped = [
        *(
            counter(f"node_network_{way}_bytes_total", 500.0, device=device)
            for device in ("ens5", "veth12ab", "docker0", "br-7f", "ens5.100", "bond0", "lo")
            for way in ("receive", "transmit")
        ),
        counter("node_network_receive_drop_total", 2.0, device="ens5"),
        counter("node_network_transmit_drop_total", 1.0, device="ens5"),
        counter("node_netstat_Tcp_OutSegs", 900.0),
        counter("node_netstat_Tcp_RetransSegs", 9.0),
        counter("node_netstat_TcpExt_ListenOverflows", 3.0),
    ]
    (line,) = prometheus.samples(scraped, 1000.0, "host")
    assert line["source"] == "host.network"
    assert line["values"] == {
        RECEIVED: 500.0,
        SENT: 500.0,
        LOOPED: 500.0,
        DROPPED: 3.0,
        "segments_per_s": 900.0,
        "retransmits_per_s": 9.0,
        "listen_overflows_per_s": 3.0,
    }
