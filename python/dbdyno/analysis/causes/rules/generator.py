"""The load generator could not send more."""

from __future__ import annotations

from dbdyno import kinds
from dbdyno.analysis.causes.evidence import DIFFERENCE, STEP, Evidence
from dbdyno.analysis.causes.rule import Match, Rule

BUSY_MAX = 0.8  # of a second, by a load thread: the engine's own bound
MORE_MIN = 0.1


def look(seen: Evidence) -> Match | None:
    """A load thread was busy nearly all the time on the slower side."""
    if any(kinds.of(kind).in_engine for kind in seen.kinds):
        return None
    for name in ("generator.busy_max", "generator.busy"):
        busy = seen.get(name)
        if busy is None:
            continue
        if busy.during > BUSY_MAX and busy.during - busy.otherwise >= MORE_MIN:
            return Match(0.7, busy.metric, {"busy": busy})
    return None


RULES = (Rule("generator_bound", (STEP, DIFFERENCE), look),)
