"""What a server's tables say of the columns that values are drawn from: ends, whether they hold
values at all, how many rows there are, and keys of several columns.

Sources: the MySQL and MariaDB manuals on information_schema's TABLES and STATISTICS,
max_execution_time and max_statement_time; PostgreSQL's on pg_class, pg_index and statement_timeout.
Except for the session's own time limit, only SELECT is used.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from dbdyno import kinds
from dbdyno.digest.workload.schema.catalog import WHOLE, Column
from dbdyno.systems.mysql.control import ERRORS as MYSQL_ERRORS
from dbdyno.systems.mysql.control import quoted, quoted_name, text
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.postgres.control import ERRORS as POSTGRES_ERRORS
from dbdyno.systems.postgres.external import PostgresRemote, literal

STATEMENT_S = 8  # below the control connection's own limit
INDEXES_MAX = 20_000
WHOLES = frozenset(WHOLE) | {"year"}
DECIMALS = frozenset({"decimal", "numeric", "double", "float", "real", "double precision"})
DATES = frozenset({"date"})
MOMENTS = frozenset(
    {"datetime", "timestamp", "timestamp without time zone", "timestamp with time zone"}
)
PLAIN_TEXTS = frozenset(
    """char varchar character bpchar tinytext text mediumtext longtext citext name
    """.split()  # noqa: SIM905
) | {"character varying"}
TEXTS = PLAIN_TEXTS | {"enum", "uuid", "time", "time without time zone", "boolean"}


@dataclass(frozen=True)
class Ends:
    """The least and the greatest value of a column: numbers, or Unix seconds of dates and moments
    (of clocks without a zone, as if UTC); `decimals`: how many places its values have."""

    least: float
    greatest: float
    decimals: int = 0


class Columns:
    """Of one schema of a server, asked at most once for each column."""

    def __init__(self, server: MysqlRemote | PostgresRemote, schema: str) -> None:
        self._server, self._schema = server, schema
        self._is_postgres = isinstance(server, PostgresRemote)
        self._ends: dict[tuple[str, str], Ends | None] = {}
        self._filled: dict[tuple[str, str], bool] = {}
        self.rows = {name.lower(): rows for name, rows in self._tables()}
        self.keys = self._keys()

    def ends(self, table: str, column: Column) -> Ends | None:
        """Its ends; None if it holds no values, or they cannot be read in time."""
        key = (table, column.name)
        if key not in self._ends:
            name = self._name(column.name)
            found = self._row(f"SELECT MIN({name}), MAX({name}) FROM {self._table(table)}")
            self._ends[key] = None if found is None else _ends(found)
        return self._ends[key]

    def is_filled(self, table: str, column: str) -> bool:
        """Whether it holds a value. False if that cannot be read in time."""
        key = (table, column)
        if key not in self._filled:
            name = self._name(column)
            found = self._row(
                f"SELECT 1 FROM {self._table(table)} WHERE {name} IS NOT NULL LIMIT 1"
            )
            self._filled[key] = found is not None
        return self._filled[key]

    def _tables(self) -> Iterator[tuple[str, float]]:
        """Tables, without views, and how many rows they have, as the server estimates it."""
        if self._is_postgres:
            sql = (
                "SELECT c.relname, c.reltuples::float8 FROM pg_class c JOIN pg_namespace n"
                f" ON n.oid = c.relnamespace WHERE n.nspname = {literal(self._schema)}"
                " AND c.relkind IN ('r', 'p')"
            )
        else:
            sql = (
                "SELECT table_name, table_rows FROM information_schema.tables"
                f" WHERE table_schema = {quoted(self._schema)} AND table_type = 'BASE TABLE'"
            )
        for name, rows in self._server.rows(sql):
            yield text(name), max(0.0, float(rows or 0))

    def _keys(self) -> dict[str, list[frozenset[str]]]:
        """Unique keys of several columns, by table; names in small letters."""
        if self._is_postgres:
            sql = (
                "SELECT t.relname, i.indexrelid::text, a.attname FROM pg_index i JOIN pg_class t"
                " ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace"
                " JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY(i.indkey)"
                f" WHERE n.nspname = {literal(self._schema)} AND i.indisunique"
                f" AND i.indnkeyatts > 1 LIMIT {INDEXES_MAX}"
            )
        else:
            sql = (
                "SELECT table_name, index_name, column_name FROM information_schema.statistics"
                f" WHERE table_schema = {quoted(self._schema)} AND non_unique = 0"
                f" AND column_name IS NOT NULL LIMIT {INDEXES_MAX}"
            )
        found: dict[tuple[str, str], set[str]] = {}
        for table, index, column in self._server.rows(sql):
            found.setdefault((text(table).lower(), text(index)), set()).add(text(column).lower())
        keys: dict[str, list[frozenset[str]]] = {}
        for (table, _), columns in found.items():
            if len(columns) > 1:
                keys.setdefault(table, []).append(frozenset(columns))
        return keys

    def _row(self, sql: str) -> Sequence[Any] | None:
        """The first row; None if there is none, or it takes too long."""
        with contextlib.suppress(*MYSQL_ERRORS, *POSTGRES_ERRORS):
            return next(iter(self._server.rows(sql)), None)
        return None

    def _name(self, name: str) -> str:
        if self._is_postgres:
            return '"' + name.replace('"', '""') + '"'
        return quoted_name(name)

    def _table(self, name: str) -> str:
        return f"{self._name(self._schema)}.{self._name(name)}"


def limit(server: MysqlRemote | PostgresRemote) -> None:
    """Has the session's statements end after `STATEMENT_S`. Each server of MySQL's family has one
    of the two limits."""
    statements = (
        (f"SET statement_timeout = '{STATEMENT_S}s'",)
        if kinds.of(server.kind).language == kinds.POSTGRES
        else (
            f"SET SESSION max_execution_time = {STATEMENT_S * 1000}",
            f"SET SESSION max_statement_time = {STATEMENT_S}",
        )
    )
    for statement in statements:
        with contextlib.suppress(*MYSQL_ERRORS, *POSTGRES_ERRORS):
            server.rows(statement)


def kind(column: Column) -> str:
    """What its values are, as summaries call it: whole, decimal, date, moment, text; empty for what
    no parameter has."""
    for name, types in (
        ("whole", WHOLES), ("decimal", DECIMALS), ("date", DATES), ("moment", MOMENTS),
        ("text", TEXTS),
    ):  # fmt: skip
        if column.type in types:
            return name
    return ""


def _ends(row: Sequence[Any]) -> Ends | None:
    numbers = [_number(value) for value in row]
    least, greatest = numbers
    if least is None or greatest is None or not all(map(math.isfinite, (least, greatest))):
        return None
    decimals = [-int(one.as_tuple().exponent) for one in row if isinstance(one, Decimal)]
    return Ends(least, greatest, max(0, *decimals) if decimals else 0)


def _number(value: Any) -> float | None:
    """A number, or Unix seconds."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return float(value)
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
    return None
