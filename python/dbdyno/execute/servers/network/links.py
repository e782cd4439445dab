"""The networks of a cell: a relay between the load and each server whose target asks for one, and
addresses that lead to whichever node is the primary.

A network is believed once it was measured: before its trials the relay leads to an echo, so
that the very listener is measured that the load will use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.servers.network import measuring
from dbdyno.execute.servers.network.paths import Paths
from dbdyno.experiment.types import Network
from dbdyno.experiment.values.faults import (
    CLIENTS,
)
from dbdyno.faults.base import Way
from dbdyno.hosts.base import Host
from dbdyno.systems.process.relay import Link, Relay

# A relay that is this much slower than asked is reported: the machine was busy, or it is too slow.
ROUND_TRIP_WITHIN = 0.1
ROUND_TRIP_WITHIN_S = 0.001
BANDWIDTH_WITHIN = 0.1
FASTER_WITHIN = 0.02  # of a bandwidth: rounding of pieces


@dataclass(frozen=True)
class Measured:
    """A network as asked for, and as measured."""

    network: Network
    round_trip_s: float  # median
    direct_s: float  # of the same echo without the relay
    bytes_per_s: float | None  # where it is limited

    def facts(self) -> dict[str, Any]:
        """For the trial's record."""
        return {
            "delay_s": self.network.delay_s,
            "bytes_per_s": self.network.bytes_per_s,
            "round_trip_s": self.round_trip_s,
            "direct_s": self.direct_s,
            "measured_bytes_per_s": self.bytes_per_s,
        }


@dataclass
class _Node:
    """A server behind a relay. `port`: the server's; `at`: the relay's."""

    port: int
    at: int
    measured: Measured


class Links:
    """The relay of a cell's servers, and its listeners: those for the load are called as the nodes
    are. It runs from the first network on until `close`."""

    def __init__(
        self, host: Host, engine: Path, cpus: Sequence[int], remark: Callable[[str], None]
    ) -> None:
        """`cpus`: where the relay runs, empty: anywhere. `remark` takes sentences for readers of
        the next trial."""
        self._host = host
        self._engine = engine
        self._cpus = cpus
        self._remark = remark
        self._relay: Relay | None = None
        self._nodes: dict[str, _Node] = {}
        self._open: dict[str, int] = {}  # all listeners, and the relay's ports of them
        self._watched = (time.monotonic(), 0.0)
        self.paths = Paths(self._change)

    @property
    def relay(self) -> Relay | None:
        """The relay, where a network was asked for."""
        return self._relay

    def set(self, target: str, network: Network | None, ports: Mapping[str, int]) -> None:
        """Puts a network between the load and a target's servers, whose ports are given by node.
        None: the load reaches them directly. DynoError if what is measured is not what was asked
        for."""
        for name, port in ports.items():
            node = self._nodes.get(name)
            if network is None:
                if node is not None:
                    self._leave(name)
            elif node is None or node.port != port or node.measured.network != network:
                self._put(target, name, port, network)

    def lead(self, name: str, port: int) -> None:
        """Has an address of `set` lead to another server. Connections to the one before are
        reset, and new ones go to this one."""
        node = self._nodes[name]
        if node.port != port:
            assert self._relay is not None
            self._relay.lead_to(name, port, reset=True)
            node.port = port

    def ports(self, names: Sequence[str]) -> dict[str, int]:
        """Where the load reaches nodes behind a network, by name; without those that have none."""
        return {name: self._nodes[name].at for name in names if name in self._nodes}

    def measured(self, names: Sequence[str]) -> Measured | None:
        """The slowest of these nodes; None without a network."""
        found = [self._nodes[name].measured for name in names if name in self._nodes]
        return max(found, key=lambda one: one.round_trip_s, default=None)

    def watch(self) -> None:
        """A trial begins: `busy` counts from here on."""
        self._watched = self._cpu_s()

    def busy(self) -> float:
        """The share of a CPU that the relay has used since `watch`; 0 without one."""
        (begun_s, before_s), (now_s, after_s) = self._watched, self._cpu_s()
        return (after_s - before_s) / (now_s - begun_s) if now_s > begun_s else 0.0

    def _cpu_s(self) -> tuple[float, float]:
        """The time, and the relay's CPU time, seconds."""
        name = next(iter(self._open), None)
        if self._relay is None or name is None or not self.alive():
            return time.monotonic(), 0.0
        return time.monotonic(), self._relay.state(name).cpu_s

    def alive(self) -> bool:
        """Whether the relay runs, where one was started."""
        return self._relay is None or self._relay.alive()

    def close(self) -> None:
        """Ends the relay, and with it all connections through it."""
        self._nodes.clear()
        self._open.clear()
        if self._relay is not None:
            self._relay.stop()
            self._relay = None

    def listen(self, name: str, way: Way, port: int, network: Network) -> int:
        """The relay's port of a listener for connections to a server's port, `way` being from who
        connects to the server. One of that name leads there from now on."""
        relay, link = self._started(), self.paths.put(name, way, network)
        if name in self._open:
            relay.change(name, link)
            relay.lead_to(name, port, reset=True)
        else:
            self._open[name] = relay.listen(name, port, link).port
        return self._open[name]

    def measure(self, what: str, network: Network) -> Measured:
        """Measures a network on a listener of its own. DynoError if it is not what was asked
        for."""
        with measuring.echo() as echo:
            measured = self._believed(what, network, what, (CLIENTS, what), echo)
        self._end(what)
        return measured

    def _believed(self, what: str, network: Network, name: str, way: Way, echo: int) -> Measured:
        at = self.listen(name, way, echo, network)
        try:
            measured = _measured(what, network, at, echo)
        except OSError as error:
            raise _broken(what, f"the measurement of it failed: {error}") from error
        self._judge(what, measured)
        return measured

    def _leave(self, name: str) -> None:
        self._end(name)
        del self._nodes[name]

    def _end(self, name: str) -> None:
        """Closes a listener."""
        self.paths.remove(name)
        self._started().close(name)
        del self._open[name]

    def _put(self, target: str, name: str, port: int, network: Network) -> None:
        way = (CLIENTS, name)
        with measuring.echo() as echo:
            measured = self._believed(target, network, name, way, echo)
        at = self.listen(name, way, port, network)
        self._nodes[name] = _Node(port, at, measured)

    def _started(self) -> Relay:
        if self._relay is None:
            self._relay = Relay(self._host, self._engine, self._cpus)
        return self._relay

    def _change(self, name: str, link: Link) -> None:
        if self._relay is not None:  # else all connections have ended
            self._relay.change(name, link)

    def _judge(self, target: str, measured: Measured) -> None:
        asked_s = 2 * measured.network.delay_s
        took_s, direct_s = measured.round_trip_s, measured.direct_s
        if took_s - direct_s > asked_s * (1 + ROUND_TRIP_WITHIN) + ROUND_TRIP_WITHIN_S:
            self._remark(
                f"network of {target}: a round trip took {took_s * 1e3:.3g} ms before the trial,"
                f" and {asked_s * 1e3:.3g} ms were asked for: the machine was busy"
            )
        asked, found = measured.network.bytes_per_s, measured.bytes_per_s
        if asked is not None and found is not None and found < asked * (1 - BANDWIDTH_WITHIN):
            self._remark(
                f"network of {target}: {found:,.0f} B/s were measured before the trial, and"
                f" {asked:,} were asked for: the machine was busy, or the delay is too long for the"
                " 1.5 MiB that a connection has under way at most"
            )


def _measured(target: str, network: Network, at: int, echo: int) -> Measured:
    """Round trips and bandwidth through the relay. DynoError if it is faster than asked."""
    with measuring.connected(echo) as connection:
        direct = measuring.round_trips(connection)
    with measuring.connected(at) as connection:
        trips = measuring.round_trips(connection)
        found = None
        if network.bytes_per_s is not None:
            found = measuring.bytes_per_s(connection, network.bytes_per_s, network.delay_s)
    if trips.shortest_s < 2 * network.delay_s:
        what = f"a round trip took {trips.shortest_s * 1e3:.3g} ms"
        raise _broken(target, f"{what}, less than {2e3 * network.delay_s:g} ms")
    if network.bytes_per_s and found and found > network.bytes_per_s * (1 + FASTER_WITHIN):
        raise _broken(target, f"it passed {found:,.0f} B/s of {network.bytes_per_s:,}")
    return Measured(network, trips.median_s, direct.median_s, found)


def _broken(target: str, what: str) -> DynoError:
    return DynoError(
        f"the network of target `{target}` is not what was asked for: {what}",
        cause="a defect of the relay, or somebody ended its connections",
        fix="run again; if it stays, report it",
    )
