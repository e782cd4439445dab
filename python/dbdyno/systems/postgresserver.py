"""A running PostgreSQL: login, settings, counters, sessions, plans.

Sources: the manual's chapters on pg_settings, the cumulative statistics system and EXPLAIN;
RFC 5803 on what is stored for a password.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pg8000.exceptions
import pg8000.native

from dbdyno.errors import DynoError
from dbdyno.systems import starting, verify
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.logtail import LogTail
from dbdyno.systems.lost import answered
from dbdyno.systems.places import LOOPBACK
from dbdyno.systems.process import Guarded
from dbdyno.systems.starting import (
    CONTROL_TIMEOUT_S,
    HUNG_TIMEOUT_S,
    SETTLE_TIMEOUT_S,
    STOP_TIMEOUT_S,
)

USER = "dyno"
MARK = "made by dbdyno"  # comment of a database that is ours
ERRORS = (pg8000.exceptions.Error, OSError)
_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def scram_verifier(password: str, *, salt: bytes | None = None, iterations: int = 4096) -> str:
    """What PostgreSQL stores for a password (RFC 5803), so that the password itself is not sent."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    b64 = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{b64[0]}${b64[1]}:{b64[2]}"


class PostgresServer:
    """A running PostgreSQL server that we started."""

    def __init__(
        self,
        process: Guarded,
        directory: Path,
        socket_path: Path,
        port: int,
        certificate: Certificate,
        log: LogTail,
    ) -> None:
        self.process = process
        self.pid: int | None = process.pid
        self.directory = directory
        self.socket_path = socket_path
        self.port = port
        self.version = ""
        self.was_killed = False  # whether the last stop needed force: its directory needs recovery
        self._password = secrets.token_urlsafe(24)
        self._certificate = certificate
        self._log = log
        self._lock = threading.Lock()
        self._connection: pg8000.native.Connection | None = None
        self._counter_queries: tuple[tuple[str, str], ...] | None = None

    @answered("postgres", ERRORS)
    def wait_until_ready(self) -> None:
        """Returns after a first real login; DynoError with the log's end if the server dies."""
        starting.until_ready(
            "PostgreSQL", self.process, self._log, _HINTS, self._log_in, ERRORS, _message
        )
        self.rows(f"ALTER ROLE {USER} PASSWORD '{scram_verifier(self._password)}'")

    def _log_in(self) -> None:
        self.version = str(self.rows("SHOW server_version")[0][0])

    def _connect(self, database: str, timeout_s: int | None = None) -> pg8000.native.Connection:
        return pg8000.native.Connection(
            USER,
            database=database,
            unix_sock=str(self.socket_path),
            timeout=CONTROL_TIMEOUT_S if timeout_s is None else timeout_s,
            application_name="dbdyno control",
        )

    def rows(self, sql: str) -> list[list[Any]]:
        """Runs one statement on the control connection (a new one if the last broke)."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect("postgres")
            try:
                return list(self._connection.execute_simple(sql).rows or [])
            except ERRORS as error:
                if not isinstance(error, pg8000.exceptions.DatabaseError):
                    with contextlib.suppress(*ERRORS):
                        self._connection.close()
                    self._connection = None
                raise

    def _in(
        self, database: str, statements: Sequence[str], timeout_s: int | None = None
    ) -> list[list[Any]]:
        """Runs statements on a connection of their own; the rows of the last."""
        connection = self._connect(_name(database), timeout_s)
        try:
            rows: list[list[Any]] = []
            for statement in statements:
                rows = list(connection.execute_simple(statement).rows or [])
            return rows
        finally:
            with contextlib.suppress(*ERRORS):
                connection.close()

    @answered("postgres", ERRORS)
    def check_settings(self, resolved: Resolved) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        found = {
            str(r[0]).lower(): r[1:]
            for r in self.rows("SELECT name, setting, unit, vartype FROM pg_settings")
        }
        asked, effective = {}, {k: str(v[0]) for k, v in found.items()}
        for name, value in resolved.settings.items():
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
        for statement in resolved.session_sql:
            level = self._in("postgres", [statement, "SHOW transaction_isolation"])[0][0]
            if str(level).upper() not in statement:
                raise DynoError(f"postgres: `{statement}` gave isolation level {level}")

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        by_socket = target.transport == "socket"
        return {
            "driver": "postgres",
            "address": {"unix": str(self.socket_path)}
            if by_socket
            else {"tcp": {"host": LOOPBACK, "port": self.port}},
            "user": USER,
            "password": self._password,
            "database": database,
            "protocol": target.protocol,
            "tls": self._certificate.engine_tls(target.tls),
            "session_sql": list(resolved.session_sql),
            "options": dict(target.options),
        }

    @answered("postgres", ERRORS)
    def create_schema(self, database: str) -> None:
        """A database of that name, marked by its comment."""
        name = _name(database)
        there = self.rows(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database "
            f"WHERE datname = '{name}'"
        )
        if not there:
            self._in("postgres", [f'CREATE DATABASE "{name}"'], SETTLE_TIMEOUT_S)
            self.rows(f"COMMENT ON DATABASE \"{name}\" IS '{MARK}'")
        elif there[0][0] != MARK:
            raise DynoError(
                f"postgres: database {database!r} is there and was not made by dyno",
                cause="it belongs to the server or to someone else",
                fix="choose another name",
            )

    @answered("postgres", ERRORS)
    def settle(self, database: str) -> None:
        """After loading: statistics, visibility map and hint bits, as autovacuum would in time."""
        self._in(database, ["VACUUM (ANALYZE)", "CHECKPOINT"], SETTLE_TIMEOUT_S)

    @answered("postgres", ERRORS)
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
        return frozenset({"pg_stat_database.numbackends"})

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
            return "\n".join(str(row[0]) for row in self._in(database, [f"EXPLAIN {sql}"]))
        except ERRORS as error:
            raise DynoError(
                f"postgres cannot explain the statement: {_message(error)}", cause=sql[:200]
            ) from None

    def alive(self) -> bool:
        if not self.process.alive():
            return False
        try:
            return bool(self.rows("SELECT 1"))
        except ERRORS:
            return False

    def log_tail(self) -> str:
        """The last lines that the server logged since this start."""
        return self._log.text()

    def stop(self, *, discard: bool = False) -> bool:
        """Fast shutdown: sessions are ended and everything is checkpointed, so that the directory
        can be copied. After a timeout it is killed (`was_killed`)."""
        timeout_s = HUNG_TIMEOUT_S if discard or not self.alive() else STOP_TIMEOUT_S
        with self._lock, contextlib.suppress(*ERRORS):  # held at most CONTROL_TIMEOUT_S
            if self._connection is not None:
                self._connection.close()
        self._connection = None
        self.was_killed = self.process.stop(timeout_s)
        return self.process.status() == 0 and not self.was_killed


VIEWS = (
    "pg_stat_database",
    "pg_stat_bgwriter",
    "pg_stat_checkpointer",
    "pg_stat_wal",
    "pg_stat_io",
    "pg_stat_slru",
    "pg_stat_archiver",
)

# (pattern in the log, likely cause, next step)
_HINTS = (
    (
        r"unrecognized configuration parameter \"([^\"]+)\"",
        r"this version does not know the setting `\1`",
        r"correct or leave out `\1` in `config:`",
    ),
    (
        r"invalid value for parameter \"([^\"]+)\": \"([^\"]*)\"",
        r"the value `\2` is not allowed for `\1` (units of memory are B, kB, MB, GB, TB)",
        r"correct `\1` in `config:`",
    ),
    (
        r"(\S+(?: \w+)?) is outside the valid range for parameter \"([^\"]+)\" (\([^)]*\))",
        r"`\2` allows \3, not \1",
        r"correct `\2` in `config:`, or the word that sets it (such as `memory:`)",
    ),
    (
        r"parameter \"([^\"]+)\" cannot be changed",
        r"`\1` is fixed when the data directory is made",
        r"leave `\1` out of `config:`",
    ),
    (
        r"could not bind [^\n]*Address already in use",
        "the port is in use by another server",
        "leave `port` out: dyno then chooses a free one",
    ),
    (
        r"could not (?:map anonymous )?shared memory|Cannot allocate memory",
        "there is not enough memory for shared_buffers",
        "ask for less `memory:`",
    ),
    (
        r"Permission denied",
        "the server's account may not use a file or directory",
        "look at the permissions of the path in the log",
    ),
    (
        r"No space left on device",
        "the disk is full",
        "free space, or set DYNO_SCRATCH to another disk",
    ),
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


def _name(database: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", database):
        raise DynoError(
            f"{database!r} cannot be a database's name",
            fix="use small letters, digits and underscores",
        )
    return database


def _message(error: Exception | None) -> str:
    """pg8000 gives a dictionary of the protocol's fields; M is the message."""
    first = error.args[0] if error is not None and error.args else error
    return str(first.get("M", first)) if isinstance(first, dict) else str(first)
