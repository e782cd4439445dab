"""What is known of a cluster from several subjects together: tables of a dump, how they are
distributed (in the dump, or in a VSchema), and the statement classes of a digest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.facts.schema import workload
from dbdyno.facts.schema.reading import tables_of
from dbdyno.rules.check.distribution import locality
from dbdyno.rules.check.distribution.placement import Placement, Placements, placements
from dbdyno.sql.parts import Statement
from dbdyno.sql.schema import Schema


@dataclass(frozen=True)
class Class:
    """A statement class that could be taken apart; `share` of the time of all."""

    statement: Statement
    text: str
    share: float
    place: str

    @property
    def fact(self) -> Fact:
        """As evidence."""
        return Fact(f"{self.share:.1%} of the time", self.text, self.place)


@dataclass(frozen=True)
class Cluster:
    """`unread`: share of the time in classes that could not be taken apart."""

    schema: Schema
    placed: Placements
    classes: tuple[Class, ...] = ()
    unread: float = 0.0

    def spread(self) -> Iterator[Placement]:
        """Tables of which a row lies on one of several shards."""
        yield from (one for one in self.placed.values() if one.is_spread)

    def running(self, where: str, placed: Placements | None = None) -> list[Class]:
        """Classes that run so (`locality.ONE` and so on), the longest first."""
        used = self.placed if placed is None else placed
        found = [
            one for one in self.classes
            if locality.runs_on(one.statement, self.schema, used) == where
        ]  # fmt: skip
        return sorted(found, key=lambda one: -one.share)


def place(placed: Placement) -> Fact:
    """As evidence: how a table is distributed."""
    by = f" ({', '.join(placed.columns)})" if placed.columns else ""
    chosen = " by default" if placed.by_default else ""
    return Fact(placed.table.full_name, f"{placed.method}{by}{chosen}", placed.place or "the dump")


def of(all_facts: Sequence[Facts]) -> Cluster:
    """Tables and where they lie. Missing without tables, or if nothing says how they are
    distributed."""
    dumps = [facts for facts in all_facts if "user_tables" in facts.tables]
    if not dumps:
        raise Missing("user_tables", "the tables are not known: name a schema dump as well")
    schema = Schema(tables=tuple(table for facts in dumps for table in tables_of(facts)))
    rows = [
        row
        for facts in all_facts
        if "distributions" in facts.tables
        for row in facts.table("distributions").rows
    ]
    placed = placements(schema, rows)
    if not placed:
        raise Missing("distributions", "nothing says that a table is distributed")
    return Cluster(schema, placed)


def with_classes(all_facts: Sequence[Facts]) -> Cluster:
    """The same with statement classes. Missing without them."""
    found = of(all_facts)
    for facts in all_facts:
        if "user_tables" in facts.tables:
            place = facts.table("statements").place
            known = workload.classes(facts, found.schema)
            made = tuple(Class(one.statement, one.text, one.share, place) for one in known)
            return replace(found, classes=made, unread=max(0.0, 1 - sum(one.share for one in made)))
    raise Missing("statements", "no digest was given")
