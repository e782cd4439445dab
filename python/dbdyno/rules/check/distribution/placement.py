"""Where a table's rows lie in a cluster: by which columns, with which tables together.

| system | method | rows of equal distribution columns lie together |
|---|---|---|
| Citus | hash, reference, local | with tables of one colocation group: by default those whose
column has the same type |
| Postgres-XC, -XL | hash, modulo, replication, roundrobin | with tables of the same method and
type |
| MySQL NDB | key | with tables whose columns have the same types |
| Vitess | primary vindex, reference, unsharded | with tables of one keyspace and vindex |

Without DISTRIBUTE BY, Postgres-XC and -XL take the first column of the primary key or of a unique
constraint, else the first column of a type that can be hashed, and only without any such column
round robin.

Sources: Citus, "Co-locating tables" and "create_distributed_table"; Postgres-XC 1.1 and -XL 10,
"CREATE TABLE"; the MySQL manual, "KEY Partitioning"; Vitess, "VSchema" and "Vindexes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.facts.schema.distributed import HASH, LOCAL, ROUND_ROBIN, XC
from dbdyno.sql.schema import Index, Schema, Table

# Types that Postgres-XC hashes; floating point is not among them.
_HASHED = (
    *("smallint", "int", "bigint", "oid", "bool", "char", "name", "text", "bytea", "varchar"),
    *("numeric", "decimal", "money", "date", "time", "interval", "serial", "bpchar", "abstime"),
    "reltime",
)


@dataclass(frozen=True)
class Placement:
    """`columns`: the distribution columns, in small letters; `group`: tables of one group are
    co-located; `lookup`: sets of columns by which a unique lookup vindex finds a row; `by_default`:
    the system chose the columns; `order_preserving`: neighbours stay neighbours."""

    table: Table
    system: str
    method: str
    columns: tuple[str, ...] = ()
    group: str = ""
    place: str = ""
    lookup: tuple[frozenset[str], ...] = ()
    sequences: tuple[str, ...] = ()  # columns that a sequence of the system fills
    by_default: bool = False
    order_preserving: bool = False

    @property
    def is_spread(self) -> bool:
        """Whether a row lies on one of several shards."""
        return self.method in (HASH, ROUND_ROBIN)


Placements = Mapping[str, Placement]  # by the table's full name


def placements(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> Placements:
    """Of all tables, from rows of the facts' table `distributions`. Empty without a row."""
    by_table: dict[str, Placement] = {}
    for row in rows:
        table = schema.find(str(row["table"]), str(row.get("schema") or ""))
        if table is not None:
            by_table[table.full_name] = _placement(table, row)
    if not by_table:
        return {}
    systems = {one.system for one in by_table.values()}
    system = systems.pop() if len(systems) == 1 else ""
    for table in schema.tables:
        if table.full_name not in by_table:
            by_table[table.full_name] = _unsaid(table, system)
    return _grouped(by_table, rows, schema)


def _placement(table: Table, row: Mapping[str, Any]) -> Placement:
    columns = tuple(one.strip().lower() for one in str(row["columns"] or "").split(",") if one)
    lookups = [
        set(one.split("+")) for one in str(row.get("lookup") or "").lower().split(",") if one
    ]
    return Placement(
        table,
        str(row["system"]),
        str(row["method"]),
        columns,
        str(row.get("group") or _types(table, columns)),
        str(row["place"]),
        tuple(map(frozenset, lookups)),
        tuple(one for one in str(row.get("sequences") or "").lower().split(",") if one),
        order_preserving=bool(row.get("order_preserving")),
    )  # fmt: skip


def _types(table: Table, columns: Sequence[str]) -> str:
    """Tables are co-located where columns' types are alike."""
    found = [table.columns[one].type if one in table.columns else "?" for one in columns]
    return f"types: {', '.join(map(_base, found))}"


def _base(type_: str) -> str:
    word = type_.lower().partition("(")[0].strip()
    usual = {"integer": "int", "int4": "int", "int8": "bigint", "bigserial": "bigint",
             "serial": "int", "character varying": "varchar", "int2": "smallint"}  # fmt: skip
    return usual.get(word, word)


def _unsaid(table: Table, system: str) -> Placement:
    """A table without a row."""
    if system != XC:
        return Placement(table, system, LOCAL)
    columns = default_columns(table)
    method = HASH if columns else ROUND_ROBIN
    return Placement(
        table, system, method, columns, _types(table, columns), by_default=True
    )  # fmt: skip


def default_columns(table: Table) -> tuple[str, ...]:
    """Those that Postgres-XC and -XL take; none: round robin."""
    keys = [index for index in table.indexes if index.primary or index.unique]
    for index in sorted(keys, key=lambda one: not one.primary):
        if index.columns:
            return index.columns[:1]
    for name, column in table.columns.items():
        if _base(column.type).startswith(_HASHED) and "vector" not in column.type:
            return (name,)
    return ()


def _grouped(
    found: Mapping[str, Placement], rows: Sequence[Mapping[str, Any]], schema: Schema
) -> Placements:
    """With the groups of `colocate_with => 'other'`."""
    made = dict(found)
    for row in rows:
        other = schema.find(str(row.get("with_table") or ""), str(row.get("with_schema") or ""))
        table = schema.find(str(row["table"]), str(row.get("schema") or ""))
        if table and other and other.full_name in made:
            one = made[table.full_name]
            made[table.full_name] = Placement(**{**vars(one), "group": made[other.full_name].group})
    return made


def keys(table: Table) -> Iterator[Index]:
    """The primary key and all unique indexes."""
    yield from (index for index in table.indexes if index.primary or index.unique)
