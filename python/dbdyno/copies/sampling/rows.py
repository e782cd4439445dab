"""The rows of a sample as SQL, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.copies.sampling.chosen import Choice, batches, identity
from dbdyno.copies.sampling.literals import among, copied, literal, named
from dbdyno.copies.schema.tables import Table
from dbdyno.copies.source import Source


def written(source: Source, table: Table, choice: Choice) -> Iterator[tuple[str, int]]:
    """Statements with the chosen rows, and how many rows each has."""
    columns = [column.name for column in table.filled]
    select = f"SELECT {named(source, table, columns)} FROM {source.table(table.name)}"
    for where in _parts(source, table, choice):
        found = source.rows(select + where)
        if found:
            yield _statement(source, table, columns, found), len(found)


def _parts(source: Source, table: Table, choice: Choice) -> Iterator[str]:
    if choice.lost:
        return
    if choice.limit is not None:
        yield f" LIMIT {choice.limit}"
        return
    key = choice.columns or identity(table)
    keys = choice.keys
    if keys is None and not key:
        yield ""
        return
    if keys is None:
        select = f"SELECT {named(source, table, key)} FROM {source.table(table.name)}"
        keys = {tuple(row) for row in source.rows(select)}
    for part in batches(keys):
        yield f" WHERE {among(source, key, part)}"


def _statement(
    source: Source, table: Table, columns: Sequence[str], found: Sequence[Sequence[object]]
) -> str:
    names = ", ".join(source.name(each) for each in columns)
    into = f"{source.name(table.name)} ({names})"
    if source.is_postgres:
        lines = ["\t".join(copied(None if v is None else str(v)) for v in row) for row in found]
        return f"COPY {into} FROM stdin;\n" + "\n".join(lines) + "\n\\.\n"
    rows = ",\n".join(f"({', '.join(literal(source, each) for each in row)})" for row in found)
    return f"INSERT INTO {into} VALUES\n{rows};\n"
