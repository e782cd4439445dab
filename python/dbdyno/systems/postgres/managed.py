"""A PostgreSQL that we started: login, settings asked for, databases, stop.

Queries of any such server are in `postgrescontrol`. Source: RFC 5803 on what is stored for a
password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any

import pg8000.exceptions
import pg8000.native

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Resolved, TargetPlan, engine_target
from dbdyno.systems.logins.policy import LoginRules
from dbdyno.systems.logins.postgres import connect
from dbdyno.systems.postgres import sql_files
from dbdyno.systems.postgres.control import ERRORS, PostgresControl, identifier, message
from dbdyno.systems.process import starting
from dbdyno.systems.process.managed import Managed, Started
from dbdyno.systems.process.starting import SETTLE_TIMEOUT_S
from dbdyno.systems.server_errors import answered, lost
from dbdyno.systems.sql_files import Importer

USER = "dyno"
MARK = "made by dbdyno"  # comment of dbdyno's databases
SCRAM_ITERATIONS = 4096  # PostgreSQL's own default


def scram_verifier(password: str, *, salt: bytes | None = None) -> str:
    """What PostgreSQL stores for a password (RFC 5803), so that the password itself is not sent."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, SCRAM_ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    b64 = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{b64[0]}${b64[1]}:{b64[2]}"


class PostgresServer(PostgresControl, Managed):
    """A running PostgreSQL server that we started. Its end (a fast shutdown) ends sessions and
    checkpoints everything."""

    def __init__(self, started: Started) -> None:
        PostgresControl.__init__(self, "postgres")
        Managed.__init__(self, started)

    def importer(self, database: str, host: Host) -> Importer:
        where = {"PGHOST": str(self.socket_path.parent), "PGPORT": str(self.port), "PGUSER": USER}
        # The kernel says who we are: no password.
        return sql_files.importer(host, self.client_places, where, "", database)

    @staticmethod
    def socket_name(port: int) -> str:
        """See `Managed.socket_name`."""
        return f".s.PGSQL.{port}"

    @answered(ERRORS)
    def wait_until_ready(self) -> None:
        """Returns after a first real login; DynoError with the log's end if the server dies."""
        starting.until_ready(
            "PostgreSQL", self.process, self._log, _HINTS, self._log_in, ERRORS, message
        )
        # A standby has the password of its primary.
        if not self.rows("SELECT pg_is_in_recovery()")[0][0]:
            verifier = scram_verifier(self._password)
            # Its standbys, which it may wait for otherwise, come later.
            local = "SET synchronous_commit = local"
            self.run_in("postgres", [local, f"ALTER ROLE {USER} PASSWORD '{verifier}'"])

    def _log_in(self) -> None:
        self.version = str(self.rows("SHOW server_version")[0][0])

    def unanswered(self, error: Exception) -> DynoError:
        return lost("postgres", self, error)

    def _connect(self, database: str, timeout_s: int) -> pg8000.native.Connection:
        return connect(
            LoginRules(str(self.socket_path), USER),
            password="",
            database=database,
            timeout_s=timeout_s,
            tls="off",
            unix_sock=str(self.socket_path),
        )

    @answered(ERRORS)
    def check_settings(self, resolved: Resolved) -> None:
        """Every setting asked for is what the server says; see `verify`."""
        self.check_asked(resolved.settings)
        for statement in resolved.session_sql:
            level = self.run_in("postgres", [statement, "SHOW transaction_isolation"])[0][0]
            if str(level).upper() not in statement:
                raise DynoError(f"postgres: `{statement}` gave isolation level {level}")

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        return engine_target(
            target,
            "postgres",
            self._address(target, self.port),
            database,
            user=USER,
            password=self._password,
            tls=self._certificate.engine_tls(target.tls),
            session_sql=resolved.session_sql,
        )

    @answered(ERRORS)
    def create_schema(self, database: str) -> None:
        """A database of that name, marked by its comment."""
        name = identifier(database)
        there = self.rows(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database "
            f"WHERE datname = '{name}'"
        )
        if not there:
            self.run_in("postgres", [f'CREATE DATABASE "{name}"'], SETTLE_TIMEOUT_S)
            self.rows(f"COMMENT ON DATABASE \"{name}\" IS '{MARK}'")
        elif there[0][0] != MARK:
            raise DynoError(
                f"postgres: database {database!r} is there and was not made by dyno",
                cause="it belongs to the server or to someone else",
                fix="choose another name",
            )

    @answered(ERRORS)
    def settle(self, database: str) -> None:
        """After loading: statistics, visibility map and hint bits, as autovacuum would in time."""
        # Rows of a commit whose log is not flushed yet get no hint bits, and their pages no marks;
        # nor do those of a commit next to one, such as VACUUM's own.
        flushed = ["SET synchronous_commit = on", "CHECKPOINT"]
        self.run_in(database, [*flushed, "VACUUM (ANALYZE)", "CHECKPOINT"], SETTLE_TIMEOUT_S)


# (pattern in the log, likely cause, next step)
_HINTS = (
    (
        r"unrecognized configuration parameter \"([^\"]+)\"",
        r"this version does not know the setting `\1`",
        r"correct or remove `\1` in `config:`",
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
        r"remove `\1` from `config:`",
    ),
    (
        r"could not bind [^\n]*Address already in use",
        "the port is in use by another server",
        "remove `port`: dyno then chooses a free one",
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
