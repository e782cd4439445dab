"""`dyno check` beside writers: it waits for none of their locks, and they for none of its."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from private_servers import SERVERS
from running import wait_for
from servers_there import There, there
from test_check import check, lacking

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts, version_of
from dbdyno.facts.schema.bounds import STATEMENTS
from dbdyno.facts.servers import mysql, postgres
from dbdyno.facts.servers.query import Query

# What `app` may not see, for want of a right and not of time.
DENIED = {
    "mariadb": {
        *(
            "accounts",
            "replicas",
            "tablespace_encryption",
            "account_tls",
            "session_tls",
            "table_files",
        ),
        "index_sizes",
    },
    "mysql": {
        *(
            "accounts",
            "replicas",
            "tablespace_encryption",
            "account_tls",
            "session_tls",
            "table_files",
        ),
        *("keyring", "tls_channels", "index_sizes", "index_usage", "statements"),
        "statements_total",
    },
    "postgres": {"role_hashes", "hba"},
}
# A writer that gives up where a lock is held for good, and not where the server's own threads have
# one for a moment; and what it does to the two tables.
IMPATIENT = {
    "mariadb": ("SET lock_wait_timeout = 20", "SET innodb_lock_wait_timeout = 20"),
    "mysql": ("SET lock_wait_timeout = 20", "SET innodb_lock_wait_timeout = 20"),
    "postgres": ("SET lock_timeout = '20s'",),
}
WRITES = (
    "UPDATE sbtest1 SET k = k + 1",
    "ALTER TABLE sbtest1 ADD COLUMN extra int",
    "CREATE INDEX more ON sbtest1 (k)",
    "DROP TABLE sbtest2",
)


class Session:
    """A session of the server's owner."""

    def __init__(self, server: There) -> None:
        self._kind = server.kind
        self._connection = server.server._connect("shop", 60)

    def ask(self, sql: str) -> Any:
        if self._kind == "postgres":
            return self._connection.run(sql)
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def sessions(server: There, count: int) -> Iterator[list[Session]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Session(server))) for _ in range(count)]


def asked(server: There) -> list[Query]:
    module = postgres if server.kind == "postgres" else mysql
    version = version_of(str(server.sql("SELECT version()")[0][0]))
    known = Facts("s", "server", server.kind, version)
    absent = STATEMENTS if server.kind == "postgres" else ()  # an extension that is not created
    return [
        query
        for query in module.QUERIES
        if applies.matches(query.applies, known) and query.table not in absent
    ]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    with there(request.param) as made:
        yield made


def held(kind: str, reader: Session, other: Session) -> list[Any]:
    """Locks on users' tables and rows that the reader's transaction has."""
    if kind == "postgres":
        [[pid]] = reader.ask("SELECT pg_backend_pid()")
        return list(
            other.ask(
                "SELECT relname, mode FROM pg_locks LEFT JOIN pg_class c ON c.oid = relation"
                f" WHERE pid = {pid} AND (mode NOT IN ('AccessShareLock', 'ExclusiveLock')"
                " OR relnamespace = 'public'::regnamespace)"
            )
        )
    [[pid]] = reader.ask("SELECT connection_id()")
    rows = list(
        other.ask(
            "SELECT trx_rows_locked FROM information_schema.innodb_trx"
            f" WHERE trx_mysql_thread_id = {pid} AND trx_rows_locked > 0"
        )
    )
    if kind == "mysql":
        rows += other.ask(
            "SELECT object_name, lock_type FROM performance_schema.metadata_locks l JOIN"
            " performance_schema.threads t ON t.thread_id = l.owner_thread_id"
            f" WHERE t.processlist_id = {pid} AND object_schema = 'shop'"
        )
    return rows


@contextmanager
def writing(server: There) -> Iterator[None]:
    """Row locks, a table that is locked whole, and an ALTER that waits for the row locks' owner, so
    that whoever asks for the table's metadata lock later waits too."""
    kind = server.kind
    with sessions(server, 3) as (rows, table, changing):
        rows.ask("BEGIN" if kind == "postgres" else "START TRANSACTION")
        rows.ask("UPDATE sbtest1 SET k = k + 1")
        if kind == "postgres":
            table.ask("BEGIN")
            table.ask("LOCK TABLE sbtest2 IN ACCESS EXCLUSIVE MODE")
        else:
            table.ask("LOCK TABLES sbtest2 WRITE")
        alter = threading.Thread(
            target=changing.ask, args=("ALTER TABLE sbtest1 ADD COLUMN more int",)
        )
        alter.start()
        try:
            assert wait_for(lambda: waiting(server))
            yield
            assert waiting(server)
        finally:
            rows.ask("ROLLBACK")
            alter.join()


def waiting(server: There) -> bool:
    """Whether the ALTER waits."""
    if server.kind == "postgres":
        return server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] == 1
    states = [str(row[6]) for row in server.sql("SHOW PROCESSLIST")]
    return states.count("Waiting for table metadata lock") == 1


def test_a_check_reads_all_its_facts_while_writers_hold_their_locks(server: There) -> None:
    with writing(server):
        document = check(server.url, "--json", "--memory", "16Gi")
    assert lacking(document) == DENIED[server.kind]


def test_no_statement_takes_a_lock_that_a_writer_waits_for(server: There) -> None:
    """All in one transaction that stays open: a writer would wait for what any of them took."""
    kind = server.kind
    with sessions(server, 2) as (reader, writer):
        confine = postgres.SESSION if kind == "postgres" else mysql.SESSION[kind]
        for statement in (*confine, "BEGIN" if kind == "postgres" else "START TRANSACTION"):
            reader.ask(statement)
        for query in asked(server):
            reader.ask(query.sql)
        assert held(kind, reader, writer) == []
        for statement in (*IMPATIENT[kind], *WRITES):
            writer.ask(statement)


def test_a_lock_on_a_catalogue_ends_one_statement_and_no_more() -> None:
    """The limit: what is locked away is not known, and says why."""
    with there("postgres") as server, sessions(server, 1) as [other]:
        other.ask("BEGIN")
        other.ask("LOCK TABLE pg_extension IN ACCESS EXCLUSIVE MODE")
        document = check(server.url, "--json", "--memory", "16Gi")
    missing = document["subjects"][0]["missing"]
    assert {*missing} - {*STATEMENTS} == {*DENIED["postgres"], "extensions"}
    assert "lock timeout" in missing["extensions"]
