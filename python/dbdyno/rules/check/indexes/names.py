"""Names of objects in statements and sentences, and of indexes that are to be made."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.facts.fact import Facts
from dbdyno.sql.schema import BTREE, Index, Part, Table

NAME_MAX = 60  # characters; servers allow 63 or 64
_OPERATORS = re.compile(r"[\w\"]+ \w+_ops")  # a column in another order than its type's
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def is_postgres(facts: Facts) -> bool:
    """Whether it is written in PostgreSQL's way."""
    return facts.engine == "postgres"


def quoted(facts: Facts, name: str) -> str:
    """A name as the engine takes it, whatever is in it."""
    if is_postgres(facts):
        return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'
    return "`" + name.replace("`", "``") + "`"


def of_table(facts: Facts, table: Table) -> str:
    """With its schema."""
    if not table.schema:
        return quoted(facts, table.name)
    return f"{quoted(facts, table.schema)}.{quoted(facts, table.name)}"


def of_index(table: Table, index: Index) -> str:
    """The object, for `Fix.drops` and `Fix.needs`."""
    return f"index {table.full_name}.{index.name}"


def columns(parts: Sequence[Part]) -> str:
    """`a, b(10), c DESC`, for people."""
    return ", ".join(
        (part.column or f"({part.expression})")
        + (f"({part.prefix})" if part.prefix else "")
        + (" DESC" if part.descending else "")
        for part in parts
    )


def key_parts(facts: Facts, parts: Sequence[Part]) -> str:
    """The same in a statement. Around an expression, MySQL demands parentheses, PostgreSQL allows
    them."""
    return ", ".join(
        (quoted(facts, part.column) if part.column else _expression(part.expression))
        + (f"({part.prefix})" if part.prefix else "")
        + (" DESC" if part.descending else "")
        for part in parts
    )


def _expression(text: str) -> str:
    return text if _OPERATORS.fullmatch(text) else f"({text})"


def new_index(table: Table, *words: str) -> str:
    """A name that no index of the table has."""
    base = "_".join([table.name, *(re.sub(r"\W+", "_", word).strip("_").lower() for word in words)])
    taken = {one.name.lower() for one in table.indexes}
    name, number = base[:NAME_MAX], 1
    while name.lower() in taken:
        number += 1
        name = f"{base[: NAME_MAX - 3]}_{number}"
    return name


def create(
    facts: Facts, table: Table, name: str, parts: Sequence[Part], include: Sequence[str] = ()
) -> str:
    """CREATE INDEX, without locking out writers for long."""
    of = f"{of_table(facts, table)} ({key_parts(facts, parts)})"
    if is_postgres(facts):
        carried = (
            f" INCLUDE ({', '.join(quoted(facts, one) for one in include)})" if include else ""
        )
        return f"CREATE INDEX CONCURRENTLY {quoted(facts, name)} ON {of}{carried}"
    return f"CREATE INDEX {quoted(facts, name)} ON {of}"


def drop(facts: Facts, table: Table, index: Index) -> str:
    """DROP INDEX."""
    if is_postgres(facts):
        whole = f"{quoted(facts, table.schema)}.{quoted(facts, index.name)}"
        return f"DROP INDEX CONCURRENTLY {whole}"
    return f"DROP INDEX {quoted(facts, index.name)} ON {of_table(facts, table)}"


def create_again(facts: Facts, table: Table, index: Index) -> str:
    """The undo of `drop`."""
    made = create(facts, table, index.name, index.parts, index.include)
    if index.kind != BTREE:
        of = of_table(facts, table)
        made = made.replace(f" ON {of} (", f" ON {of} USING {index.kind} (", 1)
    if index.unique:
        made = made.replace("CREATE INDEX", "CREATE UNIQUE INDEX", 1)
    return f"{made} WHERE {index.predicate}" if index.predicate else made
