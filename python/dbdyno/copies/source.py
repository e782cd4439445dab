"""The session that a copy is read in: one snapshot, read-only, each statement with a time limit.

Sources: the MySQL and MariaDB manuals on START TRANSACTION, max_execution_time and
max_statement_time; PostgreSQL's on SET TRANSACTION, statement_timeout and lock_timeout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pymysql
from pg8000.exceptions import DatabaseError
from pymysql.constants.ER import UNKNOWN_SYSTEM_VARIABLE

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.systems.external import reach
from dbdyno.systems.mysql import control as mysql
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres import control as postgres
from dbdyno.systems.postgres.external import PostgresRemote, literal
from dbdyno.systems.server_errors import understanding

STATEMENT_S = 8  # below the control connection's own limit
# A writer's DDL waits for a reader's lock on the table's definition as long as a transaction lasts.
# So does ours for theirs, but no longer than this.
_MYSQL = (
    "SET SESSION lock_wait_timeout = 1",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_quote_show_create = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
# Each of the two servers has one of the limits; only MySQL keeps old statistics of tables.
_LIMITS = (
    f"SET SESSION max_execution_time = {STATEMENT_S * 1000}",
    f"SET SESSION max_statement_time = {STATEMENT_S}",
)
_FRESH = "SET SESSION information_schema_stats_expiry = 0"
_POSTGRES = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    f"SET LOCAL statement_timeout = '{STATEMENT_S}s'",
    "SET LOCAL lock_timeout = '1s'",
    "SET LOCAL DateStyle = 'ISO, MDY'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",
)


class Refused(Exception):
    """The server refuses a statement, or has run it for too long; the session goes on."""


class Source:
    """One schema of a server. `is_postgres`: which of the two languages it speaks."""

    def __init__(self, server: MysqlRemote | PostgresRemote, schema: str) -> None:
        self.server = server
        self.schema = schema
        self.kind = server.kind
        self.is_postgres = kinds.of(server.kind).language == kinds.POSTGRES

    def rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """The answer. Refused; DynoError if the connection is lost, and with it the snapshot."""
        if isinstance(self.server, PostgresRemote):
            return self._postgres_rows(self.server, sql)
        try:
            return self.server.rows(sql)
        except pymysql.Error as error:
            code = error.args[0] if error.args else 0
            if isinstance(code, int) and (0 < code < 2000 or code >= 3000):
                raise Refused(str(error.args[-1])) from None
            raise self.server.unanswered(error) from None
        except OSError as error:
            raise self.server.unanswered(error) from None

    def _postgres_rows(self, server: PostgresRemote, sql: str) -> Sequence[Sequence[Any]]:
        """A statement that fails ends the transaction unless there is a savepoint."""
        try:
            server.rows("SAVEPOINT dyno")
            try:
                return server.rows(sql)
            except DatabaseError as error:
                server.rows("ROLLBACK TO SAVEPOINT dyno")
                raise Refused(postgres.message(error)) from None
        except postgres.ERRORS as error:
            raise server.unanswered(error) from None

    def name(self, name: str) -> str:
        """A name in quotes."""
        if self.is_postgres:
            return '"' + name.replace('"', '""') + '"'
        return mysql.quoted_name(name)

    def table(self, name: str) -> str:
        """A table of the schema."""
        return f"{self.name(self.schema)}.{self.name(name)}"

    def literal(self, value: str) -> str:
        """A text in quotes."""
        return literal(value) if self.is_postgres else mysql.quoted(value)


@contextmanager
def reading(
    url: str, credentials: Credentials, tls: str | None, schema: str | None
) -> Iterator[Source]:
    """Logs in and begins the snapshot. `schema`: default, the URL's (PostgreSQL: the first of the
    search path). DynoError as `reach.open_url`, or if there is no such schema."""
    server = reach.open_url(url, credentials, tls)
    try:
        if not isinstance(server, MysqlRemote | PostgresRemote):
            raise DynoError(
                f"{server.place} has no tables to copy",
                cause="it is no server of SQL",
                fix="name a MariaDB, MySQL or PostgreSQL",
            )
        with understanding(server.place, "its tables"):
            yield _begun(server, schema or _schema_in(url, server))
    finally:
        server.stop()


def _is_set(server: MysqlRemote, statement: str) -> bool:
    """Whether the server knows a variable, which it then has."""
    try:
        server.rows(statement)
    except pymysql.Error as error:
        if error.args[:1] == (UNKNOWN_SYSTEM_VARIABLE,):
            return False
        raise
    return True


def _schema_in(url: str, server: MysqlRemote | PostgresRemote) -> str | None:
    """Of PostgreSQL's URLs it is the database."""
    return None if isinstance(server, PostgresRemote) else server_url.parse(url).schema


def _begun(server: MysqlRemote | PostgresRemote, schema: str | None) -> Source:
    try:
        if isinstance(server, PostgresRemote):
            for statement in _POSTGRES:
                server.rows(statement)
            found = schema or str(server.rows("SELECT current_schema()")[0][0])
            server.rows(f"SET LOCAL search_path TO {Source(server, found).name(found)}")
        else:
            if not [each for each in _LIMITS if _is_set(server, each)]:
                raise DynoError(
                    f"{server.place} has no time limit for statements",
                    cause="it is older than MySQL 5.7.8 or MariaDB 10.1",
                    fix="copy from a newer replica",
                )
            _is_set(server, _FRESH)
            for statement in _MYSQL:
                server.rows(statement)
            found = schema or ""
        here = server.schemas()
    except (*mysql.ERRORS, *postgres.ERRORS) as error:
        raise server.unanswered(error) from None
    if found not in here:
        raise DynoError(
            f"{server.place} has no schema `{found}`" if found else f"{server.place}: which schema",
            cause="the URL names none"
            if not found
            else "it has another name, or the user no right",
            fix=f"one of: {', '.join(here) or 'none is seen'}",
        )
    return Source(server, found)
