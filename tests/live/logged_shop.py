"""A server that logs each statement of an application, `app`, in a database of its own, `shop`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pg8000.native
import pymysql
from private_servers import patient, running
from running import wait_for

SESSIONS = "information_schema.processlist"
PASSWORD = "app-Secret:4711"
CONFIG = {
    "mariadb": {
        "slow_query_log": "ON",
        "long_query_time": "0",
        "slow_query_log_file": "slow.log",
        "innodb_flush_log_at_trx_commit": "0",
    },
    "postgres": {
        "log_min_duration_statement": "0",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "synchronous_commit": "off",
    },
}


@dataclass
class Shop:
    """The server, and where it logs."""

    kind: str
    server: Any
    directory: Path

    @property
    def url(self) -> str:
        return f"{self.kind}://app@127.0.0.1:{self.server.port}/shop"

    @property
    def log(self) -> Path:
        if self.kind == "mariadb":
            return next(iter(self.directory.rglob("slow.log")))
        logs = self.directory.rglob("*.log")
        return next(file for file in logs if b"duration: " in file.read_bytes())

    def own(self, sql: str) -> list[Any]:
        """What the server's owner asks, not the application."""
        if self.kind == "postgres":
            return list(self.server.run_in("shop", [sql]))
        return list(self.server.rows(sql))

    def wait_until_logged(self) -> None:
        """Returns once the log has what the application sent: MariaDB logs a statement after its
        answer, before the session is idle."""
        if self.kind == "mariadb":
            busy = f"SELECT 1 FROM {SESSIONS} WHERE user = 'app' AND command <> 'Sleep'"
            assert wait_for(lambda: not self.own(busy))

    def name(self, table: str) -> str:
        """What the owner calls it."""
        return table if self.kind == "postgres" else f"shop.{table}"

    def give(self, *tables: str) -> None:
        """Lets the application have them; on MariaDB it has what `shop` holds."""
        if self.kind == "postgres":
            for table in tables:
                self.own(f"ALTER TABLE {table} OWNER TO app")

    def session(self) -> Callable[..., None]:
        """A connection of the application: `$1`, `$2` for values, which PostgreSQL gets apart and
        MariaDB in the text."""
        at = {"user": "app", "password": PASSWORD, "host": "127.0.0.1", "port": self.server.port}
        if self.kind == "postgres":
            postgres = pg8000.native.Connection(database="shop", **at)
            return lambda sql, *values: postgres.run(
                re.sub(r"\$(\d+)", r":v\1", sql), **{f"v{n}": v for n, v in enumerate(values, 1)}
            )
        mariadb = pymysql.connect(database="shop", autocommit=True, **at)
        cursor = mariadb.cursor()
        return lambda sql, *values: cursor.execute(re.sub(r"\$\d+", "%s", sql), values or None)


@contextmanager
def shop(kind: str, rights: str, more: Mapping[str, str] | None = None) -> Iterator[Shop]:
    """Starts one. `rights`: of the application on MariaDB; `more`: settings besides CONFIG."""
    with running(kind, config={**CONFIG[kind], **(more or {})}) as (bench, server):
        made = Shop(kind, patient(server), bench.directory)
        if kind == "postgres":
            made.server.run_in("postgres", [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"])
            made.server.run_in("postgres", ["CREATE DATABASE shop OWNER app"])
        else:
            made.own("CREATE DATABASE shop")
            made.own(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            made.own(f"GRANT {rights} ON shop.* TO app@'127.0.0.1'")
        yield made
