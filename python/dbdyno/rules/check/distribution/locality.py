"""Where a statement runs in a cluster: on one shard, on all without moving rows, or with rows that
move between shards.

A table's use is fixed to a shard if every distribution column equals a value (or a column that
does, along the statement's joins). Two uses are co-located if they are of one group and their
distribution columns are equal, pair by pair.
"""

from __future__ import annotations

from dbdyno.facts.schema.distributed import HASH
from dbdyno.rules.check.distribution.placement import Placement, Placements
from dbdyno.sql import parts
from dbdyno.sql.parts import ColumnUse, Statement, Use
from dbdyno.sql.schema import Schema

ONE, ALL, MOVED, ELSEWHERE = "one shard", "all shards", "rows move", "no shard"
_VALUES = (parts.NUMBER, parts.STRING, parts.PARAMETER)
Key = tuple[str, int, str]  # alias, scope, column


def runs_on(statement: Statement, schema: Schema, placements: Placements) -> str:
    """One of `ONE`, `ALL`, `MOVED`, and `ELSEWHERE` for a statement without a spread table."""
    spread = [
        (use, placed)
        for use in statement.tables
        if (placed := of_use(use, schema, placements)) is not None and placed.is_spread
    ]
    if not spread:
        return ELSEWHERE
    equal = _Equal(statement)
    if statement.kind in (parts.INSERT, parts.REPLACE) and len(spread) == 1:
        return ONE
    first = spread[0]
    if any(not _together(first, other, equal) for other in spread[1:]):
        return MOVED
    if all(_fixed(use, placed, equal) for use, placed in spread):
        return ONE
    return ALL


def of_use(use: Use, schema: Schema, placements: Placements) -> Placement | None:
    """The placement of the table; None of one that is not known."""
    table = schema.find(use.name, use.schema)
    return placements.get(table.full_name) if table is not None else None


class _Equal:
    """Columns that are equal in every row of the result, and which of them equal a value."""

    def __init__(self, statement: Statement) -> None:
        self._parent: dict[Key, Key] = {}
        for join in statement.joins:
            self._union(_key(join.left), _key(join.right))
        self._fixed = {
            self.root(_key(one.column))
            for one in statement.predicates
            if one.operator == parts.EQUAL and one.value in _VALUES and one.must_hold
            and not one.wrap
        }  # fmt: skip

    def root(self, key: Key) -> Key:
        while key in self._parent:
            key = self._parent[key]
        return key

    def is_fixed(self, key: Key) -> bool:
        return self.root(key) in self._fixed

    def _union(self, left: Key, right: Key) -> None:
        one, other = self.root(left), self.root(right)
        if one != other:
            self._parent[one] = other


def _key(column: ColumnUse) -> Key:
    return column.table.alias, column.table.scope, column.name.lower()


def _of(use: Use, column: str) -> Key:
    return use.alias, use.scope, column


def _fixed(use: Use, placed: Placement, equal: _Equal) -> bool:
    if placed.method != HASH or not placed.columns:
        return False
    if all(equal.is_fixed(_of(use, column)) for column in placed.columns):
        return True
    return any(all(equal.is_fixed(_of(use, one)) for one in columns) for columns in placed.lookup)


def _together(one: tuple[Use, Placement], other: tuple[Use, Placement], equal: _Equal) -> bool:
    (left, a), (right, b) = one, other
    if a.method != HASH or b.method != HASH or a.group != b.group:
        return False
    if len(a.columns) != len(b.columns) or not a.columns:
        return False
    return all(
        equal.root(_of(left, x)) == equal.root(_of(right, y))
        for x, y in zip(a.columns, b.columns, strict=True)
    )
