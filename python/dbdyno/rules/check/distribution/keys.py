"""Keys of distributed tables: unique keys, foreign keys, and columns that count.

A shard checks what it has. A unique key that lacks the distribution column would have to be
checked on all shards at each insert: Citus and Postgres-XC refuse it, Vitess checks it on each
shard alone. MySQL NDB demands the columns in the primary key only: its other unique keys
are tables of their own.

Sources: Citus, "Limitations" (unique constraints) and "Foreign Keys"; Postgres-XC 1.1, "CREATE
TABLE"; the MySQL manual, "Partitioning Keys, Primary Keys, and Unique Keys"; Vitess, "Sequences"
and "Vindexes".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.schema.distributed import HASH, NDB, REPLICATED, VITESS, XC
from dbdyno.rules.check.distribution import cluster
from dbdyno.rules.check.distribution.placement import Placement, Placements, keys
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.sql.schema import ForeignKey, Index, Schema

_REFUSED = "https://docs.citusdata.com/en/stable/develop/reference_ddl.html"
_UNDO = edits("Define the key as it was, on a table that is not distributed.")


def _unique(all_facts: Sequence[Facts]) -> Iterator[Found]:
    placed = cluster.of(all_facts).placed
    for one in placed.values():
        if one.is_spread:
            for key in keys(one.table):
                if not _contains(one, key):
                    yield _unique_found(one, key)


def _contains(placed: Placement, key: Index) -> bool:
    if placed.system == NDB and not key.primary:
        return True
    if placed.method == HASH and {*placed.columns} <= {*key.columns}:
        return True
    return any({*columns} <= {*key.columns} for columns in placed.lookup)


def _unique_found(placed: Placement, key: Index) -> Found:
    what = "primary key" if key.primary else f"unique key {key.name}"
    name, by = placed.table.full_name, ", ".join(placed.columns)
    columns = ", ".join(key.columns) or "expressions"
    by_shard = placed.system == VITESS
    effect = (
        "each shard checks its own rows: equal values on two shards are not noticed"
        if by_shard
        else "the table cannot be distributed so: the statement is refused"
    )
    return Found(
        what=f"{name}: the {what} ({columns}) is without the distribution column{_s(placed)} {by}"
        if by
        else f"{name}: the {what} ({columns}) on a table that is distributed round robin",
        evidence=(cluster.place(placed), Fact(what, columns, placed.place or "the dump")),
        effect=effect,
        fix=edits(
            f"Define the key as ({', '.join((*placed.columns, *_rest(placed, key)))}), if values"
            " need to be unique for one value of the distribution column alone.",
            f"Or distribute {name} by a column of this key.",
            *(["Or add a unique lookup vindex on the key's columns."] if by_shard else []),
        ),
        undo=_UNDO,
        about=f"{name} {key.name}",
        severity="medium" if by_shard else "",
    )


def _rest(placed: Placement, key: Index) -> list[str]:
    return [one for one in key.columns if one not in placed.columns]


def _s(placed: Placement) -> str:
    return "s" if len(placed.columns) > 1 else ""


def _foreign(all_facts: Sequence[Facts]) -> Iterator[Found]:
    found = cluster.of(all_facts)
    schema, placed = found.schema, found.placed
    for one in placed.values():
        for key in one.table.foreign_keys:
            other = _referenced(key, schema, placed)
            if other is not None and (why := _across(one, other, key)):
                yield _foreign_found(one, other, key, why)


def _referenced(key: ForeignKey, schema: Schema, placed: Placements) -> Placement | None:
    table = schema.find(key.references_table, key.references_schema)
    return placed.get(table.full_name) if table is not None else None


def _across(one: Placement, other: Placement, key: ForeignKey) -> str:
    """Why a shard cannot check it; empty if it can."""
    if one.system == NDB or other.method == REPLICATED or not (one.is_spread or other.is_spread):
        return ""
    if not one.is_spread:
        return "rows of one node refer to rows of all shards"
    if not other.is_spread:
        return "rows of all shards refer to a table that is on one node"
    pairs = dict(zip(_low(key.columns), _low(key.references_columns), strict=False))
    if one.group != other.group:
        return "the two tables are not co-located"
    if len(one.columns) != len(other.columns) or not one.columns:
        return "their rows lie round robin"
    if any(pairs.get(x) != y for x, y in zip(one.columns, other.columns, strict=True)):
        return "it does not hold the distribution columns of both"
    return ""


def _low(names: Sequence[str]) -> list[str]:
    return [one.lower() for one in names]


def _foreign_found(one: Placement, other: Placement, key: ForeignKey, why: str) -> Found:
    name, target = one.table.full_name, other.table.full_name
    listed = ", ".join(key.columns)
    columns = ", ".join(one.columns)
    return Found(
        what=f"{name}: the foreign key ({listed}) to {target} crosses shards: {why}",
        evidence=(cluster.place(one), cluster.place(other)),
        effect="no shard can check it alone: the statement is refused"
        if one.system != VITESS
        else "no shard can check it alone: inserts fail, or rows are not checked",
        fix=edits(
            f"Distribute both by the columns that they share, and hold these in the key"
            f"{f' ({columns}, {listed})' if columns and columns not in listed else ''}.",
            f"Or make {target} a reference (replicated) table, if it is small and rarely written.",
        ),
        undo=_UNDO,
        about=f"{name} {listed}",
    )


def _counting(all_facts: Sequence[Facts]) -> Iterator[Found]:
    found = cluster.of(all_facts)
    schema, placed = found.schema, found.placed
    for facts in all_facts:
        if "generated_ids" not in facts.tables:
            continue
        ids = facts.table("generated_ids")
        for row in ids.rows:
            table = schema.find(str(row["table"]), str(row["schema"] or ""))
            one = placed.get(table.full_name) if table is not None else None
            if one is not None and one.is_spread:
                column = str(row["column"])
                yield from _counted(one, column, ids.fact(row, "column", "counts by itself"))


def _counted(placed: Placement, column: str, fact: Fact) -> Iterator[Found]:
    name = placed.table.full_name
    evidence = (cluster.place(placed), fact)
    if placed.order_preserving and placed.columns == (column,):
        yield Found(
            what=f"{name}: rows are distributed by {column}, which counts, and the vindex keeps the"
            " order",
            evidence=evidence,
            effect="all new rows go to one shard, and with ids below 2^56 all rows to the first of"
            " 256",
            fix=edits(
                "Move the table into a keyspace whose VSchema has a vindex that hashes (xxhash), by"
                " MoveTables: all rows are copied. Changed in place, rows are looked for where"
                " they are"
                " not."
            ),
            undo=edits("Switch the traffic back: MoveTables ... ReverseTraffic, before Complete."),
            about=f"{name} {column}",
            severity="high",
        )
    if placed.system == VITESS and column not in placed.sequences:
        yield Found(
            what=f"{name}: each shard counts {column} by itself",
            evidence=evidence,
            effect="rows of two shards can get the same id",
            fix=edits(
                f"Make a sequence table in an unsharded keyspace, its next_id above the largest"
                f" {column} of all shards, and name it in the VSchema:"
                f' "auto_increment": {{"column": "{column}", "sequence": "{name}_seq"}}.',
                f"Then remove AUTO_INCREMENT from {column}, so that an insert past vtgate fails.",
                "Rows that have one id already are found and renumbered by hand.",
            ),
            undo=edits("Remove auto_increment from the VSchema."),
            about=f"{name} {column}",
            severity="high",
        )
    elif placed.system == XC and placed.columns == (column,):
        yield Found(
            what=f"{name}: each insert asks the global transaction manager for {column}",
            evidence=evidence,
            effect="hashing spreads the rows evenly; the sequence is one place that all inserts"
            " wait for, and no other table is co-located by it",
            fix=edits(
                "Let sequences be cached: ALTER SEQUENCE ... CACHE 1000.",
                "Distribute by the column that joins use: see sharded-key-suggestion.",
            ),
            undo=edits("ALTER SEQUENCE ... CACHE 1."),
            about=f"{name} {column}",
            severity="low",
        )


RULES = (
    Rule(
        id="sharded-unique-key",
        pack="distribution",
        title="A unique key without the distribution column",
        about="A primary or unique key of a distributed table that does not contain its"
        " distribution columns. Of MySQL NDB the primary key alone counts.",
        severity="high",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_unique,
        source=_REFUSED,
    ),
    Rule(
        id="sharded-foreign-key",
        pack="distribution",
        title="A foreign key across shards",
        about="A foreign key between tables that are not co-located, or that does not hold the"
        " distribution columns of both. Reference tables may be referred to.",
        severity="high",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_foreign,
        source=_REFUSED,
    ),
    Rule(
        id="sharded-counting-column",
        pack="distribution",
        title="A counting column on shards",
        about="AUTO_INCREMENT or a sequence on a distributed table: ids that two shards give twice"
        " (Vitess without a sequence), a vindex that keeps their order, or one place that all"
        " inserts"
        " ask (Postgres-XC). Hashing a counter spreads rows evenly: that alone is no finding.",
        severity="high",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_counting,
        source="https://vitess.io/docs/reference/features/vitess-sequences/",
    ),
)
