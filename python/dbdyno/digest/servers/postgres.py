"""Statements as PostgreSQL counts them: the extension `pg_stat_statements`.

Source: the manual's chapter on pg_stat_statements, whose columns differ by version (times are
milliseconds, and called total_time before 13; pg_stat_statements_info is there from 14 on). Only
SELECT is used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pg8000.exceptions

from dbdyno import kinds
from dbdyno.digest.servers.counted import Counted, Histogram, Key, Moments, Shot
from dbdyno.digest.servers.literals import without_literals
from dbdyno.digest.servers.watch import OURS
from dbdyno.errors import DynoError
from dbdyno.systems.postgres.control import ERRORS, message
from dbdyno.systems.postgres.external import PostgresRemote, state_of

MILLI = 1e-3
MEASURES = {  # column -> (measure, unit, factor)
    "rows": ("rows", "count", 1.0),
    "total_plan_time": ("plan_time", "ns", MILLI),
    "shared_blks_read": ("pages_read", "count", 1.0),
    "shared_blks_hit": ("pages_hit", "count", 1.0),
    "shared_blks_dirtied": ("pages_dirtied", "count", 1.0),
    "temp_blks_written": ("tmp_bytes", "bytes", 8192.0),
    "wal_bytes": ("wal_bytes", "bytes", 1.0),
}
HIDDEN = "<insufficient privilege>"


class PostgresStatements:
    """See the module."""

    format = "pg_stat_statements"
    language = kinds.POSTGRES
    units: Mapping[str, str] = {name: unit for name, unit, _ in MEASURES.values()}

    def __init__(self, server: PostgresRemote) -> None:
        self._server = server
        self.place = server.place
        self.server = f"PostgreSQL {server.version}"
        self._schema = ""
        self._columns: frozenset[str] = frozenset()
        self._page_bytes = 8192.0

    def check(self) -> list[str]:
        """See `Source`."""
        found = self._rows(
            f"SELECT quote_ident(n.nspname) AS {OURS} FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'pg_stat_statements'"
        )
        if not found:
            raise DynoError(
                f"{self.place}: the extension pg_stat_statements is not in this database",
                cause="it was not created, or the URL names another database",
                fix="CREATE EXTENSION pg_stat_statements; its library must be in"
                " shared_preload_libraries, which takes a restart",
            )
        self._schema = str(found[0][0])
        columns = self._rows(
            f"SELECT attname AS {OURS} FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped"
            f" AND attrelid = '{self._view}'::regclass"
        )
        self._columns = frozenset(str(row[0]) for row in columns)
        self._page_bytes = float(
            self._rows(f"SELECT current_setting('block_size') AS {OURS}")[0][0]
        )
        self._rows(f"SELECT calls AS {OURS} FROM {self._view} LIMIT 1")
        notes = [self._server.remark] if self._server.remark else []
        if not self._server.sees_all_sessions():
            notes.append(
                "Statements of other users are counted, but their texts are hidden from our role:"
                " GRANT pg_read_all_stats TO it."
            )
        return notes

    @property
    def _view(self) -> str:
        return f"{self._schema}.pg_stat_statements"

    def take(self) -> Shot:
        """See `Source`."""
        kind = "exec_time" if "total_exec_time" in self._columns else "time"
        present = [column for column in MEASURES if column in self._columns]
        names = ["calls", f"total_{kind}", f"mean_{kind}", f"stddev_{kind}", *present]
        rows: dict[Key, Counted] = {}
        at = time.time()
        for identity, user, database, *values in self._rows(
            "SELECT queryid, pg_get_userbyid(userid), d.datname, "
            + ", ".join(f"{OURS}.{name}::float8" for name in names)
            + f" FROM {self._schema}.pg_stat_statements(false) AS {OURS}"
            f" LEFT JOIN pg_database d ON d.oid = {OURS}.dbid"
        ):
            calls, total, mean, stddev, *measures = (float(value or 0) for value in values)
            row = Counted(
                statement=str(identity) if identity is not None else HIDDEN,
                database=str(database or ""),
                user=str(user or ""),
                count=int(calls),
                time_s=total * MILLI,
                moments=Moments(int(calls), mean * MILLI, (stddev * MILLI) ** 2 * calls),
                measures={
                    MEASURES[column][0]: value * self._factor(column)
                    for column, value in zip(present, measures, strict=True)
                },
            )
            key = (row.statement, row.database, row.user)
            rows[key] = rows[key].plus(row) if key in rows else row  # at top level, and nested
        return Shot(at, rows, *self._info())

    def _factor(self, column: str) -> float:
        return self._page_bytes if column == "temp_blks_written" else MEASURES[column][2]

    def _info(self) -> tuple[int | None, str]:
        """Evictions so far, and when it was reset."""
        if "toplevel" not in self._columns:  # before 14
            return None, ""
        found = self._rows(
            "SELECT dealloc, stats_reset::text"
            f" FROM {self._schema}.pg_stat_statements_info AS {OURS}"
        )
        return int(found[0][0]), str(found[0][1])

    def texts(self, statements: set[str]) -> dict[str, str]:
        """See `Source`."""
        listed = ", ".join(sorted(one for one in statements if one.lstrip("-").isdigit()))
        known = {HIDDEN: HIDDEN} if HIDDEN in statements else {}
        if not listed:
            return known
        found = self._rows(
            f"SELECT queryid, query FROM {self._view} AS {OURS} WHERE queryid IN ({listed})"
        )
        return {**known, **{str(identity): without_literals(str(text)) for identity, text in found}}

    def histograms(self) -> Mapping[str, Histogram] | None:
        """See `Source`."""
        return None

    def close(self) -> None:
        """See `Source`."""
        self._server.stop()

    def _rows(self, sql: str) -> list[list[Any]]:
        try:
            return self._server.rows(sql)
        except pg8000.exceptions.DatabaseError as error:
            state = state_of(error)
            if state == "55000":  # object_not_in_prerequisite_state
                raise DynoError(
                    f"{self.place}: pg_stat_statements counts nothing: {message(error)}",
                    cause="its library is not loaded",
                    fix="add it to shared_preload_libraries and restart the server",
                ) from None
            if state == "42501":
                raise DynoError(
                    f"{self.place}: our role may not read pg_stat_statements",
                    cause=message(error),
                    fix="GRANT pg_read_all_stats TO the role, and USAGE on the extension's schema",
                ) from None
            raise self._server.unanswered(error) from None
        except ERRORS as error:
            raise self._server.unanswered(error) from None
