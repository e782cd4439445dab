"""Queries of any MariaDB or MySQL, managed or external: settings, counters, sessions, plans.

Sources: the two manuals' pages on SHOW STATUS, SHOW PROCESSLIST states and EXPLAIN.
"""

from __future__ import annotations

import contextlib
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.errors import DynoError
from dbdyno.experiment.targets import sqltext
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options, verify
from dbdyno.systems.base import Refusal, schema_name
from dbdyno.systems.mysql import sql_files
from dbdyno.systems.process.starting import CONTROL_TIMEOUT_S, SETTLE_TIMEOUT_S
from dbdyno.systems.server_errors import answered, refused
from dbdyno.systems.sql_files import Importer

ERRORS = (pymysql.Error, OSError)
SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")


# Options that have no variable of the same name. A server stops at a wrong one.
WITHOUT_VARIABLE = ("plugin_load_add", "skip_log_bin", "disable_log_bin", "early_plugin_load")


class MysqlControl(ABC):
    """The control connection, and what is asked over it. Subclasses define how to connect, and the
    error if no server answers."""

    place: str  # host and port, or socket

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._lock = threading.Lock()
        self._connection: pymysql.Connection[Any] | None = None
        # Of 8.2 and newer, and of what is older.
        self._binary_log_sql: tuple[str, ...] = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
        self._group_sql = _GROUP_SQL

    @abstractmethod
    def _connect(self, database: str | None, timeout_s: int) -> pymysql.Connection[Any]:
        """A new connection; autocommit, utf8mb4."""

    @abstractmethod
    def unanswered(self, error: Exception) -> DynoError:
        """The error for a client library's."""

    def connection(self, timeout_s: int) -> pymysql.Connection[Any]:
        """A connection of the caller's own, who closes it."""
        return self._connect(None, timeout_s)

    def rows(self, sql: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Runs one statement on the control connection (a new one if the last broke)."""
        return self._fetched(sql, database)[1]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """The same, each row by the columns' names."""
        names, rows = self._fetched(sql, None)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _fetched(self, sql: str, database: str | None) -> tuple[list[str], list[tuple[Any, ...]]]:
        with self._lock:
            if self._connection is None:
                self._connection = self._connect(None, CONTROL_TIMEOUT_S)
            try:
                if database is not None:
                    self._connection.select_db(database)
                with self._connection.cursor() as cursor:
                    cursor.execute(sql)
                    names = [str(column[0]) for column in cursor.description or ()]
                    return names, list(cursor.fetchall())
            except (DynoError, pymysql.OperationalError, pymysql.InterfaceError, OSError) as error:
                code = error.args[0] if error.args else 0
                if not isinstance(code, int) or code >= 2000 or code == 0:  # the client's codes
                    with contextlib.suppress(*ERRORS):
                        self._connection.close()
                    self._connection = None
                raise

    def answers(self) -> bool:
        """Whether it answers at all."""
        try:
            return self.rows("SELECT 1") == [(1,)]
        except ERRORS:
            return False

    def run(self, database: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with closing(self._connect(database, SETTLE_TIMEOUT_S)) as connection:
            for statement in statements:
                try:
                    with connection.cursor() as cursor:
                        cursor.execute(statement)
                        rows = list(cursor.fetchall())
                except ERRORS as error:
                    raise refused(self.kind, statement, str(error.args[-1])) from None
        return rows

    def importer(self, database: str, host: Host) -> Importer:
        places, options = self._client_options()
        return sql_files.importer(self.kind, host, places, options, database)

    @abstractmethod
    def _client_options(self) -> tuple[Sequence[Path], Mapping[str, str]]:
        """Where the client program may be, and the options of its file that lead here."""

    @answered(ERRORS)
    def schemas(self) -> list[str]:
        rows = self.rows("SELECT schema_name FROM information_schema.schemata")
        names = sorted(str(row[0]) for row in rows)
        return [name for name in names if name.lower() not in SYSTEM_SCHEMAS]

    def check_asked(self, settings: Mapping[str, str]) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        asked = {k: v for k, v in settings.items() if k not in WITHOUT_VARIABLE}
        if {"skip_log_bin", "disable_log_bin"} & set(settings):
            asked["log_bin"] = "OFF"
        elif "log_bin" in asked and portable_options.boolean(asked["log_bin"]) is None:
            asked["log_bin"] = "ON"  # the option takes a file name, the variable says whether
        for name, value in list(asked.items()):
            choices = self._choices(name) if value.isdigit() else []
            if choices and int(value) < len(choices):  # an enumeration given by number
                asked[name] = choices[int(value)]
        verify.check(self.kind, asked, self.settings(), aliases={})

    def _choices(self, name: str) -> list[str]:
        """Words of an enumeration, if the server lists them (MariaDB does)."""
        try:
            found = self.rows(
                "SELECT enum_value_list FROM information_schema.system_variables "
                f"WHERE variable_name = '{name}' AND variable_type = 'ENUM'"
            )
        except pymysql.Error:
            return []
        return str(found[0][0]).split(",") if found and found[0][0] else []

    @answered(ERRORS)
    def settle(self, database: str) -> None:
        """After loading: fresh statistics, so that plans do not change in mid-run."""
        tables = self.rows(
            "SELECT table_name FROM information_schema.tables "
            f"WHERE table_schema = '{database}' AND table_type = 'BASE TABLE'"
        )
        with closing(self._connect(database, SETTLE_TIMEOUT_S)) as connection:
            for (table,) in tables:
                with connection.cursor() as cursor:
                    cursor.execute(f"ANALYZE TABLE {quoted_name(str(table))}")

    @answered(ERRORS)
    def settings(self) -> dict[str, str]:
        return {str(k).lower(): text(v) for k, v in self.rows("SHOW GLOBAL VARIABLES")}

    def counters(self) -> dict[str, float]:
        """SHOW GLOBAL STATUS, and where the binary log is: `Binlog_file`, the number of its file,
        and `Binlog_snapshot_position` in it. Of a member of a group what it says of itself in
        `replication_group_member_stats`, too."""
        values: dict[str, float] = {}
        rows = self.rows("SHOW GLOBAL STATUS")
        for name, value in rows:
            number = portable_options.number(text(value)) if text(value)[:1].isdigit() else None
            if number is not None:
                values[str(name)] = number
        # MariaDB gives the file there; no statement more is needed, nor a grant.
        told = {str(name): text(value) for name, value in rows if name == "Binlog_snapshot_file"}
        file, position = told.get("Binlog_snapshot_file"), None
        if file is None:
            file, position = self._binary_log()
        if (found := re.search(r"\.(\d+)$", file or "")) is not None:
            values["Binlog_file"] = float(found[1])
            if position is not None:
                values["Binlog_snapshot_position"] = position
        if any(str(name).startswith(_OF_GROUPS) for name, _ in rows):
            values |= self._of_group()
        return values

    def _of_group(self) -> dict[str, float]:
        """What a member of a group counts, as `view.column`; empty outside a group, or without the
        grant (SELECT on the view): then it is not asked again."""
        if not self._group_sql:
            return {}
        try:
            rows = self.rows(self._group_sql)
        except pymysql.Error as error:
            if not error.args or error.args[0] in _CLIENTS_CODES:
                raise
            self._group_sql = ""
            return {}
        return {
            f"{_GROUP_VIEW}.{name}": float(value)
            for row in rows
            for name, value in zip(_GROUP_COLUMNS, row, strict=True)
        }

    def _binary_log(self) -> tuple[str, float | None]:
        """File and position of MySQL's binary log; empty without one, or without the grant
        (REPLICATION CLIENT): then it is not asked again."""
        while self._binary_log_sql:
            try:
                rows = self.rows(self._binary_log_sql[0])
                return (str(rows[0][0]), float(rows[0][1])) if rows else ("", None)
            except pymysql.Error as error:
                if not error.args or error.args[0] in _CLIENTS_CODES:
                    raise
                self._binary_log_sql = self._binary_log_sql[1:]
        return "", None

    def gauges(self) -> frozenset[str]:
        return frozenset(name for name in self.counters() if is_gauge(name))

    def cycles(self, per_s: Mapping[str, float]) -> dict[str, float]:
        """InnoDB's redo log: once it has been filled, the oldest pages must have been written.
        Its size is `innodb_redo_log_capacity`, or that of its files before MySQL 8.0.30 and in
        MariaDB (both manuals, "Redo Log")."""
        written_per_s = per_s.get("Innodb_os_log_written", 0.0)
        if written_per_s <= 0:
            return {}
        known = self.settings()
        files = float(known.get("innodb_log_files_in_group", 1))
        size = float(known.get("innodb_log_file_size", 0)) * files
        size = float(known.get("innodb_redo_log_capacity", 0)) or size
        return {"InnoDB fills its redo log": size / written_per_s} if size > 0 else {}

    def sessions_by_state(self) -> dict[str, int]:
        states: dict[str, int] = {}
        connection = self._connection.thread_id() if self._connection else -1
        for row in self.rows("SHOW PROCESSLIST"):
            if int(row[0]) == connection or row[4] == "Daemon" or row[1] in _SYSTEM_USERS:
                continue
            state = session_state(text(row[4]), text(row[6]))
            states[state] = states.get(state, 0) + 1
        return states

    def explain(self, database: str, sql: str) -> str:
        try:
            with (
                closing(self._connect(database, CONTROL_TIMEOUT_S)) as connection,
                connection.cursor() as cursor,
            ):
                if sqltext.reads(sql):  # to explain may be to call a function
                    cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute(f"EXPLAIN {sql}")
                heads = [str(column[0]) for column in cursor.description or ()]
                return table(heads, [[text(v) for v in row] for row in cursor.fetchall()])
        except ERRORS as error:
            raise DynoError(
                f"{self.kind} cannot explain the statement: {error}", cause=sql[:200]
            ) from None

    @answered(ERRORS)
    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        found = []
        with (
            closing(self._connect(database, CONTROL_TIMEOUT_S)) as connection,
            connection.cursor() as cursor,
        ):
            for statement in session:
                cursor.execute(statement)
            for sql in statements:
                sent = sqltext.replaced(sql, _marked)
                try:
                    cursor.execute(f"PREPARE dyno_prepared FROM {quoted(sent)}")
                    cursor.execute("DEALLOCATE PREPARE dyno_prepared")
                except pymysql.MySQLError as error:
                    code = error.args[0] if error.args else 0
                    if not isinstance(code, int) or code < 1000 or code in _CLIENTS_CODES:
                        raise  # the connection broke
                    why = str(error.args[-1])
                    found.append(Refusal(sql, why, at=_seen_at(why, sql, sent)))
        return found

    @answered(ERRORS)
    def lag_s(self) -> float:
        """How far it is behind the server that it replicates, seconds; DynoError if it cannot
        say."""
        lags = [row[name] for row in self.replica_status() for name in _LAG_COLUMNS if name in row]
        if not lags:
            raise DynoError(f"{self.kind} at {self.place} is not a replica")
        if any(lag is None for lag in lags):
            raise DynoError(f"replication to {self.place} does not run")
        return float(max(lags))

    def replica_status(self) -> list[dict[str, Any]]:
        """SHOW REPLICA STATUS, a row a channel; empty of a server that replicates nothing."""
        error: Exception | None = None
        for statement in _LAG_STATEMENTS:
            try:
                return self.records(statement)
            except pymysql.err.ProgrammingError as caught:  # an older server's syntax error
                error = caught
        assert error is not None
        raise error

    def look(self, sql: str, timeout_s: int) -> list[tuple[Any, ...]]:
        """Rows of one statement on a connection of its own, which is not waited for longer."""
        with closing(self._connect(None, timeout_s)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def close_connection(self) -> None:
        """Closes the control connection; the next call opens another."""
        with self._lock:
            if self._connection is not None and self._connection.open:
                with contextlib.suppress(*ERRORS):
                    self._connection.close()
            self._connection = None


def _marked(_: str) -> str:
    return "?"


def _seen_at(why: str, sql: str, sent: str) -> int | None:
    """Where a server sees a mistake: it quotes what is `near`, to the end or 80 characters."""
    match = re.search(r"near '(.*)' at line \d+\Z", why, re.DOTALL)
    if match is None or sent.count(match[1] or sent) != 1:
        return None
    at = sent.index(match[1]) if match[1] else len(sent)
    return sqltext.written(sql, _marked, at)


_LAG_STATEMENTS = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
_LAG_COLUMNS = ("Seconds_Behind_Source", "Seconds_Behind_Master")
_CLIENTS_CODES = range(2000, 3000)  # the connection broke; all others are the server's answers
_SYSTEM_USERS = ("system user", "event_scheduler")

# Status variables of the plugin, which a server has that could be in a group.
_OF_GROUPS = ("Gr_", "group_replication_")
_GROUP_VIEW = "replication_group_member_stats"
_GROUP_COLUMNS = tuple(
    f"count_{name}"
    for name in (
        *("conflicts_detected", "transactions_checked", "transactions_in_queue"),
        *("transactions_local_proposed", "transactions_local_rollback"),
        *("transactions_remote_applied", "transactions_remote_in_applier_queue"),
    )
)
_GROUP_SQL = (
    f"SELECT {', '.join(_GROUP_COLUMNS)} FROM performance_schema.{_GROUP_VIEW}"
    " WHERE member_id = @@server_uuid"
)

_GAUGE = re.compile(
    r"""Threads_(?!created)|Open_|Max_used|Uptime|Prepared_stmt_count|Qcache_(free|queries_in|total)|
    Innodb_(buffer_pool_(pages_(?!flushed|made|lru_fl)|bytes|resize)|row_lock_current|row_lock_time_(avg|max)|
    num_open|page_size|history_list|checkpoint|max_trx|mem_|ibuf_(size|free|seg)|lsn_(?!current)|redo_log_(capacity|
    logical|physical|resize|read_only|uuid)|undo_tablespaces|data_pending|os_log_pending|log_pending|adaptive_hash_cells|
    defragment|encryption_n|undo_truncations_active)|
    Key_blocks|Memory_used|Slave_open|Delayed_insert_threads|Not_flushed|Tc_log_(page|max)|Subquery_cache_size|
    Current_|Last_query|Acl_users|wsrep_(cluster_size|local_(recv|send)_queue|flow_control_paused$)|Ssl_|Rpl_|
    Performance_schema_session_connect_attrs_longest|Resource_group|Global_connection_memory|Binlog_(file|.*_pos)|
    replication_group_member_stats.count_transactions_(remote_)?in_""".replace("\n", "").replace(
        " ", ""
    ),
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


def identifier(name: str) -> str:
    return f"`{schema_name(name)}`"


def quoted_name(name: str) -> str:
    """A name of the user's, which may hold anything."""
    return "`" + name.replace("`", "``") + "`"


def quoted(value: str) -> str:
    """A literal that means the same under every sql_mode: backslashes are no escapes in some."""
    if "\\" in value:
        return f"CONVERT(0x{value.encode().hex()} USING utf8mb4)"
    return "'" + value.replace("'", "''") + "'"


def text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
