"""Values read, and written into SQL again without a change.

In PostgreSQL all values are read as text; in MariaDB and MySQL as PyMySQL makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbdyno.copies.schema.tables import Column, Table
from dbdyno.copies.source import Source

Row = tuple[Any, ...]
_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def selected(source: Source, column: Column) -> str:
    """A column as it is read."""
    name = source.name(column.name)
    if source.is_postgres:
        return f"{name}::text"
    if column.type.lower().startswith("float"):  # whose text has six digits only
        return f"CAST({name} AS DOUBLE)"
    return name


def named(source: Source, table: Table, columns: Sequence[str]) -> str:
    """Columns as they are read, with commas."""
    return ", ".join(selected(source, table.columns[each]) for each in columns)


def literal(source: Source, value: Any) -> str:
    """A value as SQL of one line."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"0x{value.hex()}" if value else "''"
    if isinstance(value, bool | int | float) and not source.is_postgres:
        return repr(int(value) if isinstance(value, bool) else value)
    text = str(value)
    if not source.is_postgres and any(char in text for char in "\n\r\0"):
        return f"CONVERT(0x{text.encode().hex()} USING utf8mb4)"
    return source.literal(text)


def copied(value: str | None) -> str:
    """A value as COPY reads it."""
    return "\\N" if value is None else value.translate(_ESCAPED)


def among(source: Source, columns: Sequence[str], keys: Sequence[Row]) -> str:
    """The condition that picks rows by their keys."""
    names = ", ".join(source.name(each) for each in columns)
    listed = [", ".join(literal(source, each) for each in row) for row in keys]
    if len(columns) == 1:
        return f"{names} IN ({', '.join(listed)})"
    return f"({names}) IN ({', '.join(f'({each})' for each in listed)})"
