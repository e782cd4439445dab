"""A server's own counters, as changes a second; levels among them as they are.

SHOW GLOBAL STATUS, pg_stat_*: see each system's `counters` and `gauges`.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import Sampled, prefixed


class Counters:
    """See the module."""

    source = "status"
    about = "the server's counters: a change a second for each, levels as they are"

    def __init__(self, server: Sampled, target: str = "") -> None:
        self.source = prefixed(target, "status")
        self._server = server
        self._gauges: frozenset[str] = frozenset()
        self._last: Mapping[str, float] = {}

    def open(self) -> None:
        self._gauges = self._server.gauges()
        self._last = self._server.counters()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now = self._server.counters()
        last, self._last = self._last, now
        return changes(last, now, self._gauges, elapsed_s)

    def close(self) -> None:
        """The connection belongs to the server."""


def changes(
    last: Mapping[str, float], now: Mapping[str, float], gauges: frozenset[str], elapsed_s: float
) -> dict[str, float]:
    """Rates of counters, values of gauges. A counter that ran backwards was reset: left out."""
    values = {}
    for name, value in now.items():
        if name in gauges:
            values[name] = value
        elif name in last and value >= last[name]:
            values[name] = (value - last[name]) / elapsed_s
    return values
