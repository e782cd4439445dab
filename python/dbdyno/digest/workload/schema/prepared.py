"""Statements that a server refuses: it is asked to prepare each, which runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import pg8000.exceptions
import pymysql

from dbdyno.digest.workload.schema.findings import FINDINGS_MAX, Sent
from dbdyno.experiment.targets import sqltext
from dbdyno.systems.mysql.control import ERRORS as MYSQL_ERRORS
from dbdyno.systems.mysql.control import quoted_name
from dbdyno.systems.mysql.external import MysqlRemote, quoted
from dbdyno.systems.postgres.control import ERRORS as POSTGRES_ERRORS
from dbdyno.systems.postgres.control import message
from dbdyno.systems.postgres.external import PostgresRemote
from dbdyno.systems.server_errors import understanding

STATEMENTS_MAX = 400
NAME = "dyno_prepared"
SERVERS_FIRST, CLIENTS = 1000, range(2000, 3000)  # numbers of errors of servers, and clients
PREPARED = ("select", "insert", "update", "delete", "replace", "with", "values")


def refused(
    server: MysqlRemote | PostgresRemote, schema: str, group: str, sent: Sequence[Sent]
) -> list[str]:
    """A sentence for each statement that cannot be prepared."""
    texts = {one.sql: one for one in sent if sqltext.keyword(one.sql) in PREPARED}
    chosen = [*texts.values()][:STATEMENTS_MAX]
    with understanding(server.place, "whether it takes a statement"):
        try:
            if isinstance(server, PostgresRemote):
                found = list(islice(_postgres(server, schema, chosen), FINDINGS_MAX))
            else:
                found = list(islice(_mysql(server, schema, chosen), FINDINGS_MAX))
        except (*MYSQL_ERRORS, *POSTGRES_ERRORS) as error:
            raise server.unanswered(error) from None
    return [f"group `{group}`, {one.path}: it will fail: {why[:200]}" for one, why in found]


def _mysql(server: MysqlRemote, schema: str, sent: Sequence[Sent]) -> Iterator[tuple[Sent, str]]:
    server.rows(f"USE {quoted_name(schema)}")
    for one in sent:
        sql = sqltext.replaced(one.sql, lambda _: "?")
        try:
            server.rows(f"PREPARE {NAME} FROM {quoted(sql)}")
            server.rows(f"DEALLOCATE PREPARE {NAME}")
        except (pymysql.ProgrammingError, pymysql.OperationalError, pymysql.DataError) as error:
            code = error.args[0] if error.args else 0
            if not isinstance(code, int) or code < SERVERS_FIRST or code in CLIENTS:
                raise  # the connection broke
            yield one, str(error.args[-1])


def _postgres(
    server: PostgresRemote, schema: str, sent: Sequence[Sent]
) -> Iterator[tuple[Sent, str]]:
    server.rows('SET search_path TO "' + schema.replace('"', '""') + '", public')
    for one in sent:
        if ";" in one.sql:
            continue  # the text after one would be run, even if it seems quoted
        numbers = {name: f"${n}" for n, name in enumerate(sqltext.parameters(one.sql), start=1)}
        sql = sqltext.replaced(one.sql, numbers.__getitem__)
        try:
            server.rows(f"PREPARE {NAME} AS {sql}")
            server.rows(f"DEALLOCATE {NAME}")
        except pg8000.exceptions.DatabaseError as error:
            yield one, message(error)
