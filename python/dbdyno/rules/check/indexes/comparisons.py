"""Comparisons that no index can serve: of a text with a number, of two character sets, of a pattern
that begins with a wildcard.

Sources: the MySQL manual, "Type Conversion in Expression Evaluation", "How MySQL Uses Indexes",
"Comparison of Character Sets"; the PostgreSQL manual on pg_trgm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.schema.reading import schema_of
from dbdyno.facts.schema.workload import Class, classes
from dbdyno.rules.check.indexes import names
from dbdyno.rules.check.indexes.dropping import staying
from dbdyno.rules.check.indexes.known import (
    FEW_ROWS,
    PROOF,
    SHARE_MIN,
    SOURCES,
    STATEMENTS,
    TEXTS,
    Seen,
    conditions,
    cost,
    evidence,
    index_evidence,
    is_cast,
    serving,
    severity,
    shown,
)
from dbdyno.rules.check.rule import Fix, Found, Rule, edits
from dbdyno.sql import parts
from dbdyno.sql.parts import ColumnUse
from dbdyno.sql.schema import Column, Index, Schema, Table

_NUMBERS = ("int", "tinyint", "smallint", "mediumint", "bigint", "decimal", "float", "double")
_AS_IT_WAS = edits("Write the condition as it was")


def _indexes(seen: Seen, stays: Callable[[Table, Index], bool]) -> list[Index]:
    column = seen.predicate.column
    found = serving(column.name, seen.found.statement, column.table, seen.table)
    return [index for index in found if stays(seen.table, index)]


def _column(seen: Seen) -> Column:
    return seen.table.columns[seen.predicate.column.name.lower()]


def _types(facts: Facts, *columns: tuple[Table, Column]) -> list[Fact]:
    place = facts.table("user_columns").place
    return [
        Fact(
            f"{table.full_name}.{column.name}",
            f"{column.type} {column.collation or ''}".strip(),
            place,
        )
        for table, column in columns
    ]


def _casts(facts: Facts) -> Iterator[Found]:
    yield from _cast_values(facts)
    for one, left, right in _joins(facts):
        sides = (left, right)
        text = next((side for side in sides if side[1].type.startswith(TEXTS)), None)
        number = next((side for side in sides if side[1].type.startswith(_NUMBERS)), None)
        if text is None or number is None or not _has_index(*text):
            continue
        pair = " and ".join(f"{table.full_name}.{column.name}" for table, column in (text, number))
        yield Found(
            what=f"{pair} are joined, a text and a number",
            evidence=[*evidence(facts, one), *_types(facts, text, number)],
            effect=f"{cost(one)}; both are compared as floating-point numbers, for which the index"
            f" on {text[1].name} has no order",
            fix=edits(
                f"Give {text[0].full_name}.{text[1].name} the type {number[1].type}, once a SELECT"
                " has shown that each of its values is such a number. The table is copied, and"
                " writes"
                " wait meanwhile"
            ),
            undo=edits(f"Give it {text[1].type} again"),
            about=pair,
            severity=severity(one),
        )


def _cast_values(facts: Facts) -> Iterator[Found]:
    stays, told = staying(facts), set()
    for seen in conditions(facts):
        one, column = seen.predicate, _column(seen)
        about = f"{seen.table.full_name}.{column.name}"
        is_wrong = one.operator in (parts.EQUAL, parts.IN, parts.RANGE) and is_cast(one, seen.table)
        indexes = _indexes(seen, stays) if is_wrong else []
        if not indexes or about in told:
            continue
        told.add(about)
        yield Found(
            what=f"`{shown(one.text)}` compares {about}, a text, with a number",
            evidence=[
                *evidence(facts, seen.found),
                *_types(facts, (seen.table, column)),
                *index_evidence(facts, seen.table, indexes[0]),
            ],
            effect=f"{cost(seen.found)}; every value is made a number, so '1', '01' and '1a' equal"
            " 1, and the index has no order of them",
            fix=Fix(
                edits=("Send the value as a text: in quotes, or as a string by the driver",),
                needs=(names.of_index(seen.table, indexes[0]),),
            ),
            undo=_AS_IT_WAS,
            about=about,
            severity=severity(seen.found),
        )


def _has_index(table: Table, column: Column) -> bool:
    return any(index.columns[:1] == (column.name.lower(),) for index in table.indexes)


Side = tuple[Table, Column]


def _joins(facts: Facts) -> Iterator[tuple[Class, Side, Side]]:
    """Pairs of columns that are joined, each once, of the heaviest class."""
    schema, told = schema_of(facts), set()
    for one in classes(facts, schema):
        if one.share < SHARE_MIN or (one.examined is not None and one.examined <= FEW_ROWS):
            continue
        for join in one.statement.joins:
            left, right = _side(join.left, schema), _side(join.right, schema)
            if left is None or right is None:
                continue
            pair = frozenset((table.full_name, column.name) for table, column in (left, right))
            if pair not in told:
                told.add(pair)
                yield one, left, right


def _side(use: ColumnUse, schema: Schema) -> Side | None:
    table = schema.find(use.table.name, use.table.schema)
    column = table.columns.get(use.name.lower()) if table is not None else None
    return (table, column) if table is not None and column is not None else None


def _collations(facts: Facts) -> Iterator[Found]:
    for one, left, right in _joins(facts):
        (table, column), (other_table, other) = left, right
        if not column.collation or not other.collation:
            continue
        if _charset(column.collation) == _charset(other.collation):
            continue  # the same characters in two orders: the server refuses that itself
        pair = f"{table.full_name}.{column.name} and {other_table.full_name}.{other.name}"
        narrow, wide = sorted((left, right), key=lambda side: _charset(side[1].collation or ""))
        if _charset(narrow[1].collation or "") not in _NARROW:
            narrow, wide = wide, narrow
        yield Found(
            what=f"{pair} are joined, in two character sets",
            evidence=[*evidence(facts, one), *_types(facts, left, right)],
            effect=f"{cost(one)}; each value of {narrow[1].name} is converted to"
            f" {_charset(wide[1].collation or '')}, so its own index serves no lookup from"
            " the other side, unless the server narrows the constant",
            fix=edits(
                f"Give {narrow[0].full_name}.{narrow[1].name} the character set and collation of"
                f" {wide[0].full_name}.{wide[1].name}: ALTER TABLE"
                f" {names.of_table(facts, narrow[0])} MODIFY, with its whole definition and COLLATE"
                f" {wide[1].collation}. The table is copied, and writes wait meanwhile"
            ),
            undo=edits(f"Give it COLLATE {narrow[1].collation} again"),
            about=pair,
            severity=severity(one),
        )


_NARROW = ("ascii", "latin1", "utf8", "utf8mb3", "ucs2")


def _charset(collation: str) -> str:
    return collation.partition("_")[0]


def _wildcards(facts: Facts) -> Iterator[Found]:
    told = set()
    for seen in conditions(facts):
        one, column = seen.predicate, _column(seen)
        about = f"{seen.table.full_name}.{column.name}"
        if one.operator != parts.LIKE_WILDCARD or about in told:
            continue
        told.add(about)
        fix, undo = _of_patterns(facts, seen.table, column)
        yield Found(
            what=f"A pattern for {about} begins with a wildcard",
            evidence=[*evidence(facts, seen.found), *_types(facts, (seen.table, column))],
            effect=f"{cost(seen.found)}; a B-tree finds what a text begins with, and nothing else",
            fix=fix,
            undo=undo,
            about=about,
            severity=severity(seen.found),
        )


def _of_patterns(facts: Facts, table: Table, column: Column) -> tuple[Fix, Fix]:
    of, name = names.of_table(facts, table), names.quoted(facts, column.name)
    index = names.quoted(facts, names.new_index(table, column.name, "trgm"))
    if names.is_postgres(facts):
        made = f"CREATE INDEX CONCURRENTLY {index} ON {of} USING gin ({name} gin_trgm_ops)"
        schema = names.quoted(facts, table.schema)
        return (
            Fix(
                statements=("CREATE EXTENSION IF NOT EXISTS pg_trgm", made),
                edits=("Patterns of less than 3 characters are not served",),
            ),
            Fix(statements=(f"DROP INDEX CONCURRENTLY {schema}.{index}",)),
        )
    words = names.new_index(table, column.name, "words")
    return (
        edits(
            "If words are looked for:"
            f" ALTER TABLE {of} ADD FULLTEXT INDEX {names.quoted(facts, words)} ({name}), and MATCH"
            " ... AGAINST in the query, which finds words and no parts of them",
            f"If only the end is fixed: a generated column REVERSE({name}) with an index, and the"
            " pattern turned around",
        ),
        edits("Write the pattern as it was, and drop what was made"),
    )


def _rule(id: str, **more: object) -> Rule:
    common = {
        "pack": "indexes",
        "sources": SOURCES,
        "needs": STATEMENTS,
        "severity": "medium",
        "proof": PROOF,
    }
    return Rule(id=id, **{**common, **more})  # type: ignore[arg-type]


_PATTERNS = {
    "title": "A pattern that begins with a wildcard",
    "about": "LIKE '%text' or '%text%' reads all rows. Only statements with their literals say"
    " whether a pattern begins with a wildcard: a digest made with `--samples raw`. No literal is"
    " kept.",
    "judge": _wildcards,
}
RULES = (
    _rule(
        "mysql-implicit-cast",
        title="A text is compared with a number",
        about="The server compares both as floating-point numbers, for which an index on texts has"
        " no order. Of a column and a literal, only statements with their literals say it: a"
        " digest made with `--samples raw`. Of two columns any digest does.",
        applies=("mysql", "mariadb"),
        judge=_casts,
        source="https://dev.mysql.com/doc/refman/8.4/en/type-conversion.html",
    ),
    _rule(
        "mysql-join-collations",
        title="Columns of two character sets are joined",
        about="One side is converted to the other's character set for each comparison, and then its"
        " index serves no lookup.",
        applies=("mysql", "mariadb"),
        judge=_collations,
        source="https://dev.mysql.com/doc/refman/8.4/en/mysql-indexes.html",
    ),
    _rule(
        "mysql-leading-wildcard",
        applies=("mysql", "mariadb"),
        source="https://dev.mysql.com/doc/refman/8.4/en/index-btree-hash.html",
        **_PATTERNS,
    ),
    _rule(
        "postgres-leading-wildcard",
        applies=("postgres",),
        source="https://www.postgresql.org/docs/current/pgtrgm.html#PGTRGM-INDEX",
        **_PATTERNS,
    ),
)
