"""Queries of any PostgreSQL, managed or external: settings, counters, sessions, plans.

Sources: the manual's chapters on pg_settings, the cumulative statistics system and EXPLAIN.
"""

from __future__ import annotations

import contextlib
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pg8000.exceptions
import pg8000.native

from dbdyno.errors import DynoError
from dbdyno.experiment.targets import sqltext
from dbdyno.systems import verify
from dbdyno.systems.base import Refusal
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S, SETTLE_TIMEOUT_S
from dbdyno.systems.server_errors import answered, refused

ERRORS = (pg8000.exceptions.Error, OSError)
_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class PostgresControl(ABC):
    """The control connection, and what is asked over it. Subclasses define how to connect, and the
    error if no server answers."""

    kind = "postgres"
    place: str  # host and port, or socket

    def __init__(self, database: str) -> None:
        self.database = database  # of the control connection
        self._lock = threading.Lock()
        self._connection: pg8000.native.Connection | None = None
        self._counter_queries: tuple[tuple[str, str], ...] | None = None

    @abstractmethod
    def _connect(self, database: str, timeout_s: int) -> pg8000.native.Connection:
        """A new connection to a database."""

    @abstractmethod
    def unanswered(self, error: Exception) -> DynoError:
        """The error for a client library's."""

    def rows(self, sql: str) -> list[list[Any]]:
        """Runs one statement on the control connection (a new one if the last broke)."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect(self.database, CONTROL_TIMEOUT_S)
            try:
                return list(self._connection.execute_simple(sql).rows or [])
            except (DynoError, *ERRORS) as error:
                if not isinstance(error, pg8000.exceptions.DatabaseError):
                    with contextlib.suppress(*ERRORS):
                        self._connection.close()
                    self._connection = None
                raise

    def run_in(
        self, database: str, statements: Sequence[str], timeout_s: int = CONTROL_TIMEOUT_S
    ) -> list[list[Any]]:
        """Runs statements on a connection of their own; the rows of the last."""
        connection = self._connect(database, timeout_s)
        try:
            rows: list[list[Any]] = []
            for statement in statements:
                rows = list(connection.execute_simple(statement).rows or [])
            return rows
        finally:
            with contextlib.suppress(*ERRORS):
                connection.close()

    def answers(self) -> bool:
        """Whether it answers at all."""
        try:
            return bool(self.rows("SELECT 1"))
        except ERRORS:
            return False

    def run(self, database: str, statements: Sequence[str]) -> list[list[Any]]:
        rows: list[list[Any]] = []
        with contextlib.closing(self._connect(database, SETTLE_TIMEOUT_S)) as connection:
            for statement in statements:
                try:
                    rows = list(connection.execute_simple(statement).rows or [])
                except ERRORS as error:
                    raise refused(self.kind, statement, message(error)) from None
        return rows

    def look(self, sql: str, timeout_s: int) -> list[list[Any]]:
        """Rows of one statement on a connection of its own, which is not waited for longer."""
        return self.run_in(self.database, [sql], timeout_s)

    @answered(ERRORS)
    def lag_s(self) -> float:
        """How far it is behind the server that it replicates, seconds; DynoError if it cannot
        say."""
        row = self.rows(
            "SELECT pg_is_in_recovery(), "
            "pg_last_wal_receive_lsn() IS NOT DISTINCT FROM pg_last_wal_replay_lsn(), "
            "extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8"
        )[0]
        replica, level, age_s = row
        if not replica:
            raise DynoError(f"postgres at {self.place} is not a replica")
        # With everything replayed the last transaction's age only shows that there are no writes.
        return 0.0 if level or age_s is None else max(0.0, float(age_s))

    @answered(ERRORS)
    def schemas(self) -> list[str]:
        rows = self.rows("SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY datname")
        names = [str(row[0]) for row in rows]
        return [name for name in names if name != "postgres"] or names

    def close_connection(self) -> None:
        """Closes the control connection; the next call opens another."""
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(*ERRORS):
                    self._connection.close()
            self._connection = None

    def check_asked(self, settings: Mapping[str, str]) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        found = {
            str(r[0]).lower(): r[1:]
            for r in self.rows("SELECT name, setting, unit, vartype FROM pg_settings")
        }
        asked, effective = {}, {k: str(v[0]) for k, v in found.items()}
        for name, value in settings.items():
            setting, unit, kind = found.get(name, (None, None, None))
            asked[name] = value
            if setting is not None and kind in ("integer", "real"):
                want, have = in_units(value, unit), float(setting)
                if want is not None:
                    asked[name] = f"{want:.10g}"
                    effective[name] = f"{have:.10g}"
                if want != have and unit:
                    effective[name] = f"{setting} ({unit})"
        verify.check("postgres", asked, effective, aliases={})

    @answered(ERRORS)
    def settings(self) -> dict[str, str]:
        rows = self.rows("SELECT name, current_setting(name, true) FROM pg_settings")
        return {str(name): "" if value is None else str(value) for name, value in rows}

    def counters(self) -> dict[str, float]:
        """Columns of the statistics views, summed over rows, as `view.column`."""
        if self._counter_queries is None:
            self._counter_queries = self._counter_sql()
        values: dict[str, float] = {}
        for view, sql in self._counter_queries:
            rows = self.rows(sql)
            columns = sql.partition(" /* ")[2].partition(" */")[0].split()
            for column, value in zip(columns, rows[0] if rows else (), strict=False):
                if value is not None:
                    values[f"{view}.{column}"] = float(value)
        # What SHOW GLOBAL STATUS calls Uptime, who waits for a lock at the moment, and how large
        # the databases are of which a user without more rights may know it.
        found = self.rows(
            "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()), "
            "(SELECT count(*) FROM pg_locks WHERE NOT granted), "
            "(SELECT sum(pg_database_size(oid)) FROM pg_database WHERE NOT datistemplate "
            "AND has_database_privilege(oid, 'CONNECT'))"
        )[0]
        values["uptime"], values["pg_locks.waiting"] = float(found[0]), float(found[1])
        values["pg_database.size_bytes"] = float(found[2] or 0)
        return values

    def _counter_sql(self) -> tuple[tuple[str, str], ...]:
        """One statement a view that this version has; the comment repeats the columns."""
        listed = ", ".join(f"'{view}'" for view in VIEWS)
        rows = self.rows(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'pg_catalog' AND data_type IN "
            "('bigint', 'double precision', 'numeric', 'integer') "
            f"AND table_name IN ({listed}) ORDER BY table_name, ordinal_position"
        )
        columns: dict[str, list[str]] = {}
        for view, column in rows:
            if column not in ("datid", "op_bytes"):
                columns.setdefault(str(view), []).append(str(column))
        queries = []
        for view, names in columns.items():
            sums = ", ".join(f"sum({name})" for name in names)
            queries.append((view, f"SELECT {sums} FROM {view} /* {' '.join(names)} */"))
        return tuple(queries)

    def gauges(self) -> frozenset[str]:
        levels = ("pg_stat_database.numbackends", "pg_locks.waiting", "pg_database.size_bytes")
        return frozenset({*levels, "uptime"})

    def cycles(self, per_s: Mapping[str, float]) -> dict[str, float]:
        """Checkpoints, each `checkpoint_timeout` at the latest; without new WAL there is none."""
        if per_s.get("pg_stat_wal.wal_bytes") == 0:
            return {}
        [[timeout_s]] = self.rows(
            "SELECT setting::float FROM pg_settings WHERE name = 'checkpoint_timeout'"
        )
        return {"PostgreSQL makes a checkpoint (checkpoint_timeout)": float(timeout_s)}

    def sessions_by_state(self) -> dict[str, int]:
        rows = self.rows(
            "SELECT state, wait_event_type, wait_event, count(*) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1, 2, 3"
        )
        states: dict[str, int] = {}
        for state, kind, event, count in rows:
            name = session_state(state, kind, event)
            states[name] = states.get(name, 0) + int(count)
        return states

    def explain(self, database: str, sql: str) -> str:
        try:
            guard = ["BEGIN READ ONLY"] if sqltext.reads(sql) else []
            rows = self.run_in(database, [*guard, f"EXPLAIN {sql}"])
            return "\n".join(str(row[0]) for row in rows)
        except ERRORS as error:
            raise DynoError(
                f"postgres cannot explain the statement: {message(error)}", cause=sql[:200]
            ) from None

    @answered(ERRORS)
    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        found = []
        with contextlib.closing(self._connect(database, CONTROL_TIMEOUT_S)) as connection:
            for statement in session:
                connection.execute_simple(statement)
            for sql in statements:
                if ";" in sql:
                    continue  # the text after one would be run, even if it seems quoted
                names = sqltext.parameters(sql)
                numbers = {name: f"${n}" for n, name in enumerate(names, start=1)}
                sent = sqltext.replaced(sql, numbers.__getitem__)
                try:
                    connection.execute_simple(_PREPARE + sent)
                    connection.execute_simple("DEALLOCATE dyno_prepared")
                except pg8000.exceptions.DatabaseError as error:
                    said = error.args[0] if error.args else {}
                    hint = str(said.get("H", "")) if isinstance(said, dict) else ""
                    at = _seen_at(said, sent)
                    at = None if at is None else sqltext.written(sql, numbers.__getitem__, at)
                    found.append(Refusal(sql, message(error), hint, at))
        return found


_PREPARE = "PREPARE dyno_prepared AS "


def _seen_at(said: Any, sent: str) -> int | None:
    """Where the server sees a mistake. It counts characters of all that it was sent, from 1."""
    place = str(said.get("P", "")) if isinstance(said, dict) else ""
    at = int(place) - 1 - len(_PREPARE) if place.isdecimal() else -1
    return at if 0 <= at <= len(sent) else None


VIEWS = (
    "pg_stat_database",
    "pg_stat_bgwriter",
    "pg_stat_checkpointer",
    "pg_stat_wal",
    "pg_stat_io",
    "pg_stat_slru",
    "pg_stat_archiver",
    "pg_stat_subscription_stats",
)


def in_units(value: str, unit: str | None) -> float | None:
    """`64MB` in units of pg_settings (`8kB`: 8192); a bare number is in that unit already."""
    found = re.fullmatch(r"\s*'?(-?[\d.]+(?:e-?\d+)?)\s*([A-Za-z]*)'?\s*", value)
    if not found:
        return None
    try:
        number = float(found[1])
    except ValueError:
        return None
    if not found[2]:
        return number
    base = re.fullmatch(r"(\d*)([A-Za-z]+)", unit or "")
    for scale in (_BYTES, _SECONDS):
        if base and found[2] in scale and base[2] in scale:
            result = number * scale[found[2]] / (int(base[1] or 1) * scale[base[2]])
            return round(result, 6)
    return None


def session_state(state: str | None, wait_type: str | None, wait: str | None) -> str:
    """A pg_stat_activity row as "idle", "idle in transaction", "waiting: TYPE:EVENT", "running"."""
    if state and state.startswith("idle"):
        return state
    if wait_type and wait_type != "Client":
        return f"waiting: {wait_type}:{wait}"
    if wait_type == "Client":
        return f"waiting: client ({wait})"
    return "running" if state == "active" else (state or "connecting")


def identifier(database: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", database):
        raise DynoError(
            f"{database!r} cannot be a database's name",
            fix="use small letters, digits and underscores",
        )
    return database


def message(error: Exception | None) -> str:
    """pg8000 gives a dictionary of the protocol's fields; M is the message."""
    first = error.args[0] if error is not None and error.args else error
    return str(first.get("M", first)) if isinstance(first, dict) else str(first)
