"""Who hears whom.

Members talk over TCP, each with each, so a link that loses one direction is dead in both: nothing
is acknowledged. Where two members lose their link and a third one still reaches both, it relays
(observed with Galera 26.4: writes stood still for 4.3 s with gmcast.peer_timeout at 3 s, then went
on; no member was dropped, for a loss of one direction as for both).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

RELAY_CHECK_S = 1.3  # after gmcast.peer_timeout; seen: 1.26 to 1.32 s


class Network:
    """Links between members; all work at first."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._lost: dict[tuple[str, str], float] = {}  # (from, to) -> since

    def partition(self, groups: Iterable[Collection[str]], now_s: float) -> None:
        """Cuts all links between groups; who is in none is alone."""
        group_of = {name: number for number, group in enumerate(groups) for name in group}
        for one in self.names:
            for other in self.names:
                known = group_of.get(one), group_of.get(other)
                if one != other and (known[0] is None or known[0] != known[1]):
                    self._lost.setdefault((one, other), now_s)

    def lose(self, source: str, to: str, now_s: float) -> None:
        """Cuts one direction."""
        self._lost.setdefault((source, to), now_s)

    def heal(self) -> None:
        """All links work."""
        self._lost.clear()

    def since(self, one: str, other: str) -> float | None:
        """When their link stopped to work; None: it works."""
        times = [self._lost[pair] for pair in ((one, other), (other, one)) if pair in self._lost]
        return min(times, default=None)

    def components(self, active: Collection[str]) -> list[frozenset[str]]:
        """Those that reach each other, directly or through others."""
        left, found = [name for name in self.names if name in active], []
        while left:
            inside, waiting = {left[0]}, [left[0]]
            while waiting:
                one = waiting.pop()
                near = [o for o in left if o not in inside and self.since(one, o) is None]
                inside.update(near)
                waiting += near
            found.append(frozenset(inside))
            left = [name for name in left if name not in inside]
        return found
