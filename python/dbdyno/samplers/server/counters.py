"""A server's own counters, as changes a second; levels among them as they are.

SHOW GLOBAL STATUS, pg_stat_*: see each system's `counters` and `gauges`.

A loaded server may take most of a second to answer, so a reading is dated to the middle of its
question and answer. Dated to the question, a slow answer followed by a quick one would put the
changes of two intervals into one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from dbdyno.samplers.base import Sampled, prefixed


class Counters:
    """See the module."""

    source = "status"
    about = "the server's counters: a change a second for each, levels as they are"
    quick = False

    def __init__(
        self, server: Sampled, target: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source = prefixed(target, "status")
        self._clock = clock
        self._server = server
        self._gauges: frozenset[str] = frozenset()
        self._last: Mapping[str, float] = {}
        self._shift_s = 0.0  # from the runner's moment of the last reading to that of the reading

    def open(self) -> None:
        self._gauges = self._server.gauges()
        self._last, took_s = self._read()
        self._shift_s = -took_s / 2  # the runner dates an opening when it is done

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        now, took_s = self._read()
        last, self._last = self._last, now
        shift_s, self._shift_s = self._shift_s, took_s / 2  # ... and a sample when it is begun
        return changes(last, now, self._gauges, elapsed_s - shift_s + self._shift_s)

    def _read(self) -> tuple[Mapping[str, float], float]:
        """The counters, and how long they took to come in seconds."""
        begun_s = self._clock()
        values = self._server.counters()
        return values, self._clock() - begun_s

    def close(self) -> None:
        """The connection belongs to the server."""


def changes(
    last: Mapping[str, float], now: Mapping[str, float], gauges: frozenset[str], elapsed_s: float
) -> dict[str, float]:
    """Rates of counters, values of gauges. A counter that ran backwards was reset: omitted."""
    values = {}
    for name, value in now.items():
        if name in gauges:
            values[name] = value
        elif name in last and value >= last[name]:
            values[name] = (value - last[name]) / elapsed_s
    return values
