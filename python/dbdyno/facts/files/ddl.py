"""Schema dumps: CREATE TABLE, CREATE INDEX and ALTER TABLE of mysqldump, pg_dump or a hand. Rows in
a dump are skipped.

Source: the manuals' pages on mysqldump, mariadb-dump and pg_dump, for what their headers say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno import kinds
from dbdyno.facts.fact import EITHER, Facts, version_of
from dbdyno.facts.files import logs, text
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema import distribution, rows
from dbdyno.sql.ddl import Tables

BYTES_MAX = 256 << 20
TABLES_MAX = 5_000
_TABLE = re.compile(r"^CREATE\s+(?:UNLOGGED\s+)?TABLE\b", re.IGNORECASE | re.MULTILINE)
_WANTED = re.compile(
    r"CREATE\s+(?:UNLOGGED\s+)?TABLE\b|CREATE\s+(?:UNIQUE\s+)?INDEX\b|ALTER\s+TABLE\b"
    r"|SELECT\s+(?:\w+\.)?create_(?:distributed|reference)_table\b",
    re.IGNORECASE,
)
_USE = re.compile(r"USE\s+[`\"]?([^`\";\s]+)", re.IGNORECASE)
_PATH = re.compile(r"SELECT pg_catalog\.set_config\('search_path'|SET search_path = ([\w\"]+)")
_POSTGRES = re.compile(
    r"^-- PostgreSQL database dump|^-- Dumped from database version (\S+)"
    r"|\bcharacter varying\b|\bUSING btree \(|^SET search_path|\btimestamptz\b|\b(big)?serial\b"
    r"|\bDISTRIBUTE BY\b|^SELECT (?:\w+\.)?create_(?:distributed|reference)_table\b",
    re.MULTILINE | re.IGNORECASE,
)
_MYSQL_VERSION = re.compile(r"^-- Server version\s+(\S+)", re.MULTILINE)
_POSTGRES_VERSION = re.compile(r"^-- Dumped from database version (\S+)", re.MULTILINE)
_MARIADB = re.compile(r"^-- MariaDB dump|^-- Server version\s+\S*MariaDB", re.MULTILINE)
_DATABASE = re.compile(r"^-- Host: .*\bDatabase: (\S+)", re.MULTILINE)
_MYSQL = re.compile(r"^-- MySQL dump", re.MULTILINE)
HEAD = 20_000  # characters: of a header, and of the statements that tell a dialect


def detect(path: Path, content: str) -> bool:
    """A statement that creates a table, and not one that a server has logged."""
    return bool(_TABLE.search(content)) and not logs.statements_of(content)


def read(path: Path, found: Gathered) -> Facts:
    """Tables `user_tables`, `user_columns`, `user_indexes`, `user_foreign_keys`, as of a server;
    what is known from its data is missing. And how tables are distributed over a cluster."""
    content = text.read(path, BYTES_MAX)
    engine, version = _written_by(content)
    language = kinds.POSTGRES if engine == "postgres" else kinds.MYSQL
    tables = Tables(language)
    said = _DATABASE.search(content[:HEAD])
    first = "public" if engine == "postgres" else (said[1] if said else "")
    spread = distribution.Distributions(str(path))
    for statement, line, schema in _statements(content, first):
        spread.take(statement, line)
        if not distribution.is_call(statement):
            tables.take(distribution.without_clause(statement), line, schema)
    spread.put(found)
    known = list(tables.all())[:TABLES_MAX]
    rows.add(((table, f"{path}:{line}:1") for table, line in known), found, str(path))
    if tables.not_read:
        lines = ", ".join(map(str, tables.not_read[:5]))
        found.lacks("other tables", f"{len(tables.not_read)} statements cannot be read: {lines}")
    return found.facts(str(path), "dump", engine, version_of(version))


def _written_by(content: str) -> tuple[str, str]:
    """(engine, version), as its header says; else the dialect alone."""
    head = content[:HEAD]
    if _POSTGRES.search(head):
        said = _POSTGRES_VERSION.search(head)
        return "postgres", said[1] if said else ""
    said = _MYSQL_VERSION.search(head)
    version = said[1] if said else ""
    if _MARIADB.search(head):
        return "mariadb", version
    # MySQL's client dumps MariaDB too, and then the version says MariaDB.
    return "mysql" if _MYSQL.search(head) and version else EITHER, version


def _statements(content: str, schema: str) -> Iterator[tuple[str, int, str]]:
    """(statement, line, schema) of those about tables; each begins with a line, and ends with a
    line that ends with a semicolon. Rows of COPY are no statements."""
    pending: list[str] = []
    begin, copying = 0, False
    for number, line in enumerate(content.splitlines(), 1):
        if copying:
            copying = line != "\\."
        elif pending:
            pending.append(line)
        elif _WANTED.match(line):
            pending, begin = [line], number
        elif line.startswith("COPY ") and line.endswith("FROM stdin;"):
            copying = True
        elif named := _USE.match(line):
            schema = named[1]
        elif (path := _PATH.match(line)) and path[1]:
            schema = path[1].strip('"')
        if pending and line.rstrip().endswith(";"):
            yield "\n".join(pending), begin, schema
            pending = []
    if pending:
        yield "\n".join(pending), begin, schema
