"""By which column would most of the time run on one shard?

Columns that statements join, foreign keys connect, or that bear one name and are compared with a
value form a set (`id` is a name that means another thing in each table); a set gives each of its
tables one column. Tables outside are replicated if no
statement writes them, else they stay on one node of their own. Each set is tried on all
statement classes, and the one with the most time on one shard is best; of equals, the one that
moves the fewest rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.facts.schema.distributed import HASH, REPLICATED, ROUND_ROBIN
from dbdyno.rules.check.distribution import locality
from dbdyno.rules.check.distribution.cluster import Class, Cluster
from dbdyno.rules.check.distribution.placement import Placement, Placements, keys
from dbdyno.sql import parts
from dbdyno.sql.parts import ColumnUse
from dbdyno.sql.schema import Schema, Table

Column = tuple[str, str]  # a table's full name, a column in small letters


@dataclass(frozen=True, kw_only=True)
class Advice:
    """`columns`: by table; `one_shard` and `moved`: shares of the time; `gained`: classes that come
    to run on one shard; `keys_to_extend`: unique keys that lack the column."""

    columns: Mapping[str, tuple[str, ...]]
    replicated: tuple[str, ...]
    one_shard: float
    moved: float
    gained: tuple[Class, ...]
    keys_to_extend: tuple[str, ...] = field(default=())

    @property
    def names(self) -> set[str]:
        """Of the columns."""
        return {column for columns in self.columns.values() for column in columns}


def best(cluster: Cluster) -> Advice | None:
    """None without classes, or if no column is compared with anything."""
    tried = [_tried(columns, cluster) for columns in _sets(cluster)]
    return max(tried, key=lambda one: (round(one.one_shard, 6), -one.moved), default=None)


def _tried(columns: Mapping[str, str], cluster: Cluster) -> Advice:
    placed = _placed(columns, cluster)
    now = {one.text for one in cluster.running(locality.ONE)}
    local = cluster.running(locality.ONE, placed)
    extended = [
        f"{'the primary key' if key.primary else f'unique key {key.name}'} of {name}"
        for name, column in sorted(columns.items())
        for key in keys(placed[name].table)
        if column not in key.columns
    ]
    return Advice(
        columns={name: (column,) for name, column in columns.items()},
        replicated=tuple(
            sorted(name for name, one in placed.items() if one.method == REPLICATED)
        ),
        one_shard=sum(one.share for one in local),
        moved=sum(one.share for one in cluster.running(locality.MOVED, placed)),
        gained=tuple(one for one in local if one.text not in now),
        keys_to_extend=tuple(extended),
    )  # fmt: skip


def _placed(columns: Mapping[str, str], cluster: Cluster) -> Placements:
    written = {*_written(cluster)}
    found = {}
    for table in cluster.schema.tables:
        name = table.full_name
        if name in columns:
            found[name] = Placement(table, "", HASH, (columns[name],), "one")
        else:
            method = ROUND_ROBIN if name in written else REPLICATED
            found[name] = Placement(table, "", method)
    return found


def _written(cluster: Cluster) -> Iterator[str]:
    """Tables that a class writes: by its first table."""
    for one in cluster.classes:
        if one.statement.kind != parts.SELECT and one.statement.tables:
            table = _table(
                one.statement.tables[0].name, one.statement.tables[0].schema, cluster.schema
            )
            if table is not None:
                yield table.full_name


def _sets(cluster: Cluster) -> Iterator[Mapping[str, str]]:
    """Of each set, the column of each table that is compared most of the time."""
    weights = _weights(cluster)
    joined = _Sets()
    for pair in (*_joins(cluster), *_foreign(cluster.schema)):
        joined.union(*pair)
    by_name: dict[str, Column] = {}
    for column in weights:
        first = by_name.setdefault(column[1], column) if column[1] != "id" else column
        joined.union(first, column)
    for members in joined.all():
        chosen: dict[str, str] = {}
        for table, name in sorted(members, key=lambda one: (weights.get(one, 0.0), one)):
            chosen[table] = name
        yield chosen


def _weights(cluster: Cluster) -> dict[Column, float]:
    """Time in which a column is compared with a value."""
    found: dict[Column, float] = defaultdict(float)
    for one in cluster.classes:
        for each in one.statement.predicates:
            column = _column(each.column, cluster.schema)
            if column and each.operator == parts.EQUAL and each.must_hold and not each.wrap:
                found[column] += one.share
    return dict(found)


def _joins(cluster: Cluster) -> Iterator[tuple[Column, Column]]:
    for one in cluster.classes:
        for join in one.statement.joins:
            left = _column(join.left, cluster.schema)
            right = _column(join.right, cluster.schema)
            if left and right and left[0] != right[0]:
                yield left, right


def _foreign(schema: Schema) -> Iterator[tuple[Column, Column]]:
    for table in schema.tables:
        for key in table.foreign_keys:
            other = _table(key.references_table, key.references_schema, schema)
            if other is not None and len(key.columns) == len(key.references_columns) == 1:
                yield (
                    (table.full_name, key.columns[0].lower()),
                    (other.full_name, key.references_columns[0].lower()),
                )


def _column(use: ColumnUse, schema: Schema) -> Column | None:
    table = _table(use.table.name, use.table.schema, schema)
    return (table.full_name, use.name.lower()) if table is not None else None


def _table(name: str, schema_name: str, schema: Schema) -> Table | None:
    return schema.find(name, schema_name)


class _Sets:
    """Disjoint sets of columns."""

    def __init__(self) -> None:
        self._parent: dict[Column, Column] = {}

    def union(self, left: Column, right: Column) -> None:
        one, other = self._root(left), self._root(right)
        self._parent[one] = other
        self._parent.setdefault(other, other)

    def all(self) -> Iterable[Sequence[Column]]:
        found: dict[Column, list[Column]] = defaultdict(list)
        for column in self._parent:
            found[self._root(column)].append(column)
        return found.values()

    def _root(self, column: Column) -> Column:
        while (above := self._parent.setdefault(column, column)) != column:
            column = above
        return column
