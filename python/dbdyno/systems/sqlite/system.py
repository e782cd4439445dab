"""SQLite: in the engine's own process, so the server here is an object over a file.

Settings are pragmas. Those that belong to a connection are run by each load connection
(`session_sql`); those that belong to the file are set when it is made. `durability` follows
https://sqlite.org/pragma.html#pragma_synchronous, https://sqlite.org/wal.html and
https://sqlite.org/pragma.html#pragma_journal_mode.
"""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dbdyno import installed
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import sqltext
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import (
    Binaries,
    Copy,
    Refusal,
    Resolved,
    Server,
    TargetPlan,
    Word,
    engine_target,
    schema_name,
)
from dbdyno.systems.in_process import InProcess, InProcessSystem
from dbdyno.systems.server_errors import refused
from dbdyno.systems.sql_files import Importer
from dbdyno.systems.sqlite.sql_files import SqliteImporter

MARKER = "dbdyno_marker"
TIMEOUT_S = 5.0
# Part of the file, and fixed when its first page is written.
DATA_PRAGMAS = ("page_size", "auto_vacuum", "encoding")
RESERVED = ("busy_timeout", "writable_schema", "query_only", "temp_store_directory")
_ENUMS = {
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
    "auto_vacuum": ("none", "full", "incremental"),
    "secure_delete": ("off", "on", "fast"),
}


class Sqlite(InProcessSystem):
    """See the module."""

    kind = "sqlite"
    driver = "sqlite"
    about = "SQLite, bundled in the load engine; settings are pragmas"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        if basedir:
            raise DynoError(
                "sqlite: `basedir:` has no meaning",
                cause="SQLite is built into the load engine",
                fix="remove it",
            )
        # The load goes through the engine's own copy, not through Python's.
        return Binaries(installed.library(self.driver, host), host=host)

    def resolve(self, target: TargetPlan) -> Resolved:
        portable_options.check_words(target)
        if target.transport == "socket":
            raise DynoError("sqlite: `transport: socket` has no meaning", fix="remove it")
        config = portable_options.settings_of(target.config, self.kind, RESERVED)
        _refuse_unknown(config)
        settings: dict[str, str] = {}
        said: list[Word] = []
        if target.durability is not None:
            wanted, note = _durability(target.durability, config)
            word = f"durability: {target.durability}"
            portable_options.merge(self.kind, word, wanted, config)
            settings.update(wanted)
            said.append(Word(word, wanted, note))
        if target.isolation is not None:
            note = "SQLite has one writer at a time and snapshots for readers: always serializable"
            if target.isolation != "serializable":
                note += ", which is stronger than asked"
            said.append(Word(f"isolation: {target.isolation}", {}, note))
        if target.memory_bytes is not None:
            kib = target.memory_bytes // 1024
            wanted = {"cache_size": str(-kib), "mmap_size": "0"}
            word = f"memory: {portable_options.bytes_text(target.memory_bytes)}"
            portable_options.merge(self.kind, word, wanted, config)
            settings.update(wanted)
            note = (
                "page cache of each connection (KiB, negative): N sessions may use N times that; "
                "the operating system's page cache comes on top"
            )
            said.append(Word(word, wanted, note))
        settings.update(config)
        session = tuple(f"PRAGMA {name}={_literal(value)}" for name, value in _ordered(settings))
        return Resolved(
            settings=settings,
            session_sql=session,
            words=tuple(said),
            data_settings={k: v for k, v in settings.items() if k in DATA_PRAGMAS},
        )

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        with template.open("rb") if template.is_file() else nullcontext() as file:
            head = file.read(16) if file is not None else b""
        if head != b"SQLite format 3\0":
            raise DynoError(
                f"{template} is not a database file of SQLite",
                cause="it is a directory, an empty file, a dump, or encrypted",
                fix="give the file itself; a dump goes under `dump:`",
            )
        for tail in ("-wal", "-journal"):
            log = template.with_name(template.name + tail)
            if log.exists() and log.stat().st_size:
                raise DynoError(
                    f"a transaction log lies next to the template: {log.name}",
                    cause="a program has it open, or was killed",
                    fix="close it: `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`",
                )
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9_]", "_", template.stem)[:64]
        path = directory / f"{name}.db"
        copy(template, path)
        path.chmod(0o600)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {MARKER} (made_by TEXT NOT NULL)")
            connection.commit()

    def start(
        self, binaries: Binaries, directory: Path, resolved: Resolved, cpus: Sequence[int]
    ) -> Server:
        server = SqliteServer(directory, resolved, binaries.version)
        server.check()
        return server


class SqliteServer(InProcess):
    """Databases are the files of a directory. Holds no connection open between calls: the last
    close checkpoints the write-ahead log, and a reader kept open would keep it from being reset."""

    def __init__(self, directory: Path, resolved: Resolved, version: str) -> None:
        super().__init__(directory, version)
        self._resolved = resolved

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        address = {"file": str(self._file(database))}
        session_sql = resolved.session_sql
        return engine_target(target, Sqlite.driver, address, database, session_sql=session_sql)

    def create_schema(self, database: str) -> None:
        path = self._file(database)
        if path.exists() and path.stat().st_size:
            with self._open(database) as connection:
                if not _marked(connection):
                    raise DynoError(
                        f"{path} is there and was not made by dyno",
                        cause="another program's database has that name",
                        fix="move it away, or choose another directory",
                    )
                self._convert(connection)
            return
        with self._open(database) as connection:
            for name, value in _ordered(self._resolved.settings):
                connection.execute(f"PRAGMA {name}={_literal(value)}").fetchall()
            connection.execute(f"CREATE TABLE {MARKER} (made_by TEXT NOT NULL)")
            connection.execute(f"INSERT INTO {MARKER} VALUES ('dbdyno')")
            connection.commit()
            self._verify(connection)

    def schemas(self) -> list[str]:
        return sorted(path.stem for path in self.directory.glob("*.db"))

    def importer(self, database: str, host: Host) -> Importer:
        return SqliteImporter(lambda: self._open(database))

    def run(self, database: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self._open(database) as connection:
            for statement in statements:
                try:
                    rows = connection.execute(statement).fetchall()
                except (sqlite3.Error, sqlite3.Warning) as error:
                    raise refused("sqlite", statement, str(error)) from None
            connection.commit()
        return rows

    def check(self) -> None:
        """Compares each pragma asked for with what SQLite says; converts the journal mode."""
        databases = sorted(self.directory.glob("*.db"))
        for path in databases:
            with self._open(path.stem) as connection:
                if _marked(connection):
                    self._convert(connection)
                    self._apply(connection)
                    self._verify(connection)
        if not databases:
            self._check_new()

    def _check_new(self) -> None:
        """With no database yet, tries the pragmas on a file that is removed again."""
        probe = self.directory / "dyno_probe.db"
        try:
            with self._open(probe.stem) as connection:
                self._apply(connection)
                connection.execute("CREATE TABLE t (x)")
                connection.commit()
                self._verify(connection)
        finally:
            for path in self.directory.glob(probe.name + "*"):
                path.unlink(missing_ok=True)

    def settings(self) -> dict[str, str]:
        found: dict[str, str] = {}
        path = next(iter(sorted(self.directory.glob("*.db"))), None)
        with self._open(path.stem if path else None) as connection:
            self._apply(connection)
            for (name,) in connection.execute("PRAGMA pragma_list").fetchall():
                if name in _READABLE:
                    value = _read(connection, name)
                    if value is not None:
                        found[name] = value
        found["sqlite_version_of_control_connection"] = sqlite3.sqlite_version
        return dict(sorted(found.items()))

    def counters(self) -> dict[str, float]:
        """Sizes of the files; SQLite keeps no counters that another process can read."""
        sizes: dict[str, float] = {"database_bytes": 0.0, "wal_bytes": 0.0}
        for path in self.directory.iterdir():
            kind = "wal_bytes" if path.name.endswith(".db-wal") else "database_bytes"
            if path.name.endswith((".db", ".db-wal")):
                try:
                    sizes[kind] += path.stat().st_size
                except FileNotFoundError:  # the last connection has just removed the log
                    continue
        return sizes

    def gauges(self) -> frozenset[str]:
        return frozenset({"database_bytes", "wal_bytes"})

    def explain(self, database: str, sql: str) -> str:
        """EXPLAIN QUERY PLAN as an indented tree."""
        with self._open(database) as connection:
            # Placeholders may stay unbound: NULL gives the same plan without statistics on values.
            count = sql.count("?")
            try:
                rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * count).fetchall()
            except sqlite3.Error as error:
                raise DynoError(
                    f"sqlite cannot explain the statement: {error}", cause=sql[:200]
                ) from None
        depth: dict[int, int] = {0: 0}
        lines = []
        for identifier, parent, _, detail in rows:
            depth[identifier] = depth.get(parent, 0) + 1
            lines.append("  " * (depth[identifier] - 1) + detail)
        return "\n".join(lines)

    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        found = []
        with self._open(database) as connection:
            for sql in statements:
                none = dict.fromkeys(sqltext.parameters(sql))
                try:
                    connection.execute(f"EXPLAIN {sql}", none)  # compiled, and not run
                except sqlite3.OperationalError as error:
                    near = re.fullmatch(r'near "(.*)": syntax error', str(error), re.DOTALL)
                    once = near is not None and sql.count(near[1]) == 1
                    at = sql.index(near[1]) if near is not None and once else None
                    found.append(Refusal(sql, str(error), at=at))
                except (sqlite3.Error, sqlite3.Warning):  # of this library: two statements in one
                    continue
        return found

    def settle(self, database: str) -> None:
        """After loading: statistics for the planner, and an empty write-ahead log."""
        with self._open(database) as connection:
            connection.execute("ANALYZE")
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def stop(self, *, discard: bool = False) -> bool:
        """Empties the write-ahead logs, so that the files alone are the database."""
        if discard:
            return True
        for path in sorted(self.directory.glob("*.db")):
            try:
                with self._open(path.stem) as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except DynoError:  # a file that is not dbdyno's or is broken: leave it
                continue
        return True

    def _file(self, database: str) -> Path:
        return self.directory / f"{schema_name(database)}.db"

    @contextmanager
    def _open(self, database: str | None) -> Iterator[sqlite3.Connection]:
        path = self._file(database) if database else None
        uri = f"file:{quote(str(path))}" if path else "file::memory:"
        try:
            connection = sqlite3.connect(uri, uri=True, timeout=TIMEOUT_S)
            with closing(connection):
                yield connection
        except sqlite3.Error as error:
            raise DynoError(
                f"SQLite: {error} ({path or 'memory'})",
                cause="someone else has the file open"
                if "locked" in str(error)
                else "a full disk, a wrong value, or a file that is not SQLite's",
                fix="look at who uses it (`fuser`), at the disk, and at `config:`",
            ) from None

    def _apply(self, connection: sqlite3.Connection) -> None:
        for statement in self._resolved.session_sql:
            connection.execute(statement).fetchall()

    def _convert(self, connection: sqlite3.Connection) -> None:
        """Leaves or enters WAL mode, which is part of the file, while no other process has it
        open."""
        mode = self._resolved.settings.get("journal_mode")
        if mode is not None:
            connection.execute(f"PRAGMA journal_mode={_literal(mode)}").fetchall()

    def _verify(self, connection: sqlite3.Connection) -> None:
        for name, asked in self._resolved.settings.items():
            got = _read(connection, name)
            if got is None:
                raise DynoError(
                    f"sqlite: this SQLite does not know the pragma `{name}`",
                    cause="the library was built without it",
                    fix="remove it from `config:`",
                )
            if not portable_options.same(_canonical(name, asked), _canonical(name, got)):
                raise DynoError(
                    f"sqlite: asked for `{name}: {asked}`, SQLite uses {got}",
                    cause="the value is not allowed, is limited, or the file was made with another",
                    fix=f"write `{name}: {got}`, or another value that SQLite keeps",
                )


# Pragmas whose reading changes nothing and returns one value; others act or list.
_READABLE = frozenset(
    """analysis_limit application_id auto_vacuum automatic_index busy_timeout cache_size cache_spill
    cell_size_check checkpoint_fullfsync defer_foreign_keys encoding foreign_keys freelist_count
    fullfsync hard_heap_limit ignore_check_constraints journal_mode journal_size_limit
    legacy_alter_table locking_mode max_page_count mmap_size page_count page_size query_only
    read_uncommitted recursive_triggers reverse_unordered_selects secure_delete soft_heap_limit
    synchronous temp_store threads trusted_schema user_version wal_autocheckpoint""".split()  # noqa: SIM905
)


def _refuse_unknown(config: Iterable[str]) -> None:
    """SQLite ignores a pragma that it does not know, so a slip would silently test nothing."""
    for name in config:
        if name not in _READABLE:
            near = difflib.get_close_matches(name, sorted(_READABLE), n=1)
            raise DynoError(
                f"sqlite: `{name}` is no pragma that can be set and read back",
                cause="it is misspelt (SQLite itself would ignore it silently), or it acts instead "
                "of setting something",
                fix=f"did you mean `{near[0]}`?" if near else "see https://sqlite.org/pragma.html",
            )


def _read(connection: sqlite3.Connection, name: str) -> str | None:
    if name not in _READABLE:
        return None
    row = connection.execute(f"PRAGMA {name}").fetchone()
    if row is None and name == "mmap_size":  # built without memory mapping
        return "0"
    return None if row is None else _canonical(name, str(row[0]))


def _canonical(name: str, value: str) -> str:
    """A pragma's value by its word, where SQLite answers with a number."""
    word = value.strip().lower()
    if name in _ENUMS:
        if word.isdigit() and int(word) < len(_ENUMS[name]):
            return _ENUMS[name][int(word)]
        if name in ("synchronous", "secure_delete") and word in ("true", "yes"):
            return _ENUMS[name][1]
    return word


def _literal(value: str) -> str:
    """A pragma's value, safe in a statement: a number, a word, or a quoted string."""
    size = portable_options.number(value)
    if size is not None and size == int(size):
        return str(int(size))
    if re.fullmatch(r"[A-Za-z_]+", value):
        return value
    return "'" + value.replace("'", "''") + "'"


def _ordered(settings: dict[str, str] | Any) -> list[tuple[str, str]]:
    """Page size and the like first, then the journal, then the rest: SQLite cares."""
    rank = {name: index for index, name in enumerate((*DATA_PRAGMAS, "journal_mode"))}
    return sorted(settings.items(), key=lambda item: rank.get(item[0], len(rank)))


def _marked(connection: sqlite3.Connection) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE type='table' AND name=?"
    return bool(connection.execute(query, (MARKER,)).fetchone()[0])


def _durability(level: str, config: dict[str, str]) -> tuple[dict[str, str], str]:
    """Pragmas for a durability word, honouring a journal mode that the user chose."""
    journal = config.get("journal_mode", "WAL").upper()
    wanted = {"journal_mode": journal}
    if level == "none":
        if "journal_mode" not in config:
            wanted["journal_mode"] = "MEMORY"
        wanted["synchronous"] = "OFF"
        return wanted, "a process that dies inside a transaction may leave a broken file"
    if journal in ("MEMORY", "OFF"):
        raise DynoError(
            f"sqlite: `journal_mode: {journal}` contradicts `durability: {level}`",
            cause="with no journal on disk, dying inside a transaction breaks the file",
            fix="use `durability: none`, or journal_mode WAL, DELETE, TRUNCATE or PERSIST",
        )
    if level == "full":
        # EXTRA also syncs the directory after the journal is deleted; only DELETE needs that.
        wanted["synchronous"] = "EXTRA" if journal == "DELETE" else "FULL"
        if journal != "DELETE" and config.get("synchronous", "").upper() in ("EXTRA", "3"):
            wanted["synchronous"] = "EXTRA"
        return wanted, "each commit waits until the disk has it"
    asked = config.get("synchronous", "").upper()
    if journal == "WAL" and asked in ("NORMAL", "1"):
        wanted["synchronous"] = "NORMAL"
        return wanted, "WAL with NORMAL syncs at checkpoints only: a crash of the OS loses commits"
    wanted["synchronous"] = "OFF"
    return wanted, "each commit is handed to the OS, which writes it when it likes"


SYSTEM = Sqlite()
