"""Private servers in the role of somebody else's: reached by URL, as a user with few grants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from private_servers import patient, running

PASSWORD = "app-Secret:4711"
ROWS = 500
_TABLE = "CREATE TABLE {} (id int PRIMARY KEY, k int NOT NULL, c char(120), pad char(60))"


@dataclass
class There:
    """A server with the schema `shop` (tables sbtest1 and sbtest2) and the user `app`."""

    kind: str
    server: Any
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Without the password, as any."""
        scheme = "postgres" if self.kind == "postgres" else self.kind
        return f"{scheme}://app@127.0.0.1:{self.server.port}/shop"

    def sql(self, *statements: str) -> list[Any]:
        """As the server's owner; in PostgreSQL in the database `shop`."""
        rows: list[Any] = []
        for statement in statements:
            if self.kind == "postgres":
                rows = self.server.run_in("shop", [statement])
            else:
                rows = self.server.rows(statement)
        return [tuple(row) for row in rows]

    def grant(self, *privileges: str) -> None:
        """Gives `app` these privileges and no others."""
        self.sql(*self._nothing(), *(f"GRANT {each}" for each in privileges))

    def read_only(self) -> tuple[str, ...]:
        """The grants that the guide names for reading existing data."""
        if self.kind == "postgres":
            return ("USAGE ON SCHEMA public TO app", "SELECT ON ALL TABLES IN SCHEMA public TO app")
        return ("SELECT ON shop.* TO app@'127.0.0.1'",)

    def own_schema(self) -> tuple[str, ...]:
        """Those for a schema of dbdyno's own."""
        if self.kind == "postgres":
            return ("CREATE ON DATABASE shop TO app",)
        return (
            "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `dbdyno\\_%`.* "
            "TO app@'127.0.0.1'",
        )

    def settable(self, name: str) -> tuple[str, ...]:
        """Those for changing a setting."""
        if self.kind == "postgres":
            return (
                f"ALTER SYSTEM ON PARAMETER {name} TO app",
                "EXECUTE ON FUNCTION pg_reload_conf() TO app",
                "pg_read_all_settings TO app",
            )
        privilege = "SUPER" if self.kind == "mariadb" else "SYSTEM_VARIABLES_ADMIN"
        return (f"{privilege} ON *.* TO app@'127.0.0.1'",)

    def _nothing(self) -> Sequence[str]:
        if self.kind == "postgres":
            return (
                "DROP OWNED BY app CASCADE",
                "REVOKE pg_read_all_settings FROM app",
                "GRANT CONNECT ON DATABASE shop TO app",
            )
        return ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM app@'127.0.0.1'",)

    def schemas(self) -> set[str]:
        """Names of all schemas (in PostgreSQL those of `shop`)."""
        return {
            str(row[0]) for row in self.sql("SELECT schema_name FROM information_schema.schemata")
        }

    def setting(self, name: str) -> str:
        """What a new session would say."""
        if self.kind == "postgres":
            return str(self.server.run_in("shop", [f"SHOW {name}"])[0][0])
        return str(self.sql(f"SELECT @@GLOBAL.{name}")[0][0])

    def all_settings(self) -> dict[str, str]:
        """For comparison: without what changes by itself."""
        moving = ("gtid", "timestamp", "binlog_pos", "last_", "error_count")
        return {
            name: value
            for name, value in self.server.settings().items()
            if not any(word in name for word in moving)
        }


@contextmanager
def there(kind: str, **config: Any) -> Iterator[There]:
    """Starts one. Of MySQL's family local_infile is off, as managed servers have it."""
    with running(kind, config=config) as (_, server):
        made = There(kind, patient(server))
        if kind == "postgres":
            server.run_in("postgres", [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"])
            server.run_in("postgres", ["CREATE DATABASE shop"])
            for number in (1, 2):
                made.sql(
                    _TABLE.format(f"sbtest{number}"),
                    f"INSERT INTO sbtest{number} "
                    f"SELECT g, g, 'c', 'p' FROM generate_series(1, {ROWS}) g",
                )
        else:
            made.sql(
                "SET GLOBAL local_infile = 0",
                f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
                "CREATE DATABASE shop",
            )
            rows = ", ".join(f"({n}, {n}, 'c', 'p')" for n in range(1, ROWS + 1))
            for number in (1, 2):
                made.sql(
                    _TABLE.format(f"shop.sbtest{number}"),
                    f"INSERT INTO shop.sbtest{number} VALUES {rows}",
                )
        yield made
