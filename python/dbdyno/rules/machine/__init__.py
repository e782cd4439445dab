"""Checks of the machine before the first trial: one file a family, each check with its effect on
the measurement and its cure.

Only this machine is inspected: the host of an external server is not. `look` reads, `Place` is what
it reads (tests bring their own), and no check knows plans or runs.
"""

from __future__ import annotations

from dbdyno.rules.machine import clock, cpus, limits, load, memory, storage
from dbdyno.rules.machine.activity import sample
from dbdyno.rules.machine.finding import (
    FINE,
    FOUND,
    NOT_KNOWN,
    Finding,
    Place,
    Rule,
    Space,
    lines,
    unseen,
)

FAMILIES = (cpus, memory, limits, load, storage, clock)
CHECKS: tuple[Rule, ...] = tuple(rule for family in FAMILIES for rule in family.CHECKS)


def look(place: Place) -> tuple[Finding, ...]:
    """What every check finds, in the order of the families; those of the data directory only where
    servers keep files on this machine."""
    return tuple(rule.look(place) for rule in CHECKS if place.stores_data or not rule.needs_data)


__all__ = [
    "CHECKS",
    "FAMILIES",
    "FINE",
    "FOUND",
    "NOT_KNOWN",
    "Finding",
    "Place",
    "Rule",
    "Space",
    "lines",
    "look",
    "sample",
    "unseen",
]
