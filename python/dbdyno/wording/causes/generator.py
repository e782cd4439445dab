"""The load generator could not send more."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "generator_bound": CauseText(
        "limit of the load generator",
        "a load thread is busy for more than 80 % of a second on the slower side, and not on the"
        " other",
        "docs/reference/engine.md",
        "The load generator was at its limit {here}: a load thread was busy {busy.during:.0%} of"
        " the time, against {busy.otherwise:.0%} {there}.",
        "Give the generator more CPUs, or a machine of its own: the system may be faster than"
        " measured.",
    ),
}
