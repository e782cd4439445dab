"""A MariaDB or MySQL that we started: login, settings asked for, schema, stop.

Queries of any such server are in `mysqlcontrol`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, TargetPlan, engine_target
from dbdyno.systems.logins.mysql import connect
from dbdyno.systems.logins.policy import TAKE_KEY, LoginRules
from dbdyno.systems.mysql.control import ERRORS, SYSTEM_SCHEMAS, MysqlControl, identifier
from dbdyno.systems.process import starting
from dbdyno.systems.process.managed import Managed, Started
from dbdyno.systems.server_errors import answered, lost

USER = "dyno"
MARKER = "dbdyno_marker"


@dataclass(frozen=True)
class Family:
    """How one member of the family is laid out and spoken to."""

    kind: str
    isolation_variable: str
    # base directory of the binaries -> settings that a relocated server needs
    own_settings: Callable[[Binaries], dict[str, str]]
    # password -> statements of the init file
    login_sql: Callable[[str], list[str]]


class MysqlServer(MysqlControl, Managed):
    """A running MariaDB or MySQL server that we started. Its end (innodb_fast_shutdown=1) writes
    dirty pages and leaves nothing to recover."""

    def __init__(self, family: Family, started: Started) -> None:
        MysqlControl.__init__(self, family.kind)
        Managed.__init__(self, started)
        self.family = family

    def _client_options(self) -> tuple[Sequence[Path], Mapping[str, str]]:
        socket = str(self.socket_path)
        return self.client_places, {"user": USER, "password": self._password, "socket": socket}

    def _connect(self, database: str | None, timeout_s: int) -> pymysql.Connection[Any]:
        return connect(
            LoginRules(str(self.socket_path), USER),
            password=self._password,
            database=database,
            timeout_s=timeout_s,
            unix_socket=str(self.socket_path),
            # Nobody listens in; and PyMySQL reads all authorities of the machine for each context.
            ssl_disabled=True,
        )

    def unanswered(self, error: Exception) -> DynoError:
        return lost("the server", self, error)

    @staticmethod
    def socket_name(port: int) -> str:
        """See `Managed.socket_name`."""
        return "s"

    @answered(ERRORS)
    def wait_until_ready(self) -> None:
        """Returns after a first real login; DynoError with the log's end if the server dies."""
        starting.until_ready(
            self.family.kind, self.process, self._log, _HINTS, self._log_in, ERRORS
        )
        (self.socket_path.parent / "init.sql").unlink(missing_ok=True)

    def _log_in(self) -> None:
        self.version = str(self.rows("SELECT VERSION()")[0][0])

    @answered(ERRORS)
    def check_settings(self, resolved: Resolved) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        self.check_asked(resolved.settings)
        for statement in resolved.session_sql:
            self.rows(statement)
            level = str(self.rows(f"SELECT @@{self.family.isolation_variable}")[0][0])
            if level.replace("-", " ") not in statement:
                raise DynoError(f"{self.family.kind}: `{statement}` gave isolation level {level}")
        self.close_connection()

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        return engine_target(
            target,
            "mysql",
            self._address(target, self.port),
            database,
            user=USER,
            password=self._password,
            tls=self._certificate.engine_tls(target.tls),
            rules=self._engine_rules(),
            session_sql=resolved.session_sql,
        )

    def _engine_rules(self) -> dict[str, Any]:
        """MySQL asks for the password under its key where it does not know the proof yet. The
        server is managed, and its password was drawn for this start alone."""
        rules = LoginRules("", USER, server_key=TAKE_KEY)
        return rules.engine() if self.family.kind == "mysql" else {}

    @answered(ERRORS)
    def create_schema(self, database: str) -> None:
        name = identifier(database)
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


# (pattern in the log, likely cause, next step)
_HINTS = (
    (
        r"unknown (?:variable|option) '-{0,2}([^'=]+)",
        r"this version does not know the setting `\1`",
        r"correct or remove `\1` in `config:`",
    ),
    (
        r"Error while setting value '?([^' ]*)'? to '([^']+)'",
        r"the value `\1` is not allowed for `\2`",
        r"see the manual's page on `\2` for allowed values",
    ),
    (
        r"Address already in use|Do you already have another (?:mysqld|server)",
        "the port is in use by another server",
        "remove `port`: dyno then chooses a free one",
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
