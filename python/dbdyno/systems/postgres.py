"""PostgreSQL.

Durability follows the manual's chapters "Reliability and the Write-Ahead Log" and "Asynchronous
Commit": `synchronous_commit=off` may lose commits when the server process dies (they are still in
its memory), `fsync=off` when the operating system does (they are in the kernel's).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import pwd
import re
import secrets
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pg8000.exceptions
import pg8000.native

from dbdyno.errors import DynoError
from dbdyno.systems import logtail, verify, words
from dbdyno.systems.account import (
    Account,
    account_for,
    check_reachable,
    private_directory,
    private_file,
    run_as,
)
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan, Word
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.logtail import LogTail
from dbdyno.systems.lost import answered
from dbdyno.systems.places import LOOPBACK, check_port, free_port, program, socket_directory
from dbdyno.systems.process import Guarded, run_guarded

USER = "dyno"
MARK = "made by dbdyno"  # comment of a database that is ours
INITDB_TIMEOUT_S = 120.0
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 120.0  # the last checkpoint writes back shared_buffers
HUNG_TIMEOUT_S = 10.0  # for a server that does not answer, or whose files nobody wants
CONTROL_TIMEOUT_S = 10
SETTLE_TIMEOUT_S = 600
START_TRIES = 4
DEBIAN = Path("/usr/lib/postgresql")
ERRORS = (pg8000.exceptions.Error, OSError)

RESERVED = frozenset(
    """config_file data_directory external_pid_file hba_file ident_file include include_dir
    include_if_exists listen_addresses log_destination log_directory log_filename logging_collector
    ssl ssl_ca_file ssl_cert_file ssl_key_file unix_socket_directories unix_socket_group
    unix_socket_permissions""".split()  # noqa: SIM905
)
DURABILITY = {
    "full": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
    "os_crash_unsafe": {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "on"},
    "none": {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
}
DURABILITY_NOTES = {
    "full": "each commit waits until the disk has the write-ahead log",
    "os_crash_unsafe": "each commit hands the log to the OS and never asks it to sync; "
    "a crash of the OS may not only lose commits but break the files",
    "none": "commits are written up to 3 x wal_writer_delay later; torn pages are not repaired",
}
DEFAULTS = (
    Word(
        "by default: data checksums, UTF-8, C collation",
        {},
        "initdb --data-checksums --encoding=UTF8 --no-locale: checksums as InnoDB has them",
    ),
    Word(
        "by default: room for connections", {"max_connections": "1000"}, "otherwise it would be 100"
    ),
)
LOADING = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
}
# COPY into a table made in the same transaction then writes no log at all.
LOADING_WAL = {"wal_level": "minimal", "max_wal_senders": "0"}
LOADING_WAL_NEEDS = ("wal_level", "max_wal_senders", "archive_mode", "summarize_wal")
_BYTES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Postgres:
    """See the module."""

    kind = "postgres"
    driver = "postgres"
    about = "PostgreSQL, started privately from Debian's packages or from `basedir:`"

    def find(self, basedir: str | None) -> Binaries:
        if basedir:
            places = [Path(basedir) / "bin", Path(basedir)]
        else:
            versions = [p for p in DEBIAN.glob("*") if p.name.isdigit()] if DEBIAN.is_dir() else []
            places = [p / "bin" for p in sorted(versions, key=lambda p: int(p.name), reverse=True)]
        server, init = program("postgres", places), program("initdb", places)
        if basedir and server and Path(basedir) not in server.parents:
            server = None
        if server is None or init is None:
            raise DynoError(
                f"no PostgreSQL server found{f' under {basedir}' if basedir else ''}",
                cause="`basedir:` is not its prefix" if basedir else "it is not installed",
                fix="run `make servers`, or `apt-get install postgresql`, or set `basedir:`",
            )
        done = run_as(account_for("postgres"), [server, "--version"], _environment(), 20.0)
        found = re.search(r"\) (\S+)", done.stdout)
        if done.returncode != 0 or not found:
            raise DynoError(
                f"{server} does not run: {(done.stderr or done.stdout).strip()[-300:]}",
                cause="a library is missing, or the account postgres cannot reach it",
                fix="run `make servers`, or set `basedir:`",
            )
        return Binaries(f"PostgreSQL {found[1]}", {"server": server, "init": init})

    def resolve(self, target: TargetPlan) -> Resolved:
        words.check_words(target)
        config = words.settings_of(target.config, self.kind, RESERVED)
        settings: dict[str, str] = {}
        said = [word for word in DEFAULTS if not set(word.settings) & set(config)]
        for default in said:
            settings.update(default.settings)
        asked: list[Word] = []
        if target.durability is not None:
            level = target.durability
            asked.append(Word(f"durability: {level}", DURABILITY[level], DURABILITY_NOTES[level]))
        if target.memory_bytes is not None:
            asked.append(_memory(target.memory_bytes))
        for word in asked:
            words.merge(self.kind, word.word, word.settings, config)
            settings.update(word.settings)
        session: tuple[str, ...] = ()
        if target.isolation is not None:
            word = _isolation(target.isolation)
            plain = target.isolation.replace("_", " ")
            words.merge(self.kind, word.word, {"default_transaction_isolation": plain}, config)
            session = (word.settings["session"],)
            asked.append(word)
        settings.update(config)
        loading = {**LOADING, **({} if set(LOADING_WAL_NEEDS) & set(config) else LOADING_WAL)}
        return Resolved(
            settings=settings,
            session_sql=session,
            words=(*said, *asked),
            load_settings={k: v for k, v in loading.items() if k not in config},
            # Nothing in postgresql.conf changes files on disk beyond these.
            data_settings={
                k: v
                for k, v in settings.items()
                if k.startswith(
                    ("default_toast", "default_table", "default_stat", "shared_preload")
                )
            },
        )

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        account = account_for("postgres")
        private_directory(directory, account)
        check_reachable(directory / "data", account)
        check_reachable(binaries.paths["init"], account)
        private_directory(directory / "data", account)
        done = run_guarded(
            account,
            [
                binaries.paths["init"],
                f"--pgdata={directory / 'data'}",
                f"--username={USER}",
                "--auth-local=peer",
                "--auth-host=scram-sha-256",
                "--data-checksums",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",  # whoever keeps the directory syncs it once, after loading
            ],
            _environment(),
            INITDB_TIMEOUT_S,
            directory / "init.log",
            directory / "data",
        )
        if done.returncode != 0:
            tail = logtail.telling(done.stdout + done.stderr)
            raise DynoError(
                f"initdb failed with status {done.returncode}:\n{tail}",
                cause="a full disk, or a broken installation",
                fix="see its messages above",
            )

    def start(
        self,
        binaries: Binaries,
        directory: Path,
        resolved: Resolved,
        *,
        cpus: Sequence[int],
        transport: str,
    ) -> Server:
        account = account_for("postgres")
        check_reachable(directory / "data", account)
        if not (directory / "data" / "PG_VERSION").is_file():
            raise DynoError(
                f"{directory} is not an initialised data directory of PostgreSQL",
                cause="it was not prepared, or was removed",
                fix="prepare it first",
            )
        asked_port = resolved.settings.get("port")
        if asked_port is not None:
            check_port(words.port_number(asked_port, self.kind), "port")
        # A clean stop removes it; a copy of a killed server's directory may hold it.
        (directory / "data" / "postmaster.pid").unlink(missing_ok=True)
        for attempt in range(1, START_TRIES + 1):
            port = int(asked_port) if asked_port else free_port()
            server = _launch(binaries, directory, resolved, cpus, account, port)
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


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _memory(size_bytes: int) -> Word:
    pages = size_bytes // 8192
    return Word(
        f"memory: {words.bytes_text(size_bytes)}",
        {"shared_buffers": f"{pages * 8}kB", "effective_cache_size": f"{pages * 8}kB"},
        "all of it is shared_buffers; sessions' memory and the OS page cache come on top",
    )


def _isolation(level: str) -> Word:
    notes = {
        "read_uncommitted": "PostgreSQL treats it as read committed, which is stronger than asked",
        "repeatable_read": "a snapshot for all statements; a conflicting UPDATE fails with 40001",
        "serializable": "serializable snapshot isolation: conflicts fail with 40001, to be retried",
    }
    name = words.isolation_sql(level)
    statement = f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {name}"
    return Word(f"isolation: {level}", {"session": statement}, notes.get(level, ""))


class _PortTaken(DynoError):
    """Someone was faster; with a port of our own choice we try another."""


def configuration(settings: Mapping[str, str]) -> str:
    """A postgresql.conf; every value quoted."""
    lines = ["# Written by dbdyno for one server; removed with it."]
    for name, value in settings.items():
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{escaped}'")
    return "\n".join(lines) + "\n"


def _launch(
    binaries: Binaries,
    directory: Path,
    resolved: Resolved,
    cpus: Sequence[int],
    account: Account,
    port: int,
) -> PostgresServer:
    sockets = socket_directory(account)
    certificate = Certificate.make()
    log = LogTail(directory / "server.log")
    process = Guarded(account=account, make=[sockets], directory=directory)
    try:
        path = _write_configuration(directory, sockets, resolved, account, certificate, port)
        process.launch(
            [binaries.paths["server"], "-D", directory / "data", "-c", f"config_file={path}"],
            environment={**_environment(), "HOME": str(directory)},
            log=log.path,
            cpus=cpus,
            stop_signal=signal.SIGINT,  # "fast": ends sessions, then checkpoints
            data=directory / "data",
        )
    except BaseException:
        process.stop(0)
        raise
    return PostgresServer(process, directory, sockets / f".s.PGSQL.{port}", port, certificate, log)


def _write_configuration(
    directory: Path,
    sockets: Path,
    resolved: Resolved,
    account: Account,
    certificate: Certificate,
    port: int,
) -> Path:
    """Writes all files that a start needs; returns postgresql.conf's."""
    pem = certificate.write(directory, account)
    me = pwd.getpwuid(os.geteuid()).pw_name
    hba = "local all all peer map=dyno\n" + f"host all all {LOOPBACK}/32 scram-sha-256\n"
    own = {
        "hba_file": str(private_file(directory / "hba.conf", hba, account)),
        "ident_file": str(private_file(directory / "ident.conf", f'dyno "{me}" {USER}\n', account)),
        "listen_addresses": LOOPBACK,
        "port": str(port),
        "unix_socket_directories": str(sockets),
        "ssl": "on",
        "ssl_cert_file": str(pem["cert"]),
        "ssl_key_file": str(pem["key"]),
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_timezone": "UTC",
    }
    return private_file(
        directory / "server.conf", configuration({**own, **resolved.settings}), account
    )


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
        deadline = time.monotonic() + START_TIMEOUT_S
        error: Exception | None = None
        while time.monotonic() < deadline:
            if not self.process.alive():
                raise self._died()
            try:
                self.version = str(self.rows("SHOW server_version")[0][0])
            except ERRORS as caught:
                error = caught
                time.sleep(0.02)
            else:
                self.rows(f"ALTER ROLE {USER} PASSWORD '{scram_verifier(self._password)}'")
                return
        raise DynoError(
            f"PostgreSQL did not answer within {START_TIMEOUT_S:.0f} s: {_message(error)}",
            cause="a long recovery, a very slow disk, or a server that hangs",
            fix=f"its log ends:\n{self._log.text()}",
        )

    def _died(self) -> DynoError:
        status = self.process.status()
        how = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        cause, fix = self._log.explain(_HINTS)
        kind: type[DynoError] = _PortTaken if "port is in use" in cause else DynoError
        return kind(
            f"PostgreSQL ended at its start with {how}; its log ends:\n{self._log.text()}",
            cause=cause,
            fix=fix,
        )

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
            "driver": Postgres.driver,
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


SYSTEM = Postgres()
