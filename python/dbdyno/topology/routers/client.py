"""How it is seen that sessions through a router reach the node that takes writes."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from dbdyno import kinds
from dbdyno.systems.logins.policy import LoginRules
from dbdyno.systems.logins.postgres import connect
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.base import LOOK_TIMEOUT_S
from dbdyno.topology.routers.base import Ask, Front, Rows

DATABASE = "postgres"
# pgpool sends what begins with such a comment to the primary, whatever it is.
LEADING_SQL = "/*NO LOAD BALANCE*/ SELECT pg_is_in_recovery() AS recovers"


def session(port: int, user: str, password: str, database: str, timeout_s: int) -> Any:
    """A connection to PostgreSQL through a router."""
    return connect(
        LoginRules(f"{LOOPBACK}:{port}", user),
        password=password,
        database=database,
        timeout_s=timeout_s,
        tls="off",
        host=LOOPBACK,
        port=port,
    )


def ask(port: int, user: str, password: str, sql: str) -> Rows:
    """Rows of one statement, by the names of their columns."""
    connection = session(port, user, password, DATABASE, LOOK_TIMEOUT_S)
    with contextlib.closing(connection):
        found = connection.execute_simple(sql)
        names = [str(column["name"]) for column in found.columns or ()]
        return [dict(zip(names, row, strict=True)) for row in found.rows or ()]


def unreached(language: str, front: Front, asked: Ask) -> str:
    """Why no session reaches a server through a router; empty if one does."""
    if language != kinds.POSTGRES:
        return _silent(front.port)
    rows = asked(LEADING_SQL)
    return "" if rows and not rows[0]["recovers"] else "sessions reach a standby"


def _silent(port: int) -> str:
    """A server of MySQL's language greets who connects; a router without a server hangs up."""
    with socket.create_connection((LOOPBACK, port), LOOK_TIMEOUT_S) as connection:
        connection.settimeout(LOOK_TIMEOUT_S)
        return "" if connection.recv(1) else "no server behind it greets"
