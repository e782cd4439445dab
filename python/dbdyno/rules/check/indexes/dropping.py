"""Which indexes of a table can go: duplicates, those that another begins with, and those that are
never read. One decision for all rules, so that no rule drops what another keeps.

An index stays if it is unique or primary, if a foreign key needs it on either side, or if a class
of statements has a condition on one of its columns that a rewrite would let use it. Of the others:
those without a read go first, then duplicates, then those whose columns begin an index that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.facts.fact import Facts, Missing
from dbdyno.facts.schema.reading import schema_of
from dbdyno.facts.schema.workload import Class
from dbdyno.rules.check.indexes.known import workload
from dbdyno.sql import existing, parts
from dbdyno.sql.schema import BTREE, Features, Index, Part, Schema, Table

UNUSED, DUPLICATE, REDUNDANT = "unused", "duplicate", "redundant"
DAYS_MIN = 7.0  # counters must be as old as a week: there are weekly jobs
DAY_S = 86_400.0
# Reads of a FULLTEXT index of MySQL are none of its counters.
_COUNTED = (BTREE, "hash", "gin", "gist", "spgist", "brin")


@dataclass(frozen=True)
class Drop:
    """An index that can go. `stays`: the one that serves instead, None for an unused one."""

    table: Table
    index: Index
    why: str
    stays: Index | None = None


def drops(facts: Facts) -> list[Drop]:
    """Of all tables. Missing without tables and indexes."""
    schema = schema_of(facts)
    known = workload(facts, schema)
    reads = _reads(facts)
    return [
        one
        for table in schema.tables
        for one in _followed(_of_table(table, schema, known, reads.get(_key(table), {})))
    ]


def staying(facts: Facts) -> Callable[[Table, Index], bool]:
    """Whether an index stays. Missing as `drops`."""
    gone = {(one.table.full_name, one.index.name) for one in drops(facts)}
    return lambda table, index: (table.full_name, index.name) not in gone


def since_s(facts: Facts) -> float:
    """How old counters of use are. Missing if that is not known."""
    if "usage_since" in facts.tables:
        return float(facts.table("usage_since").rows[0]["seconds"])
    return facts.status("uptime").number


def _reads(facts: Facts) -> Mapping[tuple[str, str], Mapping[str, int]]:
    """Reads by table and index; empty unless counters are old enough."""
    try:
        if since_s(facts) < DAYS_MIN * DAY_S:
            return {}
        rows = facts.table("index_usage").rows
    except Missing:
        return {}
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        of_table = found.setdefault((str(row["schema"]), str(row["table"])), {})
        of_table[str(row["index"])] = int(row["reads"] or 0)
    return found


def _of_table(
    table: Table, schema: Schema, known: Sequence[Class], reads: Mapping[str, int]
) -> Iterator[Drop]:
    staying = list(table.indexes)
    wanted = {*_wanted(table, schema, known)}
    for index in table.indexes:
        is_unread = reads.get(index.name) == 0 and index.usable and index.kind in _COUNTED
        if is_unread and not _is_needed(index, table, schema, ()) and not _serves(index, wanted):
            staying.remove(index)
            yield Drop(table, index, UNUSED)
    for index in sorted(staying, key=lambda one: (one.unique, one.primary, reads.get(one.name, 0))):
        others = [one for one in staying if one is not index]
        other = next((one for one in others if _is_same(index, one)), None)
        if other is not None and not index.primary and (other.unique or not index.unique):
            staying.remove(index)
            yield Drop(table, index, DUPLICATE, other)
    for index in sorted(staying, key=lambda one: len(one.parts)):
        others = [one for one in staying if one is not index]
        longer = _longer(index, others, table, schema.features)
        if longer is None or _is_needed(index, table, schema, [longer]):
            continue
        if not _orders_by_key(index, longer, table, known):
            staying.remove(index)
            yield Drop(table, index, REDUNDANT, longer)


def _key(table: Table) -> tuple[str, str]:
    return (table.schema, table.name)


def _followed(found: Iterable[Drop]) -> Iterator[Drop]:
    """Where what stays instead of an index goes itself for a longer one, that stays for both."""
    by_index = {one.index.name: one for one in found}
    for one in by_index.values():
        while one.stays is not None and one.stays.name in by_index:
            one = replace(one, why=REDUNDANT, stays=by_index[one.stays.name].stays)
        yield one


def _is_needed(index: Index, table: Table, schema: Schema, instead: Sequence[Index]) -> bool:
    """By a constraint. `instead`: indexes that stay, and begin as this one does."""
    if index.unique or index.primary:
        return True
    for key in table.foreign_keys:
        wanted = [name.lower() for name in key.columns]
        if _begins(index, wanted) and not any(_begins(one, wanted) for one in instead):
            return True
    return any(
        _begins(index, [name.lower() for name in key.references_columns])
        for other in schema.tables
        for key in other.foreign_keys
        if (key.references_schema, key.references_table) == _key(table)
    )


def _begins(index: Index, wanted: Sequence[str]) -> bool:
    return {*index.columns[: len(wanted)]} == {*wanted} and len(index.columns) >= len(wanted)


def _wanted(table: Table, schema: Schema, known: Iterable[Class]) -> Iterator[str]:
    """Columns on which a class has a condition that hides them from their index: other rules tell
    how to mend it, and then the index is read."""
    for one in known:
        for predicate in one.statement.predicates:
            use = predicate.column.table
            hides = predicate.expression or predicate.value == parts.NUMBER
            if hides and schema.find(use.name, use.schema) is table:
                yield predicate.column.name.lower()
        for join in one.statement.joins:
            for column in (join.left, join.right):
                if schema.find(column.table.name, column.table.schema) is table:
                    yield column.name.lower()


def _serves(index: Index, wanted: set[str]) -> bool:
    return any(part.column.lower() in wanted for part in index.parts)


def _is_same(one: Index, other: Index) -> bool:
    return (
        one.kind == other.kind
        and one.parts == other.parts
        and one.predicate == other.predicate
        and {*one.include} == {*other.include}
        and other.usable
    )


def _longer(
    index: Index, others: Iterable[Index], table: Table, features: Features
) -> Index | None:
    """An index that begins with all of its parts."""
    if index.kind != BTREE or index.unique or index.primary:
        return None
    for other in others:
        has = existing.parts_of(other, table, features)
        begins = len(has) >= len(index.parts) and all(
            _within(one, two, last=number == len(index.parts))
            for number, (one, two) in enumerate(zip(index.parts, has, strict=False), 1)
        )
        held = {part.column for part in has if part.prefix is None} | {*other.include}
        is_primary = other.primary and features.clustered
        if (
            begins
            and other.kind == BTREE
            and other.usable
            and other.predicate == index.predicate
            and not is_primary
            and {*index.include} <= held
        ):
            return other
    return None


def _within(one: Part, other: Part, *, last: bool) -> bool:
    """Whether a part does what the other does; of the last one a prefix may be shorter."""
    same = (one.column, one.expression, one.descending)
    if same != (other.column, other.expression, other.descending):
        return False
    if one.prefix == other.prefix:
        return True
    return last and one.prefix is not None and (other.prefix is None or other.prefix > one.prefix)


def _orders_by_key(index: Index, longer: Index, table: Table, known: Iterable[Class]) -> bool:
    """Whether a class reads rows of equal columns in the order of the primary key: (a) of InnoDB is
    (a, id), and (a, b) is not."""
    primary = table.primary
    if primary is None or len(longer.parts) <= len(index.parts):
        return False
    first = primary.parts[0].column.lower()
    return any(
        order.column is not None
        and order.column.table.name.lower() == table.name.lower()
        and order.column.name.lower() == first
        for one in known
        for order in one.statement.ordering
    )
