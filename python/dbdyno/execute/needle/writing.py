"""Writes a random value into a schema of dbdyno on an external server, and drops the schema again.

The schema carries dbdyno's mark, and is dropped on every way out that a process has: the end, an
error, Ctrl-C, SIGTERM. What `kill -9` leaves is dropped by the next needle on that server, once it
is an hour old. The value is random and meaningless; copies of it in logs stay until the server
removes those, and replicas execute the same statements.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pymysql

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials
from dbdyno.facts.at_rest.headers import ENCRYPTED, PLAIN
from dbdyno.systems.external import reach
from dbdyno.systems.external.server import PREFIX, Mark
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.server_errors import understanding

NAME = "dyno check --write-needle"  # the experiment in the mark
_STALE_S = 3600.0
_TIME = "%Y-%m-%d %H:%M:%SZ"
_ROWS = 200
_OPTION = {"mysql": "ENCRYPTION = 'Y'", "mariadb": "ENCRYPTED = YES"}


@dataclass(frozen=True)
class Written:
    """The value as it would lie in a file, the state of its table, and what could not be done."""

    needle: bytes
    table: str  # ENCRYPTED | PLAIN
    since_unix_s: float
    lacking: str = ""


@contextlib.contextmanager
def written(url: str, credentials: Credentials, tls: str | None) -> Iterator[Written]:
    """While inside, the value is in the server's table. DynoError if it cannot be written."""
    server = reach.open_url(url, credentials, tls)
    try:
        if not isinstance(server, MysqlRemote):
            raise DynoError(
                f"--write-needle is for MySQL and MariaDB, not for {server.place}",
                cause="PostgreSQL and Redis encrypt no files",
                fix="remove it",
            )
        with understanding(server.place, "whether a value is written"):
            _drop_stale(server)
            with _schema(server) as schema:
                yield _write(server, schema)
    finally:
        server.stop()


@contextlib.contextmanager
def _schema(server: MysqlRemote) -> Iterator[str]:
    run = secrets.token_hex(4)
    server.mark = Mark(run, NAME, time.strftime(_TIME, time.gmtime()))
    schema = f"{PREFIX}{run}_needle"
    try:
        with _uninterrupted():
            server.create_schema(schema)
        yield schema
    finally:
        with _uninterrupted():
            server.close_connection()  # an interrupt may have come amid an answer
            if schema in server.marked():
                server.drop_schema(schema, run)


def _drop_stale(server: MysqlRemote) -> None:
    """Those of a process that was killed. A younger one may be at work."""
    for schema, mark in server.marked().items():
        if mark.experiment == NAME and _age_s(mark.made) > _STALE_S:
            server.drop_schema(schema, mark.run)


def _age_s(made: str) -> float:
    try:
        return time.time() - datetime.strptime(made, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _write(server: MysqlRemote, schema: str) -> Written:
    """Rows with the value, changed once, so that undo logs have it too."""
    needle = f"dbdyno{secrets.token_hex(16)}"
    since = time.time()
    table = f"`{schema}`.needle"
    state = _create(server, table)
    values = ", ".join(f"({n}, '{needle} first {n}')" for n in range(_ROWS))
    server.rows(f"INSERT INTO {table} VALUES {values}")
    server.rows(f"UPDATE {table} SET note = CONCAT(note, ' then')")
    return Written(needle.encode(), state, since, _flush(server, table))


def _create(server: MysqlRemote, table: str) -> str:
    """Encrypted where the server can, so that what is found is a leak."""
    columns = "(id INT PRIMARY KEY, note VARCHAR(200)) ENGINE = InnoDB"
    with contextlib.suppress(pymysql.Error):
        server.rows(f"CREATE TABLE {table} {columns} {_OPTION[server.kind]}")
        return ENCRYPTED
    try:
        server.rows(f"CREATE TABLE {table} {columns}")
    except pymysql.Error as error:
        raise server.unanswered(error) from None
    return PLAIN


def _flush(server: MysqlRemote, table: str) -> str:
    """All pages of this table to its file. It locks this table only."""
    try:
        server.rows(f"FLUSH TABLES {table} FOR EXPORT")
        server.rows("UNLOCK TABLES")
    except pymysql.Error as error:
        return f"FLUSH TABLES ... FOR EXPORT: {error.args[-1]}"
    return ""


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the end of the block."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
