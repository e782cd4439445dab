"""The network of the machine: bytes, lost packets and refused connections, from /proc/net.

Bytes and dropped packets are those of interfaces with hardware behind them (/sys/class/net has a
`device` for each). Bridges, bonds, VLANs, tunnels and veth pairs pass the same packets on, which
would be counted twice; so would an interface whose master has hardware too (a virtual function
under a synthetic interface). Where no interface has hardware behind it, as in a container, all but
loopback are counted. Loopback is separate: a client meets a server on its own machine there.
Dropped packets include unwanted ones (of an unknown protocol, say).

Segments, retransmits and listen queues are those of all TCP connections of the network namespace,
over IPv4 and IPv6 and also over loopback; a Unix socket sends no segments. A listen queue overflows
where a server accepts connections more slowly than they come: the kernel then drops the packet of
the client, which tries again after a second.

Sources: https://docs.kernel.org/networking/snmp_counter.html (TcpOutSegs, TcpRetransSegs,
TcpExtListenOverflows, TcpExtListenDrops), https://docs.kernel.org/networking/statistics.html,
proc_pid_net(5).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.samplers.base import ProcFile

LOOPBACK = "lo"
FILES = ("/proc/net/dev", "/proc/net/snmp", "/proc/net/netstat")
SIZE_MAX = 1 << 20

# Counters of TCP: the kernel's names, in `snmp` and `netstat`, and dbdyno's.
TCP = {
    "Tcp": {"OutSegs": "segments_per_s", "RetransSegs": "retransmits_per_s"},
    "TcpExt": {
        "ListenOverflows": "listen_overflows_per_s",
        "ListenDrops": "listen_drops_per_s",
    },
}
RECEIVED, SENT = "received_bytes_per_s", "sent_bytes_per_s"
LOOPED, DROPPED = "loopback_bytes_per_s", "dropped_packets_per_s"
NAMES = (
    RECEIVED,
    SENT,
    LOOPED,
    DROPPED,
    *(name for each in TCP.values() for name in each.values()),
)


class Network:
    """See the module."""

    source = "network"
    about = (
        "bytes a second of interfaces and of loopback; packets dropped; TCP segments sent, and sent"
        " again (retransmits); connections that a full listen queue turned away"
    )
    quick = True

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._files = [ProcFile(root / path[1:], SIZE_MAX) for path in FILES]
        self._hardware: frozenset[str] = frozenset()
        self._last: dict[str, int] = {}

    def open(self) -> None:
        self._hardware = hardware(self._root / "sys/class/net")
        for file in self._files:
            file.open()
        self._last = self._read()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = self._read()
        last, self._last = self._last, now
        return rates(last, now, elapsed_s)

    def _read(self) -> dict[str, int]:
        dev, snmp, netstat = (file.text() for file in self._files)
        return parse(dev, snmp, netstat, self._hardware)

    def close(self) -> None:
        for file in self._files:
            file.close()


def hardware(directory: Path) -> frozenset[str]:
    """Interfaces with hardware behind them, of /sys/class/net."""
    return frozenset(
        path.name
        for path in directory.glob("*")
        if (path / "device").exists() and not (path / "master" / "device").exists()
    )


def parse(dev: str, snmp: str, netstat: str, physical: frozenset[str]) -> dict[str, int]:
    """Counters since boot, under the names of their rates."""
    found: dict[str, int] = {}
    if dev:
        found.update(_interfaces(dev, physical))
    for text, kind in ((snmp, "Tcp"), (netstat, "TcpExt")):
        found.update(_tcp(text, kind))
    return found


def _interfaces(dev: str, physical: frozenset[str]) -> dict[str, int]:
    found = dict.fromkeys((RECEIVED, SENT, LOOPED, DROPPED), 0)
    each = dict(filter(None, map(_interface, dev.splitlines())))
    counted = (physical & each.keys()) or (each.keys() - {LOOPBACK})
    for name in counted:
        received, sent, dropped = each[name]
        found[RECEIVED] += received
        found[SENT] += sent
        found[DROPPED] += dropped
    if LOOPBACK in each:
        found[LOOPED] = each[LOOPBACK][1]
    return found


def _interface(line: str) -> tuple[str, tuple[int, int, int]] | None:
    """(name, (bytes received, bytes sent, packets dropped either way)); None of a heading."""
    name, colon, rest = line.rpartition(":")
    columns = rest.split()
    if not colon or len(columns) < 16:
        return None
    received, dropped_in, sent, dropped_out = (int(columns[index]) for index in (0, 3, 8, 11))
    return name.strip(), (received, sent, dropped_in + dropped_out)


def _tcp(text: str, kind: str) -> dict[str, int]:
    """Counters of a pair of lines `Tcp: NAME ...`, `Tcp: VALUE ...`."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{kind}: ")]
    if len(lines) != 2:
        return {}
    wanted = TCP[kind]
    return {wanted[name]: int(value) for name, value in zip(*lines, strict=False) if name in wanted}


def rates(
    last: Mapping[str, float], now: Mapping[str, float], elapsed_s: float
) -> dict[str, float]:
    """Rates between two readings. An interface that has gone takes nothing back."""
    return {
        name: max(0.0, now[name] - last[name]) / elapsed_s
        for name in NAMES
        if name in now and name in last
    }
