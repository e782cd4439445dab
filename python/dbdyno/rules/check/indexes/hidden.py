"""Columns that a function, a cast or arithmetic hides from their index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.indexes import expressions
from dbdyno.rules.check.indexes.dropping import staying
from dbdyno.rules.check.indexes.known import (
    Seen,
    conditions,
    cost,
    evidence,
    index_evidence,
    serving,
    severity,
    shown,
)
from dbdyno.rules.check.rule import Fix, Found
from dbdyno.sql import parts
from dbdyno.sql.parts import Predicate
from dbdyno.sql.schema import Column, Index, Table

_OPERATORS = (parts.EQUAL, parts.IN, parts.RANGE)


@dataclass(frozen=True)
class Hidden:
    """A condition, and the index that it does not use. `others`: all conditions on the column."""

    seen: Seen
    index: Index
    others: tuple[Predicate, ...]

    @property
    def predicate(self) -> Predicate:
        """The condition."""
        return self.seen.predicate

    @property
    def table(self) -> Table:
        """Whose index it is."""
        return self.seen.table

    @property
    def column(self) -> Column:
        """The column of the condition."""
        return self.table.columns[self.predicate.column.name.lower()]


def hidden(facts: Facts, is_served: Callable[[Predicate, Table], bool]) -> Iterator[Hidden]:
    """Each expression of a column once, of the heaviest class. `is_served`: whether the server uses
    an index as it is. Indexes that another rule drops do not count."""
    stays, told = staying(facts), set()
    for seen in conditions(facts):
        one, table = seen.predicate, seen.table
        if not one.expression or one.operator not in _OPERATORS:
            continue
        if one.value in (parts.COLUMN, parts.SUBQUERY):  # the other side decides
            continue
        indexes = serving(one.column.name, seen.found.statement, one.column.table, table)
        indexes = [index for index in indexes if stays(table, index)]
        if not indexes or _about(seen) in told:
            continue
        if expressions.is_indexed(facts, one, table) or is_served(one, table):
            continue
        told.add(_about(seen))
        others = tuple(
            other
            for other in seen.found.statement.predicates
            if other.column == one.column and other.must_hold
        )
        yield Hidden(seen, indexes[0], others)


def _about(seen: Seen) -> str:
    column = seen.predicate.column.name
    return f"{seen.table.full_name}.{column}: {expressions.written(seen.predicate)}"


def found(facts: Facts, one: Hidden, fix: Fix, undo: Fix) -> Found:
    """The finding."""
    return Found(
        what=f"`{shown(one.predicate.text)}` hides {one.table.full_name}.{one.column.name}"
        f" from its index `{one.index.name}`",
        evidence=[
            *evidence(facts, one.seen.found),
            *index_evidence(facts, one.table, one.index),
        ],
        effect=cost(one.seen.found),
        fix=fix,
        undo=undo,
        about=_about(one.seen),
        severity=severity(one.seen.found),
    )


def no_range(one: Predicate) -> str:
    """The MONTH() trap, as a sentence."""
    return (
        f"No range of `{one.column.name}` is `{shown(one.text)}`: each value comes again in every"
        " period. With the period beside it in the query there is one"
    )


def rewritten(one: Hidden, rewrite: str) -> str:
    """The range, as a sentence."""
    text = shown(one.predicate.text)
    return f"Rewrite `{text}` as `{rewrite}`, which index `{one.index.name}` serves"
