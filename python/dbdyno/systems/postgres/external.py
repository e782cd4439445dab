"""An external PostgreSQL.

dbdyno's schemas are schemas inside the URL's database: that takes CREATE on one database, where a
database of our own would take CREATEDB. Sources: the manual's pages on ALTER SYSTEM, pg_settings,
the recovery functions and error codes.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pg8000.exceptions
import pg8000.native

from dbdyno.errors import DynoError
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.external.base import External
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.server import MARKER, PREFIX, Mark, Refused
from dbdyno.systems.logins.postgres import connect
from dbdyno.systems.postgres.control import ERRORS, PostgresControl, identifier, message
from dbdyno.systems.process.starting import SETTLE_TIMEOUT_S
from dbdyno.systems.server_errors import answered, understood
from dbdyno.systems.sql_files import Importer

RELOAD_TIMEOUT_S = 30.0  # until a new session sees what a reload brought
_REFUSED = ("28P01", "28000")
_RELOADABLE = ("sighup", "superuser", "user", "backend", "superuser-backend")
# ALTER SYSTEM stores a list of these as one name, so they cannot be brought back exactly.
_LISTS_OF_NAMES = frozenset(
    """local_preload_libraries search_path session_preload_libraries shared_preload_libraries
    temp_tablespaces unix_socket_directories""".split()  # noqa: SIM905
)
_HIDES = ("command line", "environment variable", "override", "database", "user", "database user")


@understood
class PostgresRemote(PostgresControl, External):
    """See the module."""

    driver = "postgres"

    def __init__(self, url: ServerUrl, login: Login, tls: str) -> None:
        PostgresControl.__init__(self, url.schema or login.user)
        External.__init__(self, url, replace(login, socket=socket_file(login)), tls)

    def _connect(self, database: str, timeout_s: int) -> pg8000.native.Connection:
        """`database` is the URL's, or a schema in it."""
        login = self._login
        where: dict[str, Any] = {"host": login.host, "port": login.port}
        if login.socket is not None:
            where = {"unix_sock": login.socket}
        connection = connect(
            login.rules(self.place),
            password=login.password,
            database=self.database,
            timeout_s=timeout_s,
            tls=self._tls,
            **where,
        )
        for statement in self._use(database):
            connection.execute_simple(statement)
        return connection

    def unanswered(self, error: Exception) -> DynoError:
        denied = state_of(error) == "42501"
        return DynoError(
            f"postgres at {self.place}: {message(error)}",
            cause="our role has no privilege for it" if denied else "it is gone, or refuses",
            fix="see the grants in the guide `external-servers`, and the server's log",
        )

    def log_in(self) -> None:
        try:
            self.version = str(self.rows("SHOW server_version")[0][0])
        except pg8000.exceptions.DatabaseError as error:
            if state_of(error) in _REFUSED:
                raise Refused(message(error)) from None
            raise
        except pg8000.exceptions.InterfaceError as error:
            if "password" in str(error):  # it asks for one, and there is none
                raise Refused(str(error)) from None
            raise

    @answered(ERRORS)
    def uptime_s(self) -> float:
        row = self.rows("SELECT extract(epoch FROM now() - pg_postmaster_start_time())::float8")
        return float(row[0][0])

    def sees_all_sessions(self) -> bool:
        try:
            return bool(
                self.rows("SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')")[0][0]
            )
        except ERRORS:
            return False

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        session_sql = [*self._use(database), *resolved.session_sql]
        return self._engine_target(target, self.database, session_sql)

    def _use(self, schema: str) -> list[str]:
        """What makes a session find the tables of a schema, unless it is the database itself."""
        return [] if schema == self.database else [f"SET search_path TO {_quoted(schema)}"]

    @answered(ERRORS)
    def settle(self, database: str) -> None:
        """After loading: statistics, visibility map and hint bits of our own tables."""
        tables = self.rows(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE n.nspname = '{identifier(database)}' AND c.relkind IN ('r', 'p')"
        )
        vacuums = [f"VACUUM (ANALYZE) {_quoted(database)}.{_quoted(str(row[0]))}" for row in tables]
        self.run_in(self.database, vacuums, SETTLE_TIMEOUT_S)

    def importer(self, database: str, host: Host) -> Importer:
        """Not given: the database has other schemas too, and statements may name them (those of
        pg_dump do)."""
        raise DynoError(
            "files of SQL are not put into an external PostgreSQL",
            cause="what they name may lie outside of a schema of dbdyno's own",
            fix="declare `tables:`, or load the data yourself and use `data: {existing: SCHEMA}`",
        )

    def schemas(self) -> list[str]:
        rows = self.rows(
            "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' "
            "AND nspname <> 'information_schema' ORDER BY nspname"
        )
        return [str(row[0]) for row in rows]

    # ---- dbdyno's schemas

    @answered(ERRORS)
    def create_schema(self, database: str) -> None:
        assert self.mark is not None and database.startswith(f"{PREFIX}{self.mark.run}")
        name, mark = f'"{identifier(database)}"', self.mark
        found = self.marked().get(database)
        if found is not None and found.run == mark.run:
            return
        try:
            self.run_in(
                self.database,
                [
                    "BEGIN",
                    f"CREATE SCHEMA {name}",
                    f"CREATE TABLE {name}.{MARKER} (made_by text PRIMARY KEY, run text, "
                    "experiment text, made text, token text)",
                    f"INSERT INTO {name}.{MARKER} VALUES "
                    f"('dbdyno', '{mark.run}', '{mark.experiment}', '{mark.made}', '')",
                    "COMMIT",
                ],
                SETTLE_TIMEOUT_S,
            )
        except pg8000.exceptions.DatabaseError as error:
            if state_of(error) == "42P06":
                raise _not_ours(database) from None
            if state_of(error) == "42501":
                raise DynoError(
                    f"postgres at {self.place}: our role may not create schema {database}",
                    cause=message(error),
                    fix=f"GRANT CREATE ON DATABASE {self.database} TO the role, or use tables that "
                    "are there: `data: {existing: SCHEMA}`",
                ) from None
            raise

    @answered(ERRORS)
    def marked(self) -> dict[str, Mark]:
        schemas = self.rows(
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE c.relname = '{MARKER}' AND n.nspname LIKE 'dbdyno\\_%' "
            "AND pg_has_role(n.nspowner, 'USAGE')"
        )
        found = {}
        for (schema,) in schemas:
            rows = self.rows(
                f"SELECT run, experiment, made FROM {_quoted(str(schema))}.{MARKER} "
                "WHERE made_by = 'dbdyno'"
            )
            if rows:
                found[str(schema)] = Mark(*(str(value) for value in rows[0]))
        return found

    @answered(ERRORS)
    def drop_schema(self, schema: str, run: str) -> None:
        found = self.marked().get(schema)
        if found is None or found.run != run:
            raise _not_ours(schema)
        # CASCADE reaches the contents, and what others have attached to them meanwhile.
        self.run_in(self.database, [f"DROP SCHEMA {_quoted(schema)} CASCADE"], SETTLE_TIMEOUT_S)

    @answered(ERRORS)
    def put_token(self, schema: str, token: str) -> None:
        self.rows(f"UPDATE {_quoted(schema)}.{MARKER} SET token = '{token}'")

    def has_token(self, schema: str, token: str) -> bool:
        try:
            rows = self.rows(f"SELECT token FROM {_quoted(schema)}.{MARKER}")
        except pg8000.exceptions.DatabaseError as error:
            if state_of(error) in ("3F000", "42P01", "42501", "40001"):  # not there yet
                return False
            raise self.unanswered(error) from None
        return bool(rows) and rows[0][0] == token

    # ---- existing data

    def highest_id(self, schema: str, table: str) -> int:
        try:
            rows = self.run_in(
                schema,
                [
                    f"SELECT id, k, c, pad FROM {_quoted(table)} LIMIT 0",
                    f"SELECT max(id) FROM {_quoted(table)}",
                ],
            )
        except ERRORS as error:
            raise DynoError(f"table {schema}.{table} cannot be used: {message(error)}") from None
        return int(rows[0][0] or 0)

    # ---- settings

    def current_setting(self, name: str) -> Any:
        rows = self.rows(
            "SELECT setting, context, source, sourcefile FROM pg_settings "
            f"WHERE name = '{_setting(name)}'"
        )
        if not rows:
            raise self._unsettable(name, "the server does not know it")
        setting, when, source, file = rows[0]
        if when not in _RELOADABLE:
            raise self._unsettable(name, f"it is fixed while the server runs ({when})", fixed=True)
        if name in _LISTS_OF_NAMES:
            raise self._unsettable(name, "a list of names could not be restored exactly")
        if source in _HIDES:
            raise self._unsettable(name, f"the {source} sets it, which ALTER SYSTEM cannot change")
        if source == "configuration file" and file is None:
            raise self._unsettable(
                name,
                "our role may not see where its value comes from, so it could not be restored: "
                "GRANT pg_read_all_settings TO the role",
            )
        if not self.rows("SELECT has_function_privilege('pg_reload_conf()', 'EXECUTE')")[0][0]:
            raise self._unsettable(
                name, "GRANT EXECUTE ON FUNCTION pg_reload_conf() TO the role: it may not reload"
            )
        by_alter_system = str(file or "").endswith("postgresql.auto.conf")
        return {"value": setting, "by_alter_system": by_alter_system}

    def assign_setting(self, name: str, value: str) -> None:
        self._alter(name, f"SET {_setting(name)} = {literal(value)}")

    def restore_setting(self, name: str, old: Any) -> None:
        if old["by_alter_system"]:
            self._alter(name, f"SET {_setting(name)} = {literal(str(old['value']))}")
        else:
            self._alter(name, f"RESET {_setting(name)}")

    def _alter(self, name: str, action: str) -> None:
        try:
            self.rows(f"ALTER SYSTEM {action}")
            before = self._loaded_at()
            self.rows("SELECT pg_reload_conf()")
        except ERRORS as error:
            why = ""
            if state_of(error) == "42501":
                why = f"GRANT ALTER SYSTEM ON PARAMETER {_setting(name)} TO the role (15 or newer)"
            raise self._unsettable(name, why or message(error)) from None
        deadline = time.monotonic() + RELOAD_TIMEOUT_S
        while self._loaded_at() == before and time.monotonic() < deadline:
            time.sleep(0.02)
        self.close_connection()  # dyno's session takes the new value only between statements

    def _loaded_at(self) -> Any:
        """When a new session says that the configuration was last read."""
        with contextlib.suppress(*ERRORS):
            return self.run_in(self.database, ["SELECT pg_conf_load_time()::text"])[0][0]
        return None

    def _unsettable(self, name: str, why: str, *, fixed: bool = False) -> DynoError:
        return DynoError(
            f"postgres at {self.place}: `{name}` cannot be set",
            cause=why,
            fix="set it in the server's configuration, and restart it by `hooks:`; see "
            "`may.restart` in the guide `external-servers`"
            if fixed
            else "remove it from `config:`",
        )


def socket_file(login: Login) -> str | None:
    """The socket's own path: a URL may name its directory, as libpq has it."""
    if login.socket is None or Path(login.socket).name.startswith(".s.PGSQL."):
        return login.socket
    return str(Path(login.socket) / f".s.PGSQL.{login.port}")


def state_of(error: Exception) -> str:
    """The SQLSTATE of a server's error, or empty."""
    first = error.args[0] if error.args else None
    return str(first.get("C", "")) if isinstance(first, dict) else ""


def literal(value: str) -> str:
    """A string that means the same whatever standard_conforming_strings says."""
    plain = "'" + value.replace("'", "''") + "'"
    return " E" + plain.replace("\\", "\\\\") if "\\" in value else plain


def _setting(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name):
        raise DynoError(f"{name!r} cannot be a setting's name", fix="correct it in `config:`")
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _not_ours(schema: str) -> DynoError:
    return DynoError(
        f"postgres: schema {schema!r} was not made by this run",
        cause="it belongs to someone else, or to another run",
        fix=f"look at its table {MARKER}, if it has one",
    )
