"""What checks of a planted server and of its healthy twin found, counted by pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.rules.check.packs import PACKS, RULES
from dbdyno.rules.check.rule import SEVERITIES

MEDIUM = SEVERITIES.index("medium")
PACK = {rule.id: rule.pack for rule in RULES}


@dataclass(frozen=True)
class Count:
    """Of one pack on one server or set of files: rules by their ids."""

    pack: str
    on: str
    planted: frozenset[str]
    missed: frozenset[str]
    besides: frozenset[str]  # found on the planted one, neither planted nor on its twin
    alarms: frozenset[str]  # on the twin, of medium severity or more


def of_server(
    on: str, expected: set[str], planted: Mapping[str, Any], twin: Mapping[str, Any]
) -> list[Count]:
    """A count for each pack that has something planted, or says something."""
    seen, usual, alarms = found(planted), found(twin), severe(twin)
    counts = []
    for pack in PACKS:
        rules = {rule for rule, its in PACK.items() if its == pack}
        count = Count(
            pack,
            on,
            frozenset(expected & rules),
            frozenset((expected - seen) & rules),
            frozenset((seen - expected - usual) & rules),
            frozenset(alarms & rules),
        )
        if count.planted or count.besides or count.alarms:
            counts.append(count)
    return counts


def found(document: Mapping[str, Any]) -> set[str]:
    """Rules of a document of `dyno check --json` that have findings."""
    return {one["rule"] for one in document["findings"]}


def severe(document: Mapping[str, Any]) -> set[str]:
    """Those with a finding of medium severity or more."""
    return {
        one["rule"] for one in document["findings"] if SEVERITIES.index(one["severity"]) >= MEDIUM
    }


def row(count: Count) -> tuple[str, ...]:
    """Cells of a table: pack, where, planted, found, besides, false alarms."""
    return (
        count.pack,
        count.on,
        str(len(count.planted)),
        str(len(count.planted) - len(count.missed)),
        _listed(count.besides),
        _listed(count.alarms),
    )


def _listed(rules: frozenset[str]) -> str:
    return f"{len(rules)}: {', '.join(sorted(rules))}" if rules else "0"


def total(counts: Sequence[Count], field: str) -> int:
    """Of all."""
    return sum(len(getattr(count, field)) for count in counts)
