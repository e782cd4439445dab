"""What existing indexes can serve: which begins with what, which holds what."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.sql.schema import BTREE, Features, Index, Part, Table


def serves(index: Index, wanted: Sequence[Part], table: Table, features: Features) -> bool:
    """Whether an index begins with the wanted parts, in this order. Where rows lie in the primary
    key, its columns end the index."""
    if index.kind != BTREE or not index.usable:
        return False
    has = parts_of(index, table, features)
    return len(has) >= len(wanted) and all(
        _same(one, other) for one, other in zip(has, wanted, strict=False)
    )


def parts_of(index: Index, table: Table, features: Features) -> tuple[Part, ...]:
    """Its parts, and those of the primary key that InnoDB adds."""
    primary = table.primary
    if not features.clustered or primary is None or index.primary:
        return index.parts
    named = {part.column.lower() for part in index.parts if part.prefix is None}
    return (*index.parts, *(one for one in primary.parts if one.column.lower() not in named))


def covers(index: Index, columns: Sequence[str], table: Table, features: Features) -> bool:
    """Whether all these columns are held whole: nothing else of a row is read."""
    if features.clustered and index.primary:
        return True
    held = {
        part.column.lower()
        for part in parts_of(index, table, features)
        if part.column and part.prefix is None
    } | {name.lower() for name in index.include}
    return all(name.lower() in held for name in columns)


def _same(one: Part, other: Part) -> bool:
    return (
        one.column.lower() == other.column.lower()
        and "".join(one.expression.lower().split()) == "".join(other.expression.lower().split())
        and one.prefix == other.prefix
        and one.descending == other.descending
    )
