"""Nodes that clients find by names: each has a machine's address of its own on loopback, and a
record that leads there.

The machine is a listener of the relay at that address, on the same port for all nodes, with the
node's server behind it. The client is a listener, too: when a session connects, it resolves the
name as a client's machine does, with a cache (`dyno-engine relay`, `resolve`). A machine that is
replaced has another address; its old one is silent. Open connections do not hear of the loss, and
one that is being made ends after PATIENCE_S: a network's other machines say that there is no route
to one whose address nobody knows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.systems.process.relay import Relay, Resolve
from dbdyno.topology.names import NameServer, name_of

NETWORK = "127.0.{}.{}"
HOSTS = 250  # of a network that are used
# Linux asks three times for the hardware's address, a second apart (arp(7): mcast_solicit,
# retrans_time_ms), and then answers EHOSTUNREACH.
PATIENCE_S = 3.0


class NamedNodes:
    """The nodes of one target. Its methods may be called from any thread."""

    def __init__(self, relay: Relay, server: NameServer, keep_s: float | None) -> None:
        """`keep_s`: how long clients keep an answer; None: for its TTL."""
        self._relay = relay
        self._server = server
        self._keep_s = keep_s
        self._ports: dict[str, int] = {}  # of servers, by node
        self._machines: dict[str, str] = {}  # addresses, by node
        self._leads: dict[str, str] = {}  # names of records -> nodes
        self._port = 0  # of all machines
        self._made = 0  # machines so far
        self._lock = threading.RLock()

    def alive(self) -> bool:
        """Whether the name server runs."""
        return self._server.alive()

    def open(self, ports: Mapping[str, int], leads: Mapping[str, str]) -> None:
        """Gives each node of `ports` (of its server) a machine, and each name of `leads` a record
        that leads to its node. Listeners of these names resolve them from now on."""
        with self._lock:
            self._ports = dict(ports)
            for node in ports:
                if node not in self._machines:
                    self._boot(node)
            self._set(leads)
            for name in leads:
                self._relay.change(name, {"resolve": self._resolve(name)})

    def lead(self, leads: Mapping[str, str]) -> None:
        """Has names lead to nodes from now on; open connections stay."""
        with self._lock:
            self._set({name: node for name, node in leads.items() if self._leads[name] != node})

    def leave(self, node: str) -> None:
        """A node's machine is gone: all packets to and from its address are lost from now on."""
        with self._lock:
            self._relay.change(_listener(self._machines[node]), {"drop": "both"})

    def register(self, node: str) -> None:
        """Another machine has a node's name: it has an address of its own, and records that led to
        the old one lead there."""
        with self._lock:
            self._boot(node)
            self._set({name: one for name, one in self._leads.items() if one == node})

    def _boot(self, node: str) -> None:
        self._made += 1
        address = NETWORK.format(*(each + 1 for each in divmod(self._made - 1, HOSTS)))
        state = self._relay.listen(_listener(address), self._ports[node], at=address, on=self._port)
        self._port = state.port
        self._machines[node] = address

    def _set(self, leads: Mapping[str, str]) -> None:
        if leads:
            self._server.set({name: self._machines[node] for name, node in leads.items()})
            self._leads.update(leads)

    def _resolve(self, name: str) -> Resolve:
        return {
            "name": name_of(name),
            "server": f"{LOOPBACK}:{self._server.port}",
            "port": self._port,
            "keep_s": self._keep_s,
            "patience_s": PATIENCE_S,
        }


def _listener(address: str) -> str:
    return f"machine {address}"
