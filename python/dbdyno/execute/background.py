"""What servers do again and again during the load, and after how long: a trial that ends before has
not seen it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dbdyno.systems.base import Server


class Background:
    """Of the servers of one trial. A server that does not answer has none."""

    def __init__(
        self, servers: Sequence[Server], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._servers = tuple(servers)
        self._clock = clock
        self._before: list[tuple[float, dict[str, float]]] = []

    def begin(self) -> None:
        """The measured phase begins: counters are read."""
        self._before = [(self._clock(), self._counters(server)) for server in self._servers]

    def cycles(self) -> dict[str, float]:
        """Seconds by name, under the load since `begin`; the longest of servers alike."""
        found: dict[str, float] = {}
        for server, (at_s, before) in zip(self._servers, self._before, strict=True):
            passed_s = self._clock() - at_s
            now = self._counters(server)
            if passed_s <= 0:
                continue
            per_s = {name: (now[name] - before[name]) / passed_s for name in now if name in before}
            try:
                cycles = server.cycles(per_s)
            except Exception:  # each client library says in a way of its own that it is gone
                continue
            for name, seconds in cycles.items():
                found[name] = max(found.get(name, 0.0), seconds)
        return found

    @staticmethod
    def _counters(server: Server) -> dict[str, float]:
        try:
            return dict(server.counters())
        except Exception:  # as above
            return {}
