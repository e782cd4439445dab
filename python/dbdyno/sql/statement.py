"""What a statement does to which columns."""

from __future__ import annotations

from dbdyno.sql.parts import Statement
from dbdyno.sql.schema import Schema


def read(text: str, dialect: str, schema: Schema | None = None) -> Statement | None:
    """Takes a statement apart, a raw one or one of a digest (dbdyno's, performance_schema's,
    pg_stat_statements'). `dialect`: a language of `dbdyno.kinds`; `schema` tells whose a column
    without a table's name is. None: it cannot be read, and is not known. Never raises."""
    from dbdyno.sql import clauses, parsing

    parsed = parsing.parse(text, dialect)
    try:
        return None if parsed is None else clauses.read(parsed, schema)
    except RecursionError:
        return None


def without_literals(text: str, dialect: str) -> str | None:
    """The statement with 0 for numbers, '' for strings, `'%'` or `'x%'` for patterns behind LIKE,
    and without comments: enough to take it apart. None for all but SELECT, INSERT, UPDATE, DELETE
    and REPLACE, and for what cannot be read."""
    from dbdyno.sql import parsing

    return parsing.without_literals(text, dialect)
