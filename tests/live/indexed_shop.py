"""A shop on each server that the rules on indexes are for, and how its plans are looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from private_servers import patient, running
from running import wait_for
from servers_there import PASSWORD

from dbdyno import systems
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.scratch import Scratch
from needed import missing

ROOT = Path(__file__).parents[2]
SERVERS = ("mariadb", "mariadb-11.8", "mysql", "postgres")
FAMILY = ("mariadb", "mariadb-11.8", "mysql")
ROWS = 20_000
CONFIG = {
    "mariadb": {"performance_schema": "ON"},
    "mariadb-11.8": {"performance_schema": "ON"},
    "mysql": {},
    "postgres": {"shared_preload_libraries": "pg_stat_statements"},
}


@dataclass
class Shop:
    """A server with the schema `shop`, and `app`, which may read all of it."""

    name: str
    server: Any

    @property
    def is_postgres(self) -> bool:
        return self.name == "postgres"

    @property
    def url(self) -> str:
        scheme = self.name.partition("-")[0]
        return f"{scheme}://app@127.0.0.1:{self.server.port}/shop"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """As its owner, in the database `shop`, on one connection; the server has counted them
        once this returns, which MariaDB and MySQL do after a statement's answer, and PostgreSQL, of
        tables and indexes, at the end of a session."""
        rows: Sequence[Any] = []
        with closing(self.server._connect("shop", 60)) as connection:
            if self.is_postgres:
                for statement in statements:
                    rows = connection.run(statement)
                [[pid]] = connection.run("SELECT pg_backend_pid()")
            else:
                with connection.cursor() as cursor:
                    for statement in statements:
                        cursor.execute(statement)
                        rows = cursor.fetchall()
                connection.ping(reconnect=False)
        if self.is_postgres:
            assert wait_for(lambda: not self._has_session(pid))
        return [tuple(row) for row in rows or ()]

    def _has_session(self, pid: int) -> bool:
        return bool(self.server.rows(f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"))

    def forget(self) -> None:
        """Counts statements anew."""
        if self.is_postgres:
            self.sql("SELECT pg_stat_statements_reset()")
        else:
            self.sql("TRUNCATE performance_schema.events_statements_summary_by_digest")

    def plan(self, select: str, number: int = 0) -> str:
        """How a table of a query is read, by its place in the plan: ALL, index, range, ref; of
        PostgreSQL the innermost scan's name."""
        if self.is_postgres:
            (row,) = self.sql(f"EXPLAIN (FORMAT JSON) {select}")
            found = row[0] if isinstance(row[0], list) else json.loads(row[0])
            return str(innermost(found[0]["Plan"])["Node Type"])
        row = self.sql(f"{self._explain} {select}")[number]
        return str(row[4 if self.name == "mysql" else 3])

    @property
    def _explain(self) -> str:
        return "EXPLAIN FORMAT=TRADITIONAL" if self.name == "mysql" else "EXPLAIN"

    def extra(self, select: str) -> str:
        """What MySQL's EXPLAIN adds."""
        return str(self.sql(f"{self._explain} {select}")[0][-1])

    def refuses(self, statement: str) -> bool:
        """Whether a statement is an error."""
        try:
            self.sql(statement)
        except Exception:
            return True
        return False


def innermost(plan: dict[str, Any]) -> dict[str, Any]:
    while plan.get("Plans") and plan["Node Type"] != "Bitmap Heap Scan":
        plan = plan["Plans"][0]
    return plan


@contextmanager
def shop(name: str) -> Iterator[Shop]:
    with _server(name) as server:
        if name == "postgres":
            server.run_in("postgres", [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"])
            server.run_in("postgres", ["GRANT pg_read_all_stats TO app", "CREATE DATABASE shop"])
            made = Shop(name, patient(server))
            made.sql("CREATE EXTENSION pg_stat_statements")
        else:
            server.rows(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            server.rows("GRANT SELECT ON *.* TO app@'127.0.0.1'")
            server.rows("CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
            made = Shop(name, patient(server))
        yield made


@contextmanager
def _server(name: str) -> Iterator[Any]:
    if "-" not in name:
        with running(name, config=CONFIG[name]) as (_, server):
            yield server
        return
    prefix = ROOT / ".prefix" / name / "usr"
    if not prefix.exists():
        missing("run `make servers`")
    system = systems.load("mariadb")
    resolved = system.resolve(TargetPlan(name="db", kind="mariadb", config=CONFIG[name]))
    with Scratch() as scratch:
        found = system.find(str(prefix))
        system.prepare(found, scratch.path / "db", resolved)
        server = system.start(found, scratch.path / "db", resolved, cpus=[])
        try:
            yield server
        finally:
            server.stop()


def numbers(name: str, count: int = ROWS) -> str:
    """A FROM with the column n, from 1."""
    if name == "postgres":
        return f"generate_series(1, {count}) AS s(n)"
    if name == "mysql":
        digits = " CROSS JOIN ".join(
            f"(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT"
            f" 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION"
            f" ALL SELECT 9) d{place}"
            for place in range(len(str(count - 1)))
        )
        value = " + ".join(f"d{place}.d * {10**place}" for place in range(len(str(count - 1))))
        return f"(SELECT 1 + {value} AS n FROM {digits}) s WHERE n <= {count}"
    return f"(SELECT seq AS n FROM seq_1_to_{count}) s"


def orders(made: Shop, *keys: str) -> None:
    """Orders of 2015 to 2020, one each hour and 37 minutes or so, and some at the edges of October
    2019."""
    if made.is_postgres:
        made.sql(
            "CREATE TABLE orders (id integer PRIMARY KEY, customer integer NOT NULL, placed"
            " timestamp, phone varchar(20), note varchar(200))",
            "INSERT INTO orders SELECT n, n % 500, timestamp '2015-01-01' + n * interval '157"
            f" minutes', '0' || n, repeat('x', 100) FROM {numbers(made.name)}",
            *(
                f"INSERT INTO orders VALUES ({ROWS + number}, 1, '{edge}', '1', 'edge')"
                for number, edge in enumerate(EDGES, 1)
            ),
            "CREATE INDEX i_placed ON orders (placed)",
            *keys,
            "ANALYZE orders",
        )
        return
    made.sql(
        "CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, placed DATETIME(3), phone"
        " VARCHAR(20), note VARCHAR(200), KEY i_placed (placed), KEY i_phone (phone)"
        f"{''.join(f', {key}' for key in keys)}) ENGINE=InnoDB",
        "INSERT INTO orders (id, customer, placed, phone, note) SELECT n, n % 500, '2015-01-01' +"
        f" INTERVAL n * 157 MINUTE, CONCAT('0', n), REPEAT('x', 100) FROM {numbers(made.name)}",
        *(
            "INSERT INTO orders (id, customer, placed, phone, note) VALUES"
            f" ({ROWS + number}, 1, '{edge}', '1', 'edge')"
            for number, edge in enumerate(EDGES, 1)
        ),
        "COMMIT",
        "ANALYZE TABLE orders",
    )


EDGES = (
    "2019-09-30 23:59:59.999",
    "2019-10-01 00:00:00.000",
    "2019-10-31 23:59:59.500",
    "2019-11-01 00:00:00.000",
    "2018-10-15 12:00:00.000",
)
