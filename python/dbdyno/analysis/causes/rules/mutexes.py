"""Sessions wait for what guards the server's own memory: mutexes, latches, lightweight locks."""

from __future__ import annotations

import re

from dbdyno.analysis.causes.evidence import Evidence
from dbdyno.analysis.causes.rule import ANY, Match, Rule

SHARE_MIN = 0.3
MORE_MIN = 0.2

_MUTEX = re.compile(
    r"waiting: .*(lwlock|mutex|rwlock|rw-lock|latch|query cache|spinlock|bufferpin)|query cache:",
    re.IGNORECASE,
)


def look(seen: Evidence) -> Match | None:
    """By the states of the sessions."""
    states = [(state, moved) for state, moved in seen.states() if _MUTEX.match(state)]
    if not states or not seen.sessions:
        return None
    n = seen.sessions
    during, otherwise = (
        sum(values) / n
        for values in zip(*((one.during, one.otherwise) for _, one in states), strict=True)
    )
    if during < SHARE_MIN or during - otherwise < MORE_MIN:
        return None
    state, most = max(states, key=lambda each: each[1].during)
    what = state.removeprefix("waiting: ")
    return Match(
        min(0.85, 0.5 + during),
        most.metric,
        {"during": during * n, "otherwise": otherwise * n, "sessions": n, "what": what},
    )


RULES = (Rule("mutex_waits", ANY, look),)
