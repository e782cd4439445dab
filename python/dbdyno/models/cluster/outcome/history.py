"""What a simulation saw: spans of each node's state, votes, stalls; as data."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

DOWN, PAUSED, NON_PRIMARY = "down", "paused", "non-primary"
STALLED, JOINING, PRIMARY, THROTTLED = "stalled", "joining", "primary", "flow control"
STATES = (PRIMARY, THROTTLED, STALLED, JOINING, NON_PRIMARY, PAUSED, DOWN)
BRIEF_S = 0.05  # what is shorter is not reported


@dataclass(frozen=True)
class Span:
    """A node in one state. `members`: of the view that it believes in; `why`: of a stall."""

    begin_s: float
    end_s: float
    state: str
    view: int
    members: tuple[str, ...]
    why: str = ""
    writes: bool = False  # whether it can commit here

    @property
    def length_s(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Happening:
    """Something that was done, or that the members concluded."""

    at_s: float
    text: str


@dataclass(frozen=True)
class Stall:
    """Time in which a node with data took no writes though its process ran."""

    node: str
    begin_s: float
    end_s: float
    why: str
    over: bool  # whether it could write again

    @property
    def length_s(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class History:
    """Of one script. Spans of a node follow each other without gaps from 0 to `until_s`."""

    until_s: float
    spans: Mapping[str, tuple[Span, ...]]
    happenings: tuple[Happening, ...]
    arbitrators: frozenset[str] = frozenset()  # never write, so never stall

    def at(self, node: str, moment_s: float) -> Span:
        """A node's state at a moment."""
        inside = (one for one in self.spans[node] if one.begin_s <= moment_s < one.end_s)
        return next(inside, self.spans[node][-1])

    def states(self, node: str) -> tuple[tuple[str, int], ...]:
        """State and number of members of its view, in their order."""
        return tuple((one.state, len(one.members)) for one in self.spans[node])

    def stalls(self) -> tuple[Stall, ...]:
        """Of all nodes, in order of time; neighbouring spans without writes are one stall, reported
        by its longest part."""
        found = []
        for node, spans in self.spans.items():
            if node in self.arbitrators:
                continue
            waiting: list[Span] = []
            for one in (*spans, None):
                if one is not None and not one.writes and one.state in _STALLS:
                    waiting.append(one)
                    continue
                if waiting:
                    why = "; then ".join(dict.fromkeys(part.why for part in waiting if part.why))
                    over = one is not None and one.writes
                    begin, end = waiting[0].begin_s, waiting[-1].end_s
                    found.append(Stall(node, begin, end, why, over))
                waiting = []
        return tuple(sorted(found, key=lambda each: (each.begin_s, each.node)))

    def stalls_together(self) -> tuple[tuple[str, Stall], ...]:
        """Stalls that can be noticed, of nodes with the same one together: their names, and it."""
        found: dict[tuple[object, ...], list[Stall]] = {}
        for one in self.stalls():
            if one.length_s >= BRIEF_S:
                found.setdefault((one.begin_s, one.end_s, one.why, one.over), []).append(one)
        return tuple((" ".join(each.node for each in some), some[0]) for some in found.values())

    def nobody_writes(self) -> tuple[tuple[float, float], ...]:
        """When no node at all took writes."""
        gaps, free = [], 0.0
        for begin, end in sorted(self._writing()):
            if begin > free:
                gaps.append((free, begin))
            free = max(free, end)
        return (*gaps, (free, self.until_s)) if free < self.until_s else tuple(gaps)

    def split_brains(self) -> tuple[tuple[float, float, tuple[tuple[str, ...], ...]], ...]:
        """When two views could commit at once: from, to, members of each."""
        moments = sorted({t for spans in self.spans.values() for s in spans for t in _ends(s)})
        found: list[tuple[float, float, tuple[tuple[str, ...], ...]]] = []
        for begin, end in itertools.pairwise(moments):
            now = [self.at(node, begin) for node in self.spans]
            views = {one.view: one.members for one in now if one.writes}
            if len(views) < 2:
                continue
            members = tuple(views[number] for number in sorted(views))
            if found and found[-1][1] == begin and found[-1][2] == members:
                found[-1] = (found[-1][0], end, members)
            else:
                found.append((begin, end, members))
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """All of it for JSON; times in seconds."""
        return {
            "until_s": self.until_s,
            "nodes": {
                node: [
                    {
                        "begin_s": _rounded(one.begin_s),
                        "end_s": _rounded(one.end_s),
                        "state": one.state,
                        "writes": one.writes,
                        "members": list(one.members),
                        "why": one.why,
                    }
                    for one in spans
                ]
                for node, spans in self.spans.items()
            },
            "stalls": [
                {
                    "node": one.node,
                    "begin_s": _rounded(one.begin_s),
                    "length_s": _rounded(one.length_s),
                    "over": one.over,
                    "why": one.why,
                }
                for one in self.stalls()
            ],
            "nobody_writes": [[_rounded(a), _rounded(b)] for a, b in self.nobody_writes()],
            "split_brains": [
                {"begin_s": _rounded(a), "end_s": _rounded(b), "components": [list(m) for m in ms]}
                for a, b, ms in self.split_brains()
            ],
            "events": [{"at_s": _rounded(one.at_s), "text": one.text} for one in self.happenings],
        }

    def _writing(self) -> Iterable[tuple[float, float]]:
        return ((s.begin_s, s.end_s) for spans in self.spans.values() for s in spans if s.writes)


_STALLS = (STALLED, NON_PRIMARY, JOINING, THROTTLED)


def _ends(span: Span) -> tuple[float, float]:
    return span.begin_s, span.end_s


def _rounded(value: float) -> float:
    return round(value, 3)
