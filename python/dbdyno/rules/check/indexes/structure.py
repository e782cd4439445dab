"""Tables without a primary key, and foreign keys of PostgreSQL without an index.

Source: the MySQL manual, "Clustered and Secondary Indexes"; the PostgreSQL manual, "Constraints"
(an index on referencing columns is not made) and "Publication" (replica identity).
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.schema.reading import schema_of
from dbdyno.rules.check.indexes import names
from dbdyno.rules.check.indexes.known import PROOF, SOURCES, TABLES, place_of
from dbdyno.rules.check.rule import Fix, Found, Rule, statements
from dbdyno.sql.schema import BTREE, ForeignKey, Index, Part, Table

FEW = 1_000  # rows: a scan of them costs little


def _not_null_unique(table: Table) -> Index | None:
    """What can be the key: InnoDB puts rows in its order already."""
    return next(
        (
            index
            for index in table.indexes
            if index.unique
            and not index.predicate
            and len(index.columns) == len(index.parts)
            and all(not table.columns[name].nullable for name in index.columns)
        ),
        None,
    )


def _rows(table: Table) -> str:
    return "" if table.rows is None else f" of about {table.rows:,} rows"


def _no_primary_key(facts: Facts) -> Iterator[Found]:
    for table in schema_of(facts).tables:
        if table.primary is not None or table.engine not in ("innodb", ""):
            continue
        place = place_of(facts, "user_tables", table)
        evidence = [
            Fact(f"{table.full_name}.primary_key", None, place),
            Fact(f"{table.full_name}.rows", table.rows, place),
        ]
        yield _keyless(facts, table, evidence)


def _costs(facts: Facts) -> tuple[str, ...]:
    """Of a column that numbers the rows."""
    other = "or make columns the key that are unique already. The table is rebuilt, and"
    if names.is_postgres(facts):
        return (f"{other} reads and writes wait meanwhile.",)
    return (
        f"{other} writes wait meanwhile; INSERTs without a list of columns fail afterwards.",
        "A replica may number the rows in another order: where there are replicas, number them in a"
        " copy that is filled with ORDER BY all columns, and exchange the tables.",
    )


def _rebuilt(facts: Facts) -> str:
    if names.is_postgres(facts):
        return "It makes another index, and reads and writes wait meanwhile"
    return "It rebuilds the table"


def _keyless(facts: Facts, table: Table, evidence: list[Fact]) -> Found:
    unique, of = _not_null_unique(table), names.of_table(facts, table)
    what = f"{table.full_name} has no primary key"
    if names.is_postgres(facts):
        column = "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        effect = (
            f"a table{_rows(table)}: 0 of its UPDATE and DELETE can be replicated logically without"
            " REPLICA IDENTITY, and of two equal rows one cannot be named"
        )
    else:
        column = "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"
        effect = (
            f"a table{_rows(table)}: for each row that an UPDATE or DELETE changes, a replica with"
            " row-based logs searches the table, and InnoDB adds a hidden key of 6 bytes"
        )
    if unique is not None:
        listed = names.key_parts(facts, unique.parts)
        fix = Fix(
            statements=(f"ALTER TABLE {of} ADD PRIMARY KEY ({listed})",),
            edits=(f"{_rebuilt(facts)}: run it when few write.",),
        )
        undo = "DROP PRIMARY KEY"
        if names.is_postgres(facts):
            undo = f"DROP CONSTRAINT {names.quoted(facts, table.name + '_pkey')}"
        return Found(
            what=f"{what}; the unique index `{unique.name}` could be it",
            evidence=evidence,
            effect="rows are found by the unique index; tools that demand a primary key refuse it",
            fix=fix,
            undo=statements(f"ALTER TABLE {of} {undo}"),
            about=table.full_name,
            severity="info",
        )
    name = names.quoted(facts, "id" if "id" not in table.columns else f"{table.name}_key")
    return Found(
        what=what,
        evidence=evidence,
        effect=effect,
        fix=Fix(
            statements=(f"ALTER TABLE {of} ADD COLUMN {name} {column}",),
            edits=_costs(facts),
        ),
        undo=statements(f"ALTER TABLE {of} DROP COLUMN {name}"),
        about=table.full_name,
        severity="low" if table.rows is not None and table.rows < FEW else "",
    )


def _foreign_keys(facts: Facts) -> Iterator[Found]:
    for table in schema_of(facts).tables:
        for key in table.foreign_keys:
            if not any(_serves(index, key) for index in table.indexes):
                yield _without_index(facts, table, key)


def _serves(index: Index, key: ForeignKey) -> bool:
    """Whether it begins with the referencing columns, in any order."""
    wanted = {name.lower() for name in key.columns}
    is_whole = index.kind == BTREE and index.usable and not index.predicate
    return is_whole and {*index.columns[: len(wanted)]} == wanted


def _without_index(facts: Facts, table: Table, key: ForeignKey) -> Found:
    name = names.new_index(table, *key.columns)
    columns = ", ".join(key.columns)
    count = "all rows" if table.rows is None else f"about {table.rows:,} rows"
    made = Index(name=name, parts=tuple(map(Part, key.columns)))
    referenced = f"{key.references_schema}.{key.references_table}"
    return Found(
        what=f"No index of {table.full_name} begins with ({columns}), which refer to {referenced}",
        evidence=[
            Fact(f"foreign key {key.name}", columns, place_of(facts, "user_foreign_keys", table)),
            Fact(f"{table.full_name}.rows", table.rows, place_of(facts, "user_tables", table)),
        ],
        effect=f"each DELETE in {referenced}, and each UPDATE of its key, reads {count} of"
        f" {table.full_name}, once for each row",
        fix=statements(names.create(facts, table, name, made.parts)),
        undo=statements(names.drop(facts, table, made)),
        about=f"{table.full_name}.{key.name}",
        severity="low" if table.rows is not None and table.rows < FEW else "",
    )


RULES = (
    Rule(
        id="mysql-no-primary-key",
        pack="indexes",
        title="A table without a primary key",
        about="InnoDB then orders rows by a unique index of columns that are never NULL, else by a"
        " hidden number. Row-based replication finds rows by searching, and group"
        " replication refuses writes to such tables.",
        severity="medium",
        applies=("mysql", "mariadb"),
        sources=SOURCES,
        needs=TABLES,
        judge=_no_primary_key,
        source="https://dev.mysql.com/doc/refman/8.4/en/innodb-index-types.html",
    ),
    Rule(
        id="postgres-no-primary-key",
        pack="indexes",
        title="A table without a primary key",
        about="Of two equal rows one cannot be named, and logical replication refuses UPDATE and"
        " DELETE of a published table without a replica identity.",
        severity="low",
        applies=("postgres",),
        sources=SOURCES,
        needs=TABLES,
        judge=_no_primary_key,
        source="https://www.postgresql.org/docs/current/logical-replication-publication.html",
    ),
    Rule(
        id="postgres-foreign-key-without-index",
        pack="indexes",
        title="A foreign key without an index",
        about="PostgreSQL makes no index on the columns that refer. InnoDB makes its own.",
        severity="medium",
        applies=("postgres",),
        sources=SOURCES,
        needs=TABLES,
        judge=_foreign_keys,
        source="https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-FK",
        proof=PROOF,
    ),
)
