"""Statements as MySQL and MariaDB count them: `events_statements_summary_by_digest`.

Sources: the MySQL manual's pages on statement summary tables, statement histogram summary tables
and the status variables Performance_schema_digest_lost, Questions and Com_stmt_execute; MariaDB's
pages on the same table. Only SELECT is used. Timers are picoseconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pymysql

from dbdyno import kinds
from dbdyno.digest.servers.counted import Counted, Histogram, Key, Shot
from dbdyno.digest.servers.watch import OURS
from dbdyno.errors import DynoError
from dbdyno.systems.mysql.external import MysqlRemote

TABLE = "performance_schema.events_statements_summary_by_digest"
HISTOGRAM = "performance_schema.events_statements_histogram_by_digest"
PICO = 1e-12
MEASURES = {  # column -> (measure, unit)
    "SUM_LOCK_TIME": ("lock_time", "ns"),
    "SUM_ROWS_SENT": ("rows_sent", "count"),
    "SUM_ROWS_EXAMINED": ("rows_examined", "count"),
    "SUM_ROWS_AFFECTED": ("rows_affected", "count"),
    "SUM_CREATED_TMP_TABLES": ("tmp_tables", "count"),
    "SUM_CREATED_TMP_DISK_TABLES": ("tmp_disk_tables", "count"),
    "SUM_SORT_MERGE_PASSES": ("merge_passes", "count"),
    "SUM_SELECT_SCAN": ("full_scan", "flag"),
    "SUM_SELECT_FULL_JOIN": ("full_join", "flag"),
}
_DENIED = (1142, 1143, 1044, 1045, 1227)
_NO_TABLE = (1146, 1109, 1049)
TEXTS_AT_ONCE = 500


class MysqlDigests:
    """See the module."""

    format = "performance_schema"
    language = kinds.MYSQL
    units: Mapping[str, str] = dict(MEASURES.values())

    def __init__(self, server: MysqlRemote) -> None:
        self._server = server
        self.place = server.place
        self.server = f"{kinds.of(server.kind).title} {server.version}"
        self._has_histograms = False

    def check(self) -> list[str]:
        """See `Source`."""
        if str(self._rows(f"SELECT @@performance_schema AS {OURS}")[0][0]) != "1":
            raise DynoError(
                f"{self.place}: performance_schema is off, so the server counts no statements",
                cause="its default in MariaDB",
                fix="set performance_schema=ON in its configuration and restart it",
            )
        self._rows(f"SELECT COUNT_STAR FROM {TABLE} AS {OURS} LIMIT 1")
        try:
            self._server.rows(f"SELECT COUNT_BUCKET FROM {HISTOGRAM} AS {OURS} LIMIT 1")
            self._has_histograms = True
        except pymysql.Error:
            self._has_histograms = False  # MySQL before 8.0, MariaDB, or a grant on one table
        self._check_instruments()
        return [self._server.remark] if self._server.remark else []

    def _check_instruments(self) -> None:
        """That statements are counted at all; not asked where these tables may not be read."""
        try:
            consumer = self._server.rows(
                "SELECT ENABLED FROM performance_schema.setup_consumers AS "
                f"{OURS} WHERE NAME = 'statements_digest'"
            )
            instruments = self._server.rows(
                "SELECT COUNT(*) FROM performance_schema.setup_instruments AS "
                f"{OURS} WHERE NAME LIKE 'statement/sql/%' AND ENABLED = 'YES'"
            )
        except pymysql.Error:
            return
        if consumer and consumer[0][0] != "YES":
            raise DynoError(
                f"{self.place}: the server does not count statements by digest",
                cause="the consumer statements_digest is off",
                fix="UPDATE performance_schema.setup_consumers SET ENABLED='YES' WHERE"
                " NAME='statements_digest'",
            )
        if instruments and not int(instruments[0][0]):
            raise DynoError(
                f"{self.place}: the server does not count statements",
                cause="all instruments statement/sql/% are off",
                fix="UPDATE performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES'"
                " WHERE NAME LIKE 'statement/%'",
            )

    def take(self) -> Shot:
        """See `Source`."""
        names = ("COUNT_STAR", "SUM_TIMER_WAIT", "SUM_ERRORS", *MEASURES)
        rows: dict[Key, Counted] = {}
        first_seen: list[str] = []
        at = time.time()
        for schema, digest, first, *values in self._rows(
            f"SELECT SCHEMA_NAME, DIGEST, FIRST_SEEN, {', '.join(names)} FROM {TABLE} AS {OURS}"
        ):
            first_seen.append(str(first))
            count, timer, errors, *measures = (float(value or 0) for value in values)
            rows[(_text(schema), _text(digest))] = Counted(
                statement=_text(digest),
                database=_text(schema),
                user="",
                count=int(count),
                time_s=timer * PICO,
                errors=int(errors),
                measures={
                    name: value * (PICO if unit == "ns" else 1)
                    for (name, unit), value in zip(MEASURES.values(), measures, strict=True)
                },
            )
        # Rows stay until the table is truncated, so the oldest is another one only then.
        status = self._status()
        return Shot(
            at,
            rows,
            evicted=status.get("performance_schema_digest_lost"),
            resets=min(first_seen, default=""),
            executed=status.get("questions"),
            prepared=status.get("com_stmt_execute"),
        )

    def _status(self) -> dict[str, int]:
        schema = "information_schema" if self._server.kind == "mariadb" else "performance_schema"
        found = self._rows(
            f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM {schema}.global_status AS {OURS} WHERE"
            " VARIABLE_NAME IN ('Performance_schema_digest_lost', 'Questions', 'Com_stmt_execute')"
        )
        return {_text(name).lower(): int(value) for name, value in found}

    def texts(self, statements: set[str]) -> dict[str, str]:
        """See `Source`."""
        found: dict[str, str] = {}
        ordered = sorted(one for one in statements if one.isalnum())
        for i in range(0, len(ordered), TEXTS_AT_ONCE):
            listed = ", ".join(f"'{one}'" for one in ordered[i : i + TEXTS_AT_ONCE])
            for digest, text in self._rows(
                f"SELECT DIGEST, DIGEST_TEXT FROM {TABLE} AS {OURS} WHERE DIGEST IN ({listed})"
            ):
                found[_text(digest)] = _text(text)
        return found

    def histograms(self) -> Mapping[str, Histogram] | None:
        """See `Source`."""
        if not self._has_histograms:
            return None
        found: dict[str, dict[float, int]] = {}
        for digest, high, count in self._rows(
            f"SELECT DIGEST, BUCKET_TIMER_HIGH, COUNT_BUCKET FROM {HISTOGRAM} AS {OURS}"
            " WHERE COUNT_BUCKET > 0"
        ):
            own = found.setdefault(_text(digest), {})
            end = float(high) * PICO
            own[end] = own.get(end, 0) + int(count)
        return found

    def close(self) -> None:
        """See `Source`."""
        self._server.stop()

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return self._server.rows(sql)
        except pymysql.Error as error:
            code = error.args[0] if error.args else 0
            if code in _DENIED:
                raise DynoError(
                    f"{self.place}: our user may not read {TABLE}",
                    cause=str(error.args[-1]),
                    fix="GRANT SELECT ON performance_schema.* TO the user",
                ) from None
            if code in _NO_TABLE:
                raise DynoError(
                    f"{self.place}: there is no {TABLE}",
                    cause="the server is too old (MySQL 5.5, MariaDB 5.5), or was built without it",
                    fix="digest its slow log instead",
                ) from None
            raise self._server.unanswered(error) from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
