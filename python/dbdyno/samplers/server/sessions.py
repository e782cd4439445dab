"""How many sessions are in which state: the process list, or pg_stat_activity, once a second."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.samplers.base import Sampled, prefixed

STATES_MAX = 64  # kept in one sample; the rest is `other`
OTHER = "other"


class Sessions:
    """See the module."""

    source = "sessions"
    about = "sessions by state or wait, as the server lists them"
    quick = True

    def __init__(self, server: Sampled, target: str = "") -> None:
        self.source = prefixed(target, "sessions")
        self._server = server

    def open(self) -> None:
        """Nothing to prepare: states are levels."""

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        return bounded(self._server.sessions_by_state())

    def close(self) -> None:
        """The connection belongs to the server."""


def bounded(states: Mapping[str, int]) -> dict[str, float]:
    """At most STATES_MAX states, the most frequent ones; the sum is kept."""
    ranked = sorted(states.items(), key=lambda item: (-item[1], item[0]))
    kept = {name: float(count) for name, count in ranked[:STATES_MAX]}
    rest = sum(count for _, count in ranked[STATES_MAX:])
    if rest:
        kept[OTHER] = kept.get(OTHER, 0.0) + rest
    assert sum(kept.values()) == sum(states.values())
    return kept
