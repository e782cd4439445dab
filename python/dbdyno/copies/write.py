"""Writes a copy of a server's schema: a file of SQL, and the `setup:` that loads it.

The file makes the tables with their checks, and without secondary indexes and foreign keys; in a
sample it has their rows, too. `setup.tables` has the engine make rows, and `setup.after` adds
indexes, foreign keys and views.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from dbdyno.copies import schema as schemas
from dbdyno.copies.copied import Copied, How, TableCopied
from dbdyno.copies.sampling import chosen, rows
from dbdyno.copies.schema import views
from dbdyno.copies.schema.tables import Check, Schema, Table
from dbdyno.copies.source import STATEMENT_S, Refused, Source, reading
from dbdyno.copies.statistics.measure import measured
from dbdyno.copies.statistics.values import TableStatistics
from dbdyno.copies.synthesis.domains import with_labels
from dbdyno.copies.synthesis.tables import synthesised
from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.types import Credentials


def write_copy(
    url: str,
    credentials: Credentials,
    tls: str | None,
    schema: str | None,
    out: Path,
    how: How,
) -> Copied:
    """Reads the server in one read-only snapshot and writes `out` (mode 0600; an existing file is
    refused). DynoError if it cannot be read or written."""
    with reading(url, credentials, tls, schema) as source:
        found = _only(schemas.read(source), how.tables)
        try:
            found = _with_views(found, how.statements)
            if how.way == "sample":
                return _sample(source, found, out, how)
            return _synthesis(source, with_labels(found), out)
        except Refused as refused:
            raise DynoError(
                f"{source.server.place} refused a statement: the copy is not whole",
                cause=str(refused),
                fix=f"copy fewer tables, or fewer rows; a statement may take {STATEMENT_S} s",
            ) from None


def _only(found: Schema, names: Sequence[str]) -> Schema:
    """The tables asked for, and those that they refer to."""
    if not names:
        return found
    wanted, left = set(), [*names]
    while left:
        name = left.pop()
        if name not in found.tables:
            raise DynoError(
                f"there is no table `{name}` to copy", fix=did_you_mean(name, found.tables)
            )
        if name not in wanted:
            wanted.add(name)
            left += [key.table for key in found.tables[name].foreign if key.table in found.tables]
    return replace(found, tables={k: v for k, v in found.tables.items() if k in wanted})


def _with_views(found: Schema, statements: Sequence[str]) -> Schema:
    """With the views that statements refer to: they come last, materialised ones with rows."""
    referred = views.referred(found, statements, found.language)
    return replace(
        found,
        after=[*found.after, *(sql for view in referred.wanted for sql in view.create)],
        omitted=[*found.omitted, *referred.omitted],
    )


def _synthesis(source: Source, found: Schema, out: Path) -> Copied:
    statistics: dict[str, TableStatistics] = {}
    omitted = [*found.omitted]
    for table in found.tables.values():
        try:
            statistics[table.name] = measured(source, table)
        except Refused as refused:
            omitted.append(f"rows of `{table.name}`: {refused}")
    made = synthesised(found, statistics)
    omitted += made.omitted
    with _opened(out, omitted) as file:
        _write(file, _ddl(found, made.checks))
        _write(file, (one.create for one in made.staged))
    after = [sql for one in made.staged for sql in one.fill]
    after += [check.sql for check in made.domain_checks]
    after += _after(found, made.broken)
    tables = [
        TableCopied(
            name=name,
            there=of_table.rows,
            copied=made.rows.get(name, 0),
            said=of_table.said,
        )
        for name, of_table in statistics.items()
    ]
    setup = {"sql": [str(out.absolute())], "tables": made.tables, "after": after}
    return _copied(source, out, tables, omitted, setup)


def _sample(source: Source, found: Schema, out: Path, how: How) -> Copied:
    picked = chosen.rows(source, found, how)
    lost = {name: choice.lost for name, choice in picked.items() if choice.lost}
    keys = [(name, key) for name, table in found.tables.items() for key in table.foreign]
    gone = [(name, key) for name, key in keys if key.table in lost or key.table not in picked]
    omitted = [
        *found.omitted,
        *(f"rows of `{name}`: {why}" for name, why in lost.items()),
        *(
            f"foreign key `{key.name}` of `{name}`: `{key.table}` has no rows in the copy"
            for name, key in gone
        ),
    ]
    tables = []
    with _opened(out, omitted) as file:
        _write(file, _ddl(found, {table.name: table.checks for table in found.tables.values()}))
        for name, choice in picked.items():
            count = 0
            for text, many in rows.written(source, found.tables[name], choice):
                file.write(text)
                count += many
            tables.append(
                TableCopied(name=name, there=choice.there, copied=count, said=choice.said)
            )
    broken = {(name, key.name) for name, key in gone}
    domain_checks = [check.sql for check in found.domain_checks]
    setup = {"dump": str(out.absolute()), "after": [*domain_checks, *_after(found, broken)]}
    return _copied(source, out, tables, omitted, setup)


def _copied(
    source: Source,
    out: Path,
    tables: Sequence[TableCopied],
    omitted: Sequence[str],
    setup: dict[str, Any],
) -> Copied:
    return Copied(
        kind=source.kind,
        schema=source.schema,
        path=out,
        data_bytes=out.stat().st_size,
        tables=tables,
        omitted=[*dict.fromkeys(omitted)],
        setup=setup,
    )


def _opened(out: Path, omitted: Sequence[str]) -> IO[str]:
    """The file, opened; its first lines name what is not copied."""
    try:
        file = os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
    except OSError as error:
        raise DynoError(
            f"{out} cannot be written: {error.strerror}",
            cause="an existing file is not overwritten" if out.exists() else "",
            fix="name another file",
        ) from None
    for sentence in dict.fromkeys(omitted):
        file.write(f"-- not copied: {' '.join(sentence.split())}\n")
    return file


def _write(file: IO[str], statements: Iterable[str]) -> None:
    for statement in statements:
        file.write(statement + ";\n")


def _ddl(found: Schema, checks: Mapping[str, Sequence[Check]]) -> Iterator[str]:
    yield from found.before
    for table in found.tables.values():
        yield table.created(checks[table.name])


def _after(found: Schema, broken: set[tuple[str, str]]) -> Iterator[str]:
    """Indexes of all tables, then foreign keys, since these need the indexes."""
    for table in found.tables.values():
        yield from (_loosened(table, statement, broken) for statement in table.after)
    for table in found.tables.values():
        for key in table.foreign:
            if (table.name, key.name) not in broken and key.table in found.tables:
                yield key.sql
    yield from found.after


def _loosened(table: Table, statement: str, broken: set[tuple[str, str]]) -> str:
    """Without UNIQUE where made-up rows are not unique."""
    for of_table, name in broken:
        if of_table == table.name:
            statement = statement.replace(f"UNIQUE KEY `{name}`", f"KEY `{name}`")
            if f"UNIQUE INDEX {name} " in statement:
                statement = statement.replace("UNIQUE INDEX", "INDEX", 1)
            if f'ADD CONSTRAINT "{name}" UNIQUE' in statement:
                columns = statement.rpartition("UNIQUE")[2]
                statement = f'CREATE INDEX "{name}" ON "{table.name}" {columns}'
    return statement
