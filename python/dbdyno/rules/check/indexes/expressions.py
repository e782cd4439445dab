"""Indexes on expressions and on generated columns: which exist already, and how one is made.

Sources: the MySQL manual, "Functional Key Parts" (since 8.0.13: in double parentheses; no bare
column; not in a primary key, in a foreign key, in SPATIAL or FULLTEXT indexes, or with a prefix; no
expression that is a BLOB or TEXT; the query must have the same expression) and "Optimizer Use of
Generated Column Indexes"; MariaDB's "Virtual Column Support in the Optimizer" (since 11.8); the
PostgreSQL manual, "Indexes on Expressions".
"""

from __future__ import annotations

import re

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts
from dbdyno.rules.check.indexes import names
from dbdyno.sql.parts import Predicate
from dbdyno.sql.schema import BTREE, Column, Part, Table

MATCHES_GENERATED = ("mysql >=5.7", "mariadb >=11.8")  # a query's expression finds the column
WHOLE = frozenset(
    """YEAR MONTH DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR WEEKDAY QUARTER HOUR MINUTE SECOND TO_DAYS
    LENGTH CHAR_LENGTH CHARACTER_LENGTH CRC32""".split()  # noqa: SIM905
)
"""Functions of MySQL that give a whole number, whatever the session's settings are."""
OF_TEXT = frozenset(
    ("LOWER", "UPPER", "LCASE", "UCASE", "LEFT", "RIGHT", "TRIM", "LTRIM", "RTRIM", "REVERSE")
)
_LITERAL = re.compile(r"(?:_\w+)?'(?:[^']|'')*'(?:::[a-z ]+)?|\b\d+(?:\.\d+)?\b|\$\d+")


def written(one: Predicate) -> str:
    """The expression without the alias of its table, as an index must have it."""
    alias = re.escape(one.column.table.alias)
    schema = f'(?:[`"]?{re.escape(one.column.table.schema)}[`"]?\\.)?'
    return re.sub(rf"(?<![\w.]){schema}[`\"]?{alias}[`\"]?\.", "", one.expression, flags=re.I)


def is_indexed(facts: Facts, one: Predicate, table: Table) -> bool:
    """Whether an index has the expression already, or one like it with constants that are not
    known."""
    wanted = _form(written(one))
    if any(
        _form(part.expression) == wanted
        for index in table.indexes
        if index.usable
        for part in index.parts[:1]
    ):
        return True
    column = generated(one, table)
    return column is not None and applies.matches(MATCHES_GENERATED, facts)


def generated(one: Predicate, table: Table) -> Column | None:
    """An indexed generated column with the expression."""
    wanted = _form(written(one))
    first = {
        index.parts[0].column.lower()
        for index in table.indexes
        if index.usable and index.kind == BTREE
    }
    return next(
        (
            column
            for name, column in table.columns.items()
            if column.generated and _form(column.generated) == wanted and name in first
        ),
        None,
    )


def _form(expression: str) -> str:
    """To compare by: without quotes, casts, spaces, parentheses and constants."""
    text = _LITERAL.sub("?", expression.lower())
    text = re.sub(r"::(?:character varying|[a-z_]+)(?:\(\d+\))?", "", text)
    return re.sub(r"[`\"\s()]", "", text)


def functional_index(facts: Facts, one: Predicate, table: Table, name: str) -> str:
    """CREATE INDEX on the expression; empty if it has constants that are not known here, or if it
    is a TEXT, which MySQL refuses without a CAST."""
    expression = written(one)
    if "?" in expression or "''" in expression:
        return ""
    kind = table.columns[one.column.name.lower()].type
    if not names.is_postgres(facts) and one.function in OF_TEXT and kind.endswith("text"):
        return ""
    return names.create(facts, table, name, [Part(expression=expression)])


def generated_column(facts: Facts, one: Predicate, table: Table, name: str) -> str:
    """ALTER TABLE that adds the column and its index; empty where its type is not known."""
    kind = _type(one, table)
    if not kind or "?" in one.expression:
        return ""
    of, column = names.of_table(facts, table), names.quoted(facts, name)
    return (
        f"ALTER TABLE {of} ADD COLUMN {column} {kind} AS ({written(one)}) VIRTUAL,"
        f" ADD INDEX {column} ({column})"
    )


def _type(one: Predicate, table: Table) -> str:
    column = table.columns[one.column.name.lower()]
    if one.function in WHOLE:
        return "INT"
    if one.function == "DATE":
        return "DATE"
    if one.function in OF_TEXT and column.type.startswith(("char", "varchar")):
        collation = f" COLLATE {column.collation}" if column.collation else ""
        return f"{column.type.upper()}{collation}"
    return ""
