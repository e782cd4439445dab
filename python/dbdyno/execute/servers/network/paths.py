"""What the network is like now: its conditions by way, while faults on it come and go.

A way is from whom to whom: nodes by name, and CLIENTS. A listener of the relay has two: from who
connects to it to the server behind it, and back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Network
from dbdyno.faults.base import Conditions, Way
from dbdyno.systems.process.relay import Link, Ways

Change = Callable[[str, Link], object]  # name of a listener, and its conditions from now on


@dataclass(frozen=True)
class _Listener:
    way: Way  # from who connects to the server
    network: Network


class _Imposed(NamedTuple):
    """Conditions of one fault on one node. Two faults that are equal have the same key."""

    key: Hashable
    ways: frozenset[Way]
    conditions: Conditions


class Paths:
    """All ways through one relay. Faults may overlap: of two on one way the later one decides each
    value, and packets are lost as long as one of them cuts it."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._listeners: dict[str, _Listener] = {}
        self._imposed: list[_Imposed] = []  # in the order in which they were
        self._lock = threading.Lock()

    def put(self, listener: str, way: Way, network: Network) -> Link:
        """Knows a listener from now on; what it must be like."""
        with self._lock:
            self._listeners[listener] = _Listener(way, network)
            return self._link(self._listeners[listener])

    def remove(self, listener: str) -> None:
        """Forgets a listener, if it is known."""
        with self._lock:
            self._listeners.pop(listener, None)

    def impose(self, key: Hashable, ways: Collection[Way], conditions: Conditions) -> None:
        """Puts conditions on ways until `lift`. DynoError, and nothing is changed, if the relay
        refuses one of them."""
        struck = frozenset(ways)
        with self._lock:
            self._imposed.append(_Imposed(key, struck, conditions))
            try:
                self._apply(struck)
            except DynoError:
                self._imposed.pop()
                with suppress(DynoError):  # a relay that is gone has no connections
                    self._apply(struck)
                raise

    def lift(self, key: Hashable) -> None:
        """Ends what was imposed under a key, the first if it was several times; nothing if nothing
        was."""
        with self._lock:
            found = next((one for one in self._imposed if one.key == key), None)
            if found is not None:
                self._imposed.remove(found)
                self._apply(found.ways)

    def relayed(self) -> frozenset[Way]:
        """All ways that there are."""
        with self._lock:
            found = [one.way for one in self._listeners.values()]
            return frozenset([*found, *map(_back, found)])

    def _apply(self, ways: frozenset[Way]) -> None:
        for name, listener in self._listeners.items():
            if {listener.way, _back(listener.way)} & ways:
                self._change(name, self._link(listener))

    def _link(self, listener: _Listener) -> Link:
        there = self._now(listener.way, listener.network)
        back = self._now(_back(listener.way), listener.network)
        return Link(
            delay_s=Ways(to_server=there.delay_s or 0.0, to_client=back.delay_s or 0.0),
            jitter_s=Ways(to_server=there.jitter_s or 0.0, to_client=back.jitter_s or 0.0),
            bytes_per_s=Ways(to_server=there.bytes_per_s or 0, to_client=back.bytes_per_s or 0),
            loss=Ways(to_server=there.loss or 0.0, to_client=back.loss or 0.0),
            drop=_DROP[there.cut, back.cut],
        )

    def _now(self, way: Way, network: Network) -> Conditions:
        now = Conditions(delay_s=network.delay_s, bytes_per_s=network.bytes_per_s)
        for imposed in self._imposed:
            if way in imposed.ways:
                now = now.under(imposed.conditions)
        return now


_DROP: dict[tuple[bool, bool], Literal["none", "to_server", "to_client", "both"]] = {
    (False, False): "none",
    (True, False): "to_server",
    (False, True): "to_client",
    (True, True): "both",
}


def _back(way: Way) -> Way:
    return way[1], way[0]
