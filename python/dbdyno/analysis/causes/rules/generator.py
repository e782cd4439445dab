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
            return Match(
                0.7,
                f"The load generator was at its limit {seen.here}: a load thread was busy"
                f" {busy.during:.0%} of the time, against {busy.otherwise:.0%} {seen.there}.",
                "Give the generator more CPUs, or a machine of its own: the system may be faster"
                " than measured.",
                busy.metric,
            )
    return None


RULES = (
    Rule(
        "generator_bound",
        "limit of the load generator",
        "a load thread is busy for more than 80 % of a second on the slower side, and not on the"
        " other",
        "docs/reference/engine.md",
        (STEP, DIFFERENCE),
        look,
    ),
)
