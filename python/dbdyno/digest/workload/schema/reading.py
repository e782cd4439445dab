"""Reads a schema from a server: names and types of columns, unique keys, foreign keys, and of the
log's tables how many rows there are.

Sources: the MySQL, MariaDB and PostgreSQL manuals on INFORMATION_SCHEMA's COLUMNS, STATISTICS,
KEY_COLUMN_USAGE and TABLE_CONSTRAINTS, and PostgreSQL's on pg_enum and pg_get_serial_sequence.
Only SELECT is used, and every answer is cut at a bound.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbdyno import kinds
from dbdyno.digest.document import Document
from dbdyno.digest.workload.schema.catalog import CHOICES, WHOLE, Catalog, Column, Table
from dbdyno.errors import DynoError
from dbdyno.experiment.values.generators import VALUES_MAX
from dbdyno.systems.mysql.control import ERRORS as MYSQL_ERRORS
from dbdyno.systems.mysql.control import quoted, quoted_name, text
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.control import ERRORS as POSTGRES_ERRORS
from dbdyno.systems.postgres.external import PostgresRemote, literal
from dbdyno.systems.server_errors import understanding

COLUMNS_MAX = 50_000  # of a schema
TEXT_MAX = 100_000  # characters of a column's type
_MEMBER = re.compile(r"'((?:[^']|'')*)'")
_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?", re.ASCII)
_SEQUENCE = re.compile(r"nextval\('((?:[^']|'')+)'::regclass\)")

Rows = Callable[[str], Sequence[Sequence[Any]]]


def read(server: MysqlRemote | PostgresRemote, schema: str, tables: Collection[str]) -> Catalog:
    """What a server says of a schema; `tables`: those whose rows are counted, up to a bound.
    DynoError if it cannot be asked, or if the user sees no table there."""
    with understanding(server.place, "its schema"):
        try:
            reader = _Postgres(server) if isinstance(server, PostgresRemote) else _Mysql(server)
            found = reader.catalog(schema, {name.lower() for name in tables})
        except (*MYSQL_ERRORS, *POSTGRES_ERRORS) as error:
            raise server.unanswered(error) from None
    if not found.tables:
        raise DynoError(
            f"{server.place}: no table is seen in schema `{schema}`",
            cause="the schema has another name there, or the user has no right on its tables",
            fix="name it in the URL, and grant SELECT on it to the user",
        )
    return found


def of_databases(
    server: MysqlRemote | PostgresRemote, in_url: str | None, document: Document
) -> dict[str, Catalog]:
    """What a server says of each database of a log: of the schema of its name, or of the one that
    the URL names if there is one database, or none of this name."""
    tables: dict[str, set[str]] = defaultdict(set)
    for one in document.classes:
        for database in one.databases:
            tables[database] |= {name.rpartition(".")[2] for name in one.tables}
    tables = {name: of for name, of in tables.items() if of}
    here = {*server.schemas()}
    names = {
        database: in_url if in_url and (len(tables) == 1 or database not in here) else database
        for database in tables
    }
    return {
        database: read(server, name, tables[database])
        for database, name in names.items()
        if name and (name in here or name == in_url)
    }


class _Mysql:
    def __init__(self, server: MysqlRemote) -> None:
        self._server = server
        self._rows: Rows = server.rows

    def catalog(self, schema: str, counted: Collection[str]) -> Catalog:
        where = f"WHERE table_schema = {quoted(schema)}"
        rows = self._rows(
            "SELECT table_name, column_name, data_type, column_type, character_maximum_length,"
            " is_nullable, column_default IS NULL, extra FROM information_schema.columns"
            f" {where} ORDER BY table_name, ordinal_position LIMIT {COLUMNS_MAX}"
        )
        unique = _alone(
            self._rows(
                "SELECT table_name, index_name, column_name, sub_part"
                f" FROM information_schema.statistics {where} AND non_unique = 0"
                f" LIMIT {COLUMNS_MAX}"
            )
        )
        references = {
            (text(table), text(column)): (text(to), text(key))
            for table, column, to, key in self._rows(
                "SELECT table_name, column_name, referenced_table_name, referenced_column_name"
                f" FROM information_schema.key_column_usage {where} AND referenced_table_schema ="
                f" {quoted(schema)} LIMIT {COLUMNS_MAX}"
            )
        }
        json = self._json_checks(where)
        columns: dict[str, list[Column]] = defaultdict(list)
        for table, name, type_, whole, length, nullable, bare, extra in rows:
            key = (text(table), text(name))
            extras = text(extra).lower()
            is_auto, kind = "auto_increment" in extras, text(type_).lower()
            # An ENUM's own default is its first value.
            has_own = (
                is_auto or kind == "enum" or "generated" in extras.replace("default_generated", "")
            )
            made = Column(
                name=key[1],
                type=kind,
                choices=_members(text(whole)) if kind in CHOICES else (),
                length=_length(length) if "char" in kind or "text" in kind else None,
                is_unique=key in unique,
                is_auto=is_auto,
                is_required=text(nullable) == "NO" and bool(bare) and not has_own,
                is_json=kind == "json" or key in json,
                references=references.get(key),
            )
            columns[key[0]].append(made)
        return _counted(self._server.kind, schema, columns, counted, self._rows, self._name(schema))

    def _json_checks(self, where: str) -> set[tuple[str, str]]:
        """Columns of the type that MariaDB calls JSON: a text with a check."""
        if self._server.kind != "mariadb":
            return set()
        checks = self._rows(
            "SELECT table_name, check_clause FROM information_schema.check_constraints"
            f" {where.replace('table_schema', 'constraint_schema')} AND check_clause LIKE"
            f" 'json_valid(%' LIMIT {COLUMNS_MAX}"
        )
        found = ((text(table), text(clause)) for table, clause in checks)
        return {(table, clause[11:].strip("`)")) for table, clause in found}

    def _name(self, schema: str) -> Callable[[str], str]:
        return lambda table: f"{quoted_name(schema)}.{quoted_name(table)}"


class _Postgres:
    """Of one database the schema that comes first in the search path, unless there is one of the
    name asked for."""

    def __init__(self, server: PostgresRemote) -> None:
        self._server = server
        self._rows: Rows = server.rows

    def catalog(self, schema: str, counted: Collection[str]) -> Catalog:
        name = schema if self._has(schema) else str(self._rows("SELECT current_schema()")[0][0])
        where = f"WHERE c.table_schema = {literal(name)}"
        rows = self._rows(
            "SELECT c.table_name, c.column_name, c.data_type, c.udt_name,"
            " c.character_maximum_length, c.is_nullable, c.column_default, c.is_identity,"
            " c.is_generated, CASE WHEN c.is_identity = 'YES' THEN pg_get_serial_sequence("
            "quote_ident(c.table_schema) || '.' || quote_ident(c.table_name), c.column_name) END"
            f" FROM information_schema.columns c {where} ORDER BY c.table_name, c.ordinal_position"
            f" LIMIT {COLUMNS_MAX}"
        )
        choices: dict[str, list[str]] = defaultdict(list)
        for type_, label in self._rows(
            "SELECT t.typname, e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid"
            f" ORDER BY t.typname, e.enumsortorder LIMIT {COLUMNS_MAX}"
        ):
            choices[str(type_)].append(str(label))
        unique, references = self._keys(name)
        columns: dict[str, list[Column]] = defaultdict(list)
        for table, column, type_, udt, length, nullable, default, identity, generated, own in rows:
            key = (str(table), str(column))
            drawn = _SEQUENCE.search(str(default or ""))
            named = str(own) if own else drawn[1] if drawn else ""
            # It is SQL, unchanged: names that take quotes are left alone.
            sequence = named if _PLAIN.fullmatch(named) else None
            is_bare = default is None and identity != "YES" and generated != "ALWAYS"
            made = Column(
                name=key[1],
                type="enum" if str(udt) in choices else str(type_).lower(),
                choices=tuple(choices.get(str(udt), ())),
                length=_length(length),
                is_unique=key in unique,
                is_auto=sequence is not None,
                is_required=nullable == "NO" and is_bare,
                is_json=str(udt) in ("json", "jsonb"),
                references=references.get(key),
                sequence=sequence,
            )
            columns[key[0]].append(made)
        return _counted("postgres", name, columns, counted, self._rows, _postgres_name(name))

    def _has(self, schema: str) -> bool:
        return bool(
            self._rows(
                "SELECT 1 FROM information_schema.schemata WHERE schema_name ="
                f" {literal(schema)} LIMIT 1"
            )
        )

    def _keys(
        self, schema: str
    ) -> tuple[set[tuple[str, str]], dict[tuple[str, str], tuple[str, str]]]:
        """Unique columns, and what columns refer to, of keys of one column."""
        of = f"n.nspname = {literal(schema)}"
        named = "(SELECT attname FROM pg_attribute WHERE attrelid = {} AND attnum = {})"
        unique = self._rows(
            f"SELECT t.relname, {named.format('i.indrelid', 'i.indkey[0]')} FROM pg_index i JOIN"
            f" pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace WHERE"
            f" {of} AND i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL LIMIT"
            f" {COLUMNS_MAX}"
        )
        foreign = self._rows(
            f"SELECT t.relname, {named.format('k.conrelid', 'k.conkey[1]')}, o.relname,"
            f" {named.format('k.confrelid', 'k.confkey[1]')} FROM pg_constraint k JOIN pg_class t"
            " ON t.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid JOIN pg_namespace n ON"
            f" n.oid = t.relnamespace AND n.oid = o.relnamespace WHERE {of} AND k.contype = 'f' AND"
            f" array_length(k.conkey, 1) = 1 LIMIT {COLUMNS_MAX}"
        )
        return (
            {(str(table), str(column)) for table, column in unique},
            {(str(a), str(b)): (str(c), str(d)) for a, b, c, d in foreign},
        )


def _postgres_name(schema: str) -> Callable[[str], str]:
    def name(table: str) -> str:
        return ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table))

    return name


def _counted(
    kind: str,
    schema: str,
    columns: Mapping[str, Sequence[Column]],
    counted: Collection[str],
    rows: Rows,
    name: Callable[[str], str],
) -> Catalog:
    """With the rows of the tables that are asked for, and the greatest of their unique numbers."""
    is_postgres = kinds.of(kind).language == kinds.POSTGRES
    quote = quoted_name if not is_postgres else lambda one: '"' + one.replace('"', '""') + '"'
    known = {table.lower() for table in columns}
    references = (each.references for of in columns.values() for each in of)
    targets = {to[0].lower() for to in references if to is not None}
    tables: dict[str, Table] = {}
    for table, of in columns.items():
        many, made = 0, list(of)
        if table.lower() in known & ({*counted} | targets):
            inner = f"SELECT 1 FROM {name(table)} LIMIT {VALUES_MAX + 1}"
            many = max(
                0, min(VALUES_MAX + 1, int(rows(f"SELECT COUNT(*) FROM ({inner}) AS d")[0][0]))
            )
            for at, each in enumerate(of):
                if each.is_unique and each.type in WHOLE:
                    top = rows(f"SELECT MAX({quote(each.name)}) FROM {name(table)}")[0][0]
                    made[at] = replace(each, greatest=int(top) if top is not None else None)
        by_name = {each.name.lower(): each for each in made}
        tables[table.lower()] = Table(name=table, columns=by_name, rows=many)
    return Catalog(kind=kind, schema=schema, tables=tables)


def _alone(rows: Iterable[Sequence[Any]]) -> set[tuple[str, str]]:
    """Columns that are a unique key by themselves, whole."""
    keys: dict[tuple[str, str], list[tuple[str, bool]]] = defaultdict(list)
    for table, index, column, part in rows:
        keys[text(table), text(index)].append((text(column), part is None))
    return {
        (table, members[0][0])
        for (table, _), members in keys.items()
        if len(members) == 1 and members[0][1]
    }


def _members(type_: str) -> tuple[str, ...]:
    found = (match[1].replace("''", "'") for match in _MEMBER.finditer(type_[:TEXT_MAX]))
    return tuple(each for each in found if each.isprintable())


def _length(value: Any) -> int | None:
    return int(value) if value is not None and int(value) > 0 else None
