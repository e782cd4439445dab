"""An external MariaDB or MySQL.

Sources: the two manuals' pages on SET, SHOW REPLICA STATUS and its older names, and error codes.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pymysql.cursors

from dbdyno.errors import DynoError
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.external.base import External
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.encryption import context, default_authorities
from dbdyno.systems.external.server import MARKER, PREFIX, Mark, Refused
from dbdyno.systems.logins.mysql import connect
from dbdyno.systems.logins.policy import TAKE_KEY
from dbdyno.systems.mysql import confined
from dbdyno.systems.mysql.control import ERRORS, MysqlControl, identifier, quoted, quoted_name
from dbdyno.systems.process.starting import SETTLE_TIMEOUT_S
from dbdyno.systems.server_errors import answered, understood
from dbdyno.systems.sql_files import Importer

_REFUSED = (1045, 1698, 1251, 2059)  # wrong password, wrong plug-in
_WRONG_TYPE = 1232
_NOT_NOW = {  # error code -> why a setting cannot be changed
    1193: "the server does not know it",
    1238: "it is fixed while the server runs",
    1229: "it belongs to sessions, not to the server",
    1228: "it belongs to sessions, not to the server",
    1231: "the server does not allow this value",
    1227: "our user may not: it needs SYSTEM_VARIABLES_ADMIN (MySQL 8), or SUPER or the privilege "
    "that the manual names for this variable (MariaDB)",
}


@understood
class MysqlRemote(MysqlControl, External):
    """See the module."""

    driver = "mysql"

    def __init__(self, kind: str, url: ServerUrl, login: Login, tls: str) -> None:
        MysqlControl.__init__(self, kind)
        External.__init__(self, url, login, tls)

    def _connect(self, database: str | None, timeout_s: int) -> pymysql.Connection[Any]:
        where: dict[str, Any] = {"host": self._login.host, "port": self._login.port}
        if self._login.socket is not None:
            where = {"unix_socket": self._login.socket}
        return connect(
            self._login.rules(self.place),
            password=self._login.password,
            database=database,
            timeout_s=timeout_s,
            **where,
            **_encryption(self._tls),
        )

    def _client_options(self) -> tuple[Sequence[Path], Mapping[str, str]]:
        login = self._login
        where = {"host": login.host, "port": str(login.port), "protocol": "tcp"}
        if login.socket is not None:
            where = {"socket": login.socket}
        return (), {
            **where,
            "user": login.user,
            "password": login.password,
            **_client_encryption(self._tls),
            # MySQL's client alone asks before it gives more than a proof.
            **({"loose-enable-cleartext-plugin": "1"} if login.cleartext else {}),
            **({"loose-get-server-public-key": "1"} if login.server_key == TAKE_KEY else {}),
        }

    def importer(self, database: str, host: Host) -> Importer:
        return confined.OneSchema(super().importer(database, host))

    def unanswered(self, error: Exception) -> DynoError:
        return DynoError(
            f"{self.kind} at {self.place}: {error}",
            cause="our user has no privilege for it" if _code(error) < 2000 else "it is gone",
            fix="see the grants in the guide `external-servers`, and the server's log",
        )

    def log_in(self) -> None:
        try:
            self.version = str(self.rows("SELECT VERSION()")[0][0])
        except pymysql.OperationalError as error:
            if _code(error) in _REFUSED:
                raise Refused(error.args[1]) from None
            raise
        self.kind = "mariadb" if "mariadb" in self.version.lower() else "mysql"

    @answered(ERRORS)
    def uptime_s(self) -> float:
        return float(self.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")[0][1])

    def sees_all_sessions(self) -> bool:
        try:
            grants = [str(row[0]).upper() for row in self.rows("SHOW GRANTS")]
        except ERRORS:
            return False
        return any(
            "ON *.*" in grant and ("PROCESS" in grant or "ALL PRIVILEGES" in grant)
            for grant in grants
        )

    # ---- dbdyno's schemas

    @answered(ERRORS)
    def create_schema(self, database: str) -> None:
        assert self.mark is not None and database.startswith(f"{PREFIX}{self.mark.run}")
        name = identifier(database)
        mark = self.mark
        found = self.marked().get(database)
        if found is not None and found.run == mark.run:
            return
        # An empty one of just this name is what a run killed between two statements leaves.
        if self._tables(database):
            raise _not_ours(self.kind, database)
        try:
            self.rows(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb4")
        except pymysql.OperationalError as error:
            if _code(error) in (1044, 1227):
                raise DynoError(
                    f"{self.kind} at {self.place}: our user may not create schema {database}",
                    cause=str(error.args[1]),
                    fix=f"GRANT ALL ON `{PREFIX.replace('_', chr(92) + '_')}%`.* TO the user, or "
                    "use existing tables: `data: {existing: SCHEMA}`",
                ) from None
            raise
        self.rows(
            f"CREATE TABLE {name}.{MARKER} (made_by VARCHAR(16) NOT NULL PRIMARY KEY, "
            "run VARCHAR(64), experiment VARCHAR(200), made VARCHAR(40), token VARCHAR(64))"
        )
        self.rows(
            f"INSERT INTO {name}.{MARKER} VALUES "
            f"('dbdyno', '{mark.run}', '{mark.experiment}', '{mark.made}', '')"
        )

    def _tables(self, database: str) -> list[tuple[Any, ...]]:
        return self.rows(
            f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'"
        )

    @answered(ERRORS)
    def marked(self) -> dict[str, Mark]:
        schemas = self.rows(
            "SELECT table_schema FROM information_schema.tables "
            f"WHERE table_name = '{MARKER}' AND table_schema LIKE 'dbdyno\\_%'"
        )
        found = {}
        for (schema,) in schemas:
            name = f"{identifier(str(schema))}.{MARKER}"
            rows = self.rows(f"SELECT run, experiment, made FROM {name} WHERE made_by = 'dbdyno'")
            if rows:
                found[str(schema)] = Mark(*(str(value) for value in rows[0]))
        return found

    @answered(ERRORS)
    def drop_schema(self, schema: str, run: str) -> None:
        found = self.marked().get(schema)
        if found is None or found.run != run:
            raise _not_ours(self.kind, schema)
        # Large tables take their time, more than the control connection is given.
        with closing(self._connect(None, SETTLE_TIMEOUT_S)) as connection:
            connection.query(f"DROP DATABASE {identifier(schema)}")

    @answered(ERRORS)
    def put_token(self, schema: str, token: str) -> None:
        self.rows(f"UPDATE {identifier(schema)}.{MARKER} SET token = '{token}'")

    def has_token(self, schema: str, token: str) -> bool:
        try:
            rows = self.rows(f"SELECT token FROM {identifier(schema)}.{MARKER}")
        except pymysql.err.ProgrammingError:  # it is not there yet
            return False
        except pymysql.OperationalError as error:
            if _code(error) in (1044, 1049, 1142):
                return False
            raise self.unanswered(error) from None
        return bool(rows) and rows[0][0] == token

    # ---- existing data

    def highest_id(self, schema: str, table: str) -> int:
        name = f"{quoted_name(schema)}.{quoted_name(table)}"
        try:
            self.rows(f"SELECT id, k, c, pad FROM {name} LIMIT 0")
            highest = self.rows(f"SELECT MAX(id) FROM {name}")[0][0]
        except ERRORS as error:
            raise DynoError(f"table {schema}.{table} cannot be used: {_text(error)}") from None
        return int(highest or 0)

    # ---- settings

    def current_setting(self, name: str) -> Any:
        try:
            value = self.rows(f"SELECT @@GLOBAL.{identifier(name)}")[0][0]
        except pymysql.Error as error:
            raise self._unsettable(name, error) from None
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        return float(value) if isinstance(value, decimal.Decimal) else value

    def assign_setting(self, name: str, value: str) -> None:
        number = portable_options.number(value)
        literal = quoted(value)
        if number is not None:
            literal = str(int(number)) if number.is_integer() else repr(number)
        try:
            try:
                self.rows(f"SET GLOBAL {identifier(name)} = {literal}")
            except pymysql.Error as error:
                if _code(error) != _WRONG_TYPE or number is None:
                    raise
                self.rows(f"SET GLOBAL {identifier(name)} = {quoted(value)}")
        except pymysql.Error as error:
            raise self._unsettable(name, error) from None

    def restore_setting(self, name: str, old: Any) -> None:
        literal = "NULL" if old is None else quoted(old) if isinstance(old, str) else repr(old)
        try:
            self.rows(f"SET GLOBAL {identifier(name)} = {literal}")
        except pymysql.Error as error:
            raise self._unsettable(name, error) from None

    def _unsettable(self, name: str, error: Exception) -> DynoError:
        why = _NOT_NOW.get(_code(error), "")
        return DynoError(
            f"{self.kind} at {self.place}: `{name}` cannot be set: {_text(error)}",
            cause=why,
            fix="remove it from `config:`"
            if _code(error) != 1238
            else "set it in the server's configuration, and restart it by `hooks:`; see "
            "`may.restart` in the guide `external-servers`",
        )


def _encryption(word: str) -> dict[str, Any]:
    """PyMySQL's arguments. Given a context it insists on TLS; given nothing it prefers it."""
    if word == "off":
        return {"ssl_disabled": True}
    if word == "prefer":
        return {}
    return {"ssl": context(word)}


def _client_encryption(word: str) -> dict[str, str]:
    """For an option file. Of each pair MySQL's client knows the one and MariaDB's the other."""
    if word == "prefer":
        return {}
    if word == "off":
        return {"loose-ssl-mode": "DISABLED", "loose-ssl": "0"}
    if word == "require":
        return {"loose-ssl-mode": "REQUIRED", "loose-ssl": "1"}
    authority = word.removeprefix("ca:") if word.startswith("ca:") else default_authorities()
    return {
        "loose-ssl-mode": "VERIFY_IDENTITY",
        "loose-ssl-verify-server-cert": "1",
        "ssl-ca": authority,
    }


def _not_ours(kind: str, schema: str) -> DynoError:
    return DynoError(
        f"{kind}: schema {schema!r} was not made by this run",
        cause="it belongs to someone else, or to another run",
        fix="look at its table dbdyno_marker, if it has one",
    )


def _code(error: Exception) -> int:
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def _text(error: Exception) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)
