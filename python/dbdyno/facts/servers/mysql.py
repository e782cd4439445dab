"""Facts of a running MySQL or MariaDB.

Sources: the two manuals' pages on SHOW VARIABLES, SHOW STATUS, max_execution_time,
max_statement_time, and the tables of information_schema. No statement reads data of users.
"""

from __future__ import annotations

import pymysql

from dbdyno.facts import applies
from dbdyno.facts.fact import STATUS, Facts, version_of
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.schema import workload
from dbdyno.facts.servers import mysql_accounts as accounts
from dbdyno.facts.servers import mysql_encryption as encryption
from dbdyno.facts.servers import mysql_replication as replication
from dbdyno.facts.servers import mysql_schema as schema
from dbdyno.facts.servers import mysql_space as space
from dbdyno.facts.servers import mysql_tables
from dbdyno.facts.servers.query import TIMEOUT_S, Query
from dbdyno.systems.mysql.external import MysqlRemote

SESSION = {
    "mysql": (
        f"SET SESSION max_execution_time = {TIMEOUT_S * 1000}",
        "SET SESSION lock_wait_timeout = 1",
        "SET SESSION TRANSACTION READ ONLY",
    ),
    "mariadb": (
        f"SET SESSION max_statement_time = {TIMEOUT_S}",
        "SET SESSION lock_wait_timeout = 1",
        "SET SESSION TRANSACTION READ ONLY",
    ),
}
VARIABLES, COUNTERS = "SHOW GLOBAL VARIABLES", "SHOW GLOBAL STATUS"
QUERIES = (
    Query(
        "plugins",
        "SELECT plugin_name, plugin_status, plugin_type FROM information_schema.plugins",
        ("mysql", "mariadb"),
    ),
    Query(  # what waits for the query cache; states are the server's words, without statements
        "session_states",
        "SELECT state, COUNT(*) AS sessions FROM information_schema.processlist GROUP BY state",
        ("mysql <8.0.3", "mariadb"),
    ),
    Query(
        "engines_in_use",
        "SELECT engine, COUNT(*) AS tables FROM information_schema.tables WHERE table_type ="
        " 'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys', 'information_schema',"
        " 'performance_schema') GROUP BY engine",
        ("mysql", "mariadb"),
    ),
    *accounts.QUERIES,
    *encryption.QUERIES,
    *replication.QUERIES,
    *space.QUERIES,
    *schema.QUERIES,
)


def read(server: MysqlRemote, found: Gathered, *, statements: bool) -> Facts:
    """All facts. DynoError if it does not answer at all; what it refuses is missing. `statements`:
    statement classes too, without their literals."""
    _confine(server, found)
    try:
        for name, value in server.rows(VARIABLES):
            found.setting(str(name).lower(), value, VARIABLES)
        for name, value in server.rows(COUNTERS):
            found.add(f"{STATUS}.{str(name).lower()}", value, COUNTERS)
    except pymysql.Error as error:
        raise server.unanswered(error) from None
    version = version_of(server.version)
    known = found.facts(server.place, "server", server.kind, version)
    for query in QUERIES:
        if not applies.matches(query.applies, known):
            continue
        reason = schema.not_asked(query.table, known, statements)
        if reason:
            found.lacks(query.table, reason)
            continue
        try:
            rows = server.records(query.sql)
        except pymysql.Error as error:
            found.lacks(query.table, str(error.args[-1]))
            continue
        small = [_small(row) for row in rows]
        if query.table == "replicas":
            small = [replication.kept(row) for row in small]
        if query.table == "statements":
            small = workload.kept(small, server.kind, found)
        found.table(query.table, small, query.sql)
    return known


def read_late(server: MysqlRemote, found: Gathered, known: Facts) -> None:
    """What it has executed by now, after all other servers were read, and of a replica the GTIDs
    with which its binary logs begin."""
    _confine(server, found)
    for name in replication.LATE[server.kind]:
        sql = f"SELECT @@GLOBAL.{name}"
        try:
            found.add(f"late.{name}", server.rows(sql)[0][0], sql)
        except pymysql.Error as error:
            found.lacks(f"late.{name}", str(error.args[-1]))
    replicas = known.tables.get("replicas")
    if replicas is not None and replicas.rows:
        try:
            headers = list(replication.headers(server.rows, server.records))
            found.table("binlog_headers", headers, replication.LOGS)
        except pymysql.Error as error:
            found.lacks("binlog_headers", str(error.args[-1]))


def _confine(server: MysqlRemote, found: Gathered) -> None:
    for statement in SESSION[server.kind]:
        try:
            server.rows(statement)
        except pymysql.Error as error:  # before 5.7.8 and 10.1 there is no such variable
            found.lacks(statement, str(error.args[-1]))


def counters(server: MysqlRemote) -> dict[str, str]:
    """The counters alone, once more."""
    try:
        return {str(name).lower(): str(value) for name, value in server.rows(COUNTERS)}
    except pymysql.Error as error:
        raise server.unanswered(error) from None


def table_counts(server: MysqlRemote) -> tuple[mysql_tables.Counts, str]:
    """Counters of tables and the statement that told them; none where the server keeps none."""
    known = Gathered().facts(server.place, "server", server.kind, version_of(server.version))
    for query in mysql_tables.QUERIES:
        if not applies.matches(query.applies, known):
            continue
        try:
            if found := mysql_tables.counts(server.rows(query.sql)):
                return found, query.sql
        except pymysql.Error:  # no such table, or no right to it: as if nothing were counted
            continue
    return {}, ""


def _small(row: dict[str, object]) -> dict[str, object]:
    return {name.lower(): _plain(value) for name, value in row.items()}


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
