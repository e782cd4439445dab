"""A running MariaDB or MySQL: login, settings, counters, sessions, plans.

Sources: the two manuals' pages on SHOW STATUS, SHOW PROCESSLIST states and EXPLAIN.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.errors import DynoError
from dbdyno.systems import starting, verify, words
from dbdyno.systems.base import Binaries, Resolved, TargetPlan
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
MARKER = "dbdyno_marker"
SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")

# Options that have no variable of the same name. A server stops at a wrong one.
WITHOUT_VARIABLE = ("plugin_load_add", "skip_log_bin", "disable_log_bin", "early_plugin_load")


@dataclass(frozen=True)
class Family:
    """How one member of the family is laid out and spoken to."""

    kind: str
    account: str
    isolation_variable: str
    # base directory of the binaries -> settings that a relocated server needs
    own_settings: Callable[[Binaries], dict[str, str]]
    # password -> statements of the init file
    login_sql: Callable[[str], list[str]]
    defaults_flag: str = "--defaults-file"


class MysqlServer:
    """A running MariaDB or MySQL server that we started."""

    def __init__(
        self,
        family: Family,
        process: Guarded,
        directory: Path,
        socket_path: Path,
        port: int,
        password: str,
        certificate: Certificate,
        log: LogTail,
    ) -> None:
        self.family = family
        self.process = process
        self.pid: int | None = process.pid
        self.directory = directory
        self.socket_path = socket_path
        self.port = port
        self.version = ""
        self.was_killed = False  # whether the last stop needed force: its directory needs recovery
        self._password = password
        self._certificate = certificate
        self._log = log
        self._lock = threading.Lock()
        self._connection: pymysql.Connection[Any] | None = None

    @answered("the server", (pymysql.Error, OSError))
    def wait_until_ready(self) -> None:
        """Returns after a first real login; DynoError with the log's end if the server dies."""
        errors = (pymysql.Error, OSError)
        starting.until_ready(
            self.family.kind, self.process, self._log, _HINTS, self._log_in, errors
        )
        (self.socket_path.parent / "init.sql").unlink(missing_ok=True)

    def _log_in(self) -> None:
        self.version = str(self.rows("SELECT VERSION()")[0][0])

    def log_tail(self) -> str:
        """The last lines that the server logged since this start."""
        return self._log.text()

    def rows(self, sql: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Runs one statement on the control connection (a new one if the last broke)."""
        with self._lock:
            if self._connection is None:
                self._connection = pymysql.connect(
                    user=USER,
                    password=self._password,
                    unix_socket=str(self.socket_path),
                    connect_timeout=CONTROL_TIMEOUT_S,
                    read_timeout=CONTROL_TIMEOUT_S,
                    write_timeout=CONTROL_TIMEOUT_S,
                    autocommit=True,
                    charset="utf8mb4",
                    program_name="dbdyno control",
                )
            try:
                if database is not None:
                    self._connection.select_db(database)
                with self._connection.cursor() as cursor:
                    cursor.execute(sql)
                    return list(cursor.fetchall())
            except (pymysql.OperationalError, pymysql.InterfaceError, OSError) as error:
                code = error.args[0] if error.args else 0
                if not isinstance(code, int) or code >= 2000 or code == 0:  # the client's codes
                    with contextlib.suppress(pymysql.Error, OSError):
                        self._connection.close()
                    self._connection = None
                raise

    @answered("the server", (pymysql.Error, OSError))
    def check_settings(self, resolved: Resolved) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        effective = self.settings()
        asked = {k: v for k, v in resolved.settings.items() if k not in WITHOUT_VARIABLE}
        if {"skip_log_bin", "disable_log_bin"} & set(resolved.settings):
            asked["log_bin"] = "OFF"
        elif "log_bin" in asked and words.boolean(asked["log_bin"]) is None:
            asked["log_bin"] = "ON"  # the option takes a file name, the variable says whether
        for name, value in list(asked.items()):
            choices = self._choices(name) if value.isdigit() else []
            if choices and int(value) < len(choices):  # an enumeration given by number
                asked[name] = choices[int(value)]
        verify.check(self.family.kind, asked, effective, aliases={})
        for statement in resolved.session_sql:
            self.rows(statement)
            level = str(self.rows(f"SELECT @@{self.family.isolation_variable}")[0][0])
            if level.replace("-", " ") not in statement:
                raise DynoError(f"{self.family.kind}: `{statement}` gave isolation level {level}")
        self.close_connection()

    def _choices(self, name: str) -> list[str]:
        """Words of an enumeration, where the server tells (MariaDB does)."""
        try:
            found = self.rows(
                "SELECT enum_value_list FROM information_schema.system_variables "
                f"WHERE variable_name = '{name}' AND variable_type = 'ENUM'"
            )
        except pymysql.Error:
            return []
        return str(found[0][0]).split(",") if found and found[0][0] else []

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        by_socket = target.transport == "socket"
        return {
            "driver": "mysql",
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

    @answered("the server", (pymysql.Error, OSError))
    def create_schema(self, database: str) -> None:
        name = _identifier(database)
        there = self.rows(
            f"SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{database}'"
        )
        if there:
            marked = self.rows(
                "SELECT 1 FROM information_schema.tables "
                f"WHERE table_schema = '{database}' AND table_name = '{MARKER}'"
            )
            if database.lower() in SYSTEM_SCHEMAS or not marked:
                raise DynoError(
                    f"{self.family.kind}: schema {database!r} is there and was not made by dyno",
                    cause="it belongs to the server or to someone else",
                    fix="choose another name",
                )
            return
        self.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        self.rows(f"CREATE TABLE {name}.{MARKER} (made_by VARCHAR(64) NOT NULL PRIMARY KEY)")
        self.rows(f"INSERT INTO {name}.{MARKER} VALUES ('dbdyno')")

    @answered("the server", (pymysql.Error, OSError))
    def settle(self, database: str) -> None:
        """After loading: fresh statistics, so that plans do not change in mid-run."""
        tables = self.rows(
            "SELECT table_name FROM information_schema.tables "
            f"WHERE table_schema = '{database}' AND table_type = 'BASE TABLE'"
        )
        with closing(self._own_connection(database, SETTLE_TIMEOUT_S)) as connection:
            for (table,) in tables:
                with connection.cursor() as cursor:
                    cursor.execute(f"ANALYZE TABLE {_identifier(str(table))}")

    @answered("the server", (pymysql.Error, OSError))
    def settings(self) -> dict[str, str]:
        return {str(k).lower(): _text(v) for k, v in self.rows("SHOW GLOBAL VARIABLES")}

    def counters(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, value in self.rows("SHOW GLOBAL STATUS"):
            number = words.number(_text(value)) if _text(value)[:1].isdigit() else None
            if number is not None:
                values[str(name)] = number
        return values

    def gauges(self) -> frozenset[str]:
        return frozenset(name for name in self.counters() if is_gauge(name))

    def sessions_by_state(self) -> dict[str, int]:
        states: dict[str, int] = {}
        connection = self._connection.thread_id() if self._connection else -1
        for row in self.rows("SHOW PROCESSLIST"):
            if int(row[0]) == connection or row[4] == "Daemon" or row[1] in _SYSTEM_USERS:
                continue
            state = session_state(_text(row[4]), _text(row[6]))
            states[state] = states.get(state, 0) + 1
        return states

    def explain(self, database: str, sql: str) -> str:
        try:
            with (
                closing(self._own_connection(database, CONTROL_TIMEOUT_S)) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute(f"EXPLAIN {sql}")
                heads = [str(column[0]) for column in cursor.description or ()]
                return table(heads, [[_text(v) for v in row] for row in cursor.fetchall()])
        except (pymysql.Error, OSError) as error:
            raise DynoError(
                f"{self.family.kind} cannot explain the statement: {error}", cause=sql[:200]
            ) from None

    def _own_connection(self, database: str, timeout_s: int) -> pymysql.Connection[Any]:
        """A connection for one purpose, so that the control connection is not kept waiting."""
        return pymysql.connect(
            user=USER,
            password=self._password,
            unix_socket=str(self.socket_path),
            database=database,
            connect_timeout=CONTROL_TIMEOUT_S,
            read_timeout=timeout_s,
            charset="utf8mb4",
        )

    def alive(self) -> bool:
        if not self.process.alive():
            return False
        try:
            return self.rows("SELECT 1") == [(1,)]
        except (pymysql.Error, OSError):
            return False

    def close_connection(self) -> None:
        """Closes the control connection; the next call opens another."""
        with self._lock:
            if self._connection is not None and self._connection.open:
                with contextlib.suppress(pymysql.Error, OSError):
                    self._connection.close()
            self._connection = None

    def stop(self, *, discard: bool = False) -> bool:
        """Clean shutdown: dirty pages are written and nothing is left to recover
        (innodb_fast_shutdown=1), so that the directory can be copied. After a timeout it is killed
        (`was_killed`)."""
        timeout_s = HUNG_TIMEOUT_S if discard or not self.alive() else STOP_TIMEOUT_S
        self.close_connection()
        self.was_killed = self.process.stop(timeout_s)
        return self.process.status() == 0 and not self.was_killed


# (pattern in the log, likely cause, next step)
_HINTS = (
    (
        r"unknown (?:variable|option) '-{0,2}([^'=]+)",
        r"this version does not know the setting `\1`",
        r"correct or leave out `\1` in `config:`",
    ),
    (
        r"Error while setting value '?([^' ]*)'? to '([^']+)'",
        r"the value `\1` is not allowed for `\2`",
        r"see the manual's page on `\2` for allowed values",
    ),
    (
        r"Address already in use|Do you already have another (?:mysqld|server)",
        "the port is in use by another server",
        "leave `port` out: dyno then chooses a free one",
    ),
    (
        r"Can't (?:create|open|read|write)[^\n]*Permission denied|Errcode: 13",
        "the server's account may not use a file or directory",
        "look at the permissions of the path in the log",
    ),
    (
        r"No space left on device|Errcode: 28|disk is full",
        "the disk is full",
        "free space, or set DYNO_SCRATCH to another disk",
    ),
    (
        r"Cannot allocate memory for the buffer pool|Out of memory",
        "there is not enough memory for the buffer pool",
        "ask for less `memory:`",
    ),
)
_SYSTEM_USERS = ("system user", "event_scheduler")

_GAUGE = re.compile(
    r"""Threads_(?!created)|Open_|Max_used|Uptime|Prepared_stmt_count|Qcache_(free|queries_in|total)|
    Innodb_(buffer_pool_(pages_(?!flushed|made|lru_fl)|bytes|resize)|row_lock_current|row_lock_time_(avg|max)|
    num_open|page_size|history_list|checkpoint|max_trx|mem_|ibuf_(size|free|seg)|lsn_(?!current)|redo_log_(capacity|
    logical|physical|resize|read_only|uuid)|undo_tablespaces|data_pending|os_log_pending|log_pending|adaptive_hash_cells|
    defragment|encryption_n|undo_truncations_active)|
    Key_blocks|Memory_used|Slave_open|Delayed_insert_threads|Not_flushed|Tc_log_(page|max)|Subquery_cache_size|
    Current_|Last_query|Acl_users|wsrep_(cluster_size|local_(recv|send)_queue|flow_control_paused$)|Ssl_|Rpl_|
    Performance_schema_session_connect_attrs_longest|Resource_group|Global_connection_memory|Binlog_.*_pos""".replace(
        "\n", ""
    ).replace(" ", ""),
    re.IGNORECASE,
)


def is_gauge(name: str) -> bool:
    """Whether a status variable is a level, not a sum."""
    return bool(_GAUGE.match(name))


def session_state(command: str, state: str) -> str:
    """A processlist row as "idle", "connecting", "waiting: X", "query cache: X" or "running: X"."""
    word = state.strip().lower().rstrip(".")
    if command in ("Sleep", ""):
        return "idle"
    if word.startswith("waiting for "):
        return "waiting: " + word.removeprefix("waiting for ")
    if "waiting" in word or "lock" in word:
        return "waiting: " + word
    if "query cache" in word:
        return (
            "query cache: "
            + re.sub(r"\s*\(.*|( in| for| entries)? query cache.*", "", word).strip()
        )
    if command == "Connect" or "login" in word or "authenticat" in word:
        return "connecting"
    return f"running: {word}" if word else "running"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text in columns, as the command line client shows it without its frame."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in (heads, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", name):
        raise DynoError(
            f"{name!r} cannot be a schema's name", fix="use letters, digits and underscores"
        )
    return f"`{name}`"


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
