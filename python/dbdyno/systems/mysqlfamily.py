"""What MariaDB and MySQL share: configuration, start, login, settings, counters, plans.

Each has its own file for what differs. Sources: the two manuals' pages on server system variables,
`--init-file`, SHOW PROCESSLIST states, and `innodb_flush_log_at_trx_commit`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.errors import DynoError
from dbdyno.systems import verify, words
from dbdyno.systems.account import Account, account_for, check_reachable, private_directory
from dbdyno.systems.account import private_file as write_private
from dbdyno.systems.base import Binaries, Resolved, TargetPlan, Word
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.logtail import LogTail
from dbdyno.systems.lost import answered
from dbdyno.systems.places import LOOPBACK, check_port, free_port, socket_directory
from dbdyno.systems.process import Guarded

USER = "dyno"
MARKER = "dbdyno_marker"
START_TIMEOUT_S = 120.0  # redo of a large log after a kill takes its time
STOP_TIMEOUT_S = 120.0  # writes back the buffer pool
HUNG_TIMEOUT_S = 10.0  # for a server that does not answer, or whose files nobody wants
CONTROL_TIMEOUT_S = 10
SETTLE_TIMEOUT_S = 600
START_TRIES = 4
SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")

# Names that dyno writes itself; in `config:` they are an error.
RESERVED = frozenset(
    """admin_address basedir bind_address character_sets_dir daemonize datadir init_file
    lc_messages_dir local_infile log_error mysqlx pid_file plugin_dir secure_file_priv
    skip_grant_tables skip_networking socket ssl_ca ssl_cert ssl_key tmpdir user""".split()  # noqa: SIM905
)

# Options that have no variable of the same name. A server stops at a wrong one.
WITHOUT_VARIABLE = ("plugin_load_add", "skip_log_bin", "disable_log_bin", "early_plugin_load")

FULL = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"}
DURABILITY_NOTES = {
    "full": "each commit waits until the disk has the redo log",
    "os_crash_unsafe": "each commit hands the redo log to the OS; it is synced once a second",
    "none": "the redo log is written once a second; torn pages are not repaired",
}

ROOM = Word(
    "by default: room for connections", {"max_connections": "1000"}, "otherwise it would be 151"
)
# Otherwise pages are read in the background after each start, during the first trial.
COLD = Word(
    "by default: the buffer pool is not carried over a restart",
    {
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
    },
)


def durability(level: str, config: Mapping[str, str]) -> dict[str, str]:
    """InnoDB's settings for a durability word; the binary log's too if the user switched it on."""
    wanted = {
        "full": FULL,
        "os_crash_unsafe": {**FULL, "innodb_flush_log_at_trx_commit": "2"},
        "none": {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "OFF"},
    }[level].copy()
    if "log_bin" in config and words.boolean(config["log_bin"]) is not False:
        wanted["sync_binlog"] = "1" if level == "full" else "0"
    return wanted


def resolve(
    target: TargetPlan,
    memory: Callable[[int, Mapping[str, str]], tuple[dict[str, str], str]],
    defaults: Sequence[Word] = (),
) -> Resolved:
    """The words and `config` of a target as my.cnf settings. Pure.

    `memory` maps bytes to settings and a note; `defaults` hold unless `config` says otherwise.
    """
    words.check_words(target)
    config = words.settings_of(target.config, target.kind, RESERVED)
    for name in config:
        if name.startswith(("loose_", "skip_loose_")):
            raise DynoError(
                f"{target.kind}: `{name}`: with loose_ a server may ignore a setting silently",
                fix=f"write `{name.removeprefix('loose_')}`",
            )
    settings: dict[str, str] = {}
    said = [word for word in (ROOM, COLD, *defaults) if not _overridden(word, config)]
    for default in said:
        settings.update(default.settings)
    if target.durability is not None:
        _say(
            said,
            settings,
            config,
            target.kind,
            f"durability: {target.durability}",
            durability(target.durability, config),
            DURABILITY_NOTES[target.durability],
        )
    if target.memory_bytes is not None:
        wanted, note = memory(target.memory_bytes, config)
        word = f"memory: {words.bytes_text(target.memory_bytes)}"
        _say(said, settings, config, target.kind, word, wanted, note)
    session: tuple[str, ...] = ()
    if target.isolation is not None:
        word = f"isolation: {target.isolation}"
        level = words.isolation_sql(target.isolation)
        for name in ("transaction_isolation", "tx_isolation"):
            words.merge(target.kind, word, {name: level.replace(" ", "-")}, config)
        session = (f"SET SESSION TRANSACTION ISOLATION LEVEL {level}",)
        said.append(Word(word, {"session": session[0]}, _isolation_note(target.isolation)))
    settings.update(config)
    loading = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
    return Resolved(
        settings=settings,
        session_sql=session,
        words=tuple(said),
        # Loading is repeated if it fails; a clean stop flushes everything before a copy is taken.
        load_settings={k: v for k, v in loading.items() if k not in config},
        data_settings={k: v for k, v in settings.items() if depends_on_files(k)},
    )


def _say(
    said: list[Word],
    settings: dict[str, str],
    config: Mapping[str, str],
    kind: str,
    word: str,
    wanted: dict[str, str],
    note: str,
) -> None:
    words.merge(kind, word, wanted, config)
    settings.update(wanted)
    said.append(Word(word, wanted, note))


def _overridden(word: Word, config: Mapping[str, str]) -> bool:
    """Whether the user says something about what a default would set."""
    return any(
        name in config or (name == "skip_log_bin" and {"log_bin", "disable_log_bin"} & set(config))
        for name in word.settings
    )


def _isolation_note(level: str) -> str:
    if level == "repeatable_read":
        return "InnoDB reads from a snapshot, but UPDATE and DELETE see the newest committed rows"
    if level == "serializable":
        return "InnoDB turns each SELECT inside a transaction into a locking read"
    return ""


# Everything that is not known to be safe for files on disk belongs to a snapshot's key. Known safe:
# caches, flushing, threads, limits of sessions, logging of queries.
_SAFE = re.compile(
    r"""innodb_(buffer_pool_(?!filename)|flush|io_|read_|write_io|purge|spin|sync_|thread|adaptive|change_buff|
    lock_wait|deadlock|stats_(?!persistent)|doublewrite$|use_native_aio|log_(buffer_size|write_ahead|spin)|lru|max_dirty|
    max_purge|old_blocks|random_read|rollback_on|snapshot|table_locks|autoextend|concurrency|commit_concurrency|
    max_undo|ddl|parallel|print|monitor|status|numa|dedicated)|
    query_cache|max_|table_(open|definition)|thread_|tmp_table|join_buffer|sort_buffer|read_|net_|wait_timeout|
    interactive_timeout|lock_wait|long_query|slow_query|general_log|performance_schema|optimizer|eq_range|
    transaction_isolation$|tx_isolation$|back_log|port$|skip_name_resolve|host_cache|key_buffer|sync_binlog|
    skip_log_bin|log_(output|queries|slow|warnings|error_verbosity)|userstat|tls_|require_secure|autocommit|
    stored_program|open_files|concurrent_insert|extra_|join_cache|histogram_|use_stat_tables|event_scheduler""".replace(
        "\n", ""
    ).replace(" ", "")
)


def depends_on_files(name: str) -> bool:
    """Whether a setting may matter to files on disk (when in doubt: yes)."""
    return not _SAFE.match(name)


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


def configuration(settings: Mapping[str, str]) -> str:
    """A my.cnf. Values are quoted where a bare one would be cut at a comment sign."""
    lines = ["# Written by dbdyno for one server; removed with it.", "[server]"]
    for name, value in settings.items():
        if name in ("skip_log_bin", "disable_log_bin") and words.boolean(value) is not False:
            lines.append(name)
        elif re.fullmatch(r"[A-Za-z0-9_./:@+-]*", value):
            lines.append(f"{name}={value}")
        else:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'{name}="{escaped}"')
    return "\n".join(lines) + "\n"


def data_directory(directory: Path, account: Account) -> Path:
    """The private places in a server's directory; returns the data directory itself."""
    private_directory(directory, account)
    check_reachable(directory / "data", account)
    private_directory(directory / "tmp", account)
    return private_directory(directory / "data", account)


def start(
    family: Family,
    binaries: Binaries,
    directory: Path,
    resolved: Resolved,
    cpus: Sequence[int],
) -> MysqlServer:
    """Starts a server and returns when it lets us in and says that it is what was asked for."""
    account = account_for(family.account)
    check_reachable(directory / "data", account)
    check_reachable(binaries.paths["server"], account)
    if not (directory / "data" / "mysql").is_dir():
        raise DynoError(
            f"{directory} is not an initialised data directory of {family.kind}",
            cause="it was not prepared, or was removed",
            fix="prepare it first",
        )
    asked_port = resolved.settings.get("port")
    if asked_port is not None:
        check_port(words.port_number(asked_port, family.kind), "port")
    for attempt in range(1, START_TRIES + 1):
        port = words.port_number(asked_port, family.kind) if asked_port else free_port()
        server = _launch(family, binaries, directory, resolved, cpus, account, port)
        try:
            server.wait_until_ready()
            server.check_settings(resolved)
        except _PortTaken:
            server.stop()
            if asked_port or attempt == START_TRIES:
                raise
        except BaseException:
            server.stop()
            raise
        else:
            return server
    raise AssertionError("unreachable: the last attempt returns or raises")


def _launch(
    family: Family,
    binaries: Binaries,
    directory: Path,
    resolved: Resolved,
    cpus: Sequence[int],
    account: Account,
    port: int,
) -> MysqlServer:
    sockets = socket_directory(account)
    password = secrets.token_urlsafe(24)
    certificate = Certificate.make()
    log = LogTail(directory / "server.log")
    process = Guarded(account=account, make=[sockets], directory=directory)
    try:
        own = {
            **family.own_settings(binaries),
            "datadir": str(directory / "data"),
            "tmpdir": str(directory / "tmp"),
            "socket": str(sockets / "s"),
            "pid_file": str(sockets / "pid"),
            "port": str(port),
            "bind_address": LOOPBACK,
            "skip_name_resolve": "ON",
            "local_infile": "ON",  # the loader sends generated bytes
            "init_file": str(sockets / "init.sql"),
            **{f"ssl_{k}": str(v) for k, v in certificate.write(directory, account).items()},
        }
        login = "".join(f"{statement};\n" for statement in family.login_sql(password))
        write_private(sockets / "init.sql", login, account)
        write_private(
            directory / "server.cnf", configuration({**own, **resolved.settings}), account
        )
        process.launch(
            [binaries.paths["server"], f"{family.defaults_flag}={directory / 'server.cnf'}"],
            environment={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "HOME": str(directory)},
            log=log.path,
            cpus=cpus,
            stop_signal=signal.SIGTERM,
        )
    except BaseException:
        process.stop(0)
        raise
    return MysqlServer(family, process, directory, sockets / "s", port, password, certificate, log)


class _PortTaken(DynoError):
    """Someone was faster; with a port of our own choice we try another."""


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
        deadline = time.monotonic() + START_TIMEOUT_S
        error: Exception | None = None
        while time.monotonic() < deadline:
            if not self.process.alive():
                raise self._died()
            try:
                self.version = str(self.rows("SELECT VERSION()")[0][0])
            except (pymysql.Error, OSError) as caught:
                error = caught
                time.sleep(0.02)
            else:
                (self.socket_path.parent / "init.sql").unlink(missing_ok=True)
                return
        raise DynoError(
            f"{self.family.kind} did not answer within {START_TIMEOUT_S:.0f} s: {error}",
            cause="a long recovery, a very slow disk, or a server that hangs",
            fix=f"its log ends:\n{self.log_tail()}",
        )

    def _died(self) -> DynoError:
        status = self.process.status()
        how = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        cause, fix = self._log.explain(_HINTS)
        kind: type[DynoError] = _PortTaken if "port is in use" in cause else DynoError
        return kind(
            f"{self.family.kind} ended at its start with {how}; its log ends:\n{self._log.text()}",
            cause=cause,
            fix=fix,
        )

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
