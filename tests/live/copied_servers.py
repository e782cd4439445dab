"""A real server with a schema that is copied, and its copies on the same server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine_jobs

from dbdyno.copies.copied import Copied, How
from dbdyno.copies.write import write_copy
from dbdyno.digest.workload.yamltext import scalar
from dbdyno.execute.control import Control
from dbdyno.execute.engine.request import load_request
from dbdyno.execute.servers.sql_files import import_file
from dbdyno.experiment import load
from dbdyno.experiment.types import Credentials
from dbdyno.hosts import LOCAL

PASSWORD = "app-Secret:4711"  # of the user `app`, who reads; in the variable APP_PASSWORD


class Planted:
    """The server with the original, `shop`, and whatever copies are made on it. `fill`: makes the
    original, given a function that runs statements in it."""

    def __init__(
        self, kind: str, bench: Any, server: Any, fill: Callable[[str, Callable[..., Any]], None]
    ) -> None:
        self.kind, self.bench, self.server = kind, bench, server
        self.is_postgres = kind == "postgres"
        self.quote = '"' if self.is_postgres else "`"
        self.run("postgres" if self.is_postgres else "mysql", *self._user())
        server.create_schema("shop")
        fill(kind, lambda statements: self.run("shop", *statements))
        if self.is_postgres:
            self.run("shop", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO app")
        else:
            self.run("mysql", "GRANT SELECT, SHOW VIEW ON shop.* TO app@'127.0.0.1'")

    def _user(self) -> list[str]:
        if self.is_postgres:
            return [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"]
        return [f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"]

    def run(self, database: str, *statements: str) -> list[Any]:
        return [tuple(row) for row in self.server.run(database, list(statements))]

    def one(self, database: str, sql: str) -> Any:
        return self.run(database, sql)[0][0]

    def name(self, table: str) -> str:
        return f"{self.quote}{table}{self.quote}"

    def copy(self, out: Path, how: How) -> Copied:
        url = f"{self.kind}://app@127.0.0.1:{self.server.port}/shop"
        schema = "public" if self.is_postgres else None
        return write_copy(url, Credentials(env="APP_PASSWORD"), None, schema, out, how)

    def load(self, copied: Copied, database: str, directory: Path) -> None:
        """As a private server is filled: files, then the engine's rows, then what comes after."""
        self.server.create_schema(database)
        setup = copied.setup
        for path in [*([setup["dump"]] if "dump" in setup else []), *setup.get("sql", ())]:
            import_file(Path(path), self.server, database, LOCAL, print, Control(print))
        if setup.get("tables"):
            target = self.server.engine_target(self.bench.target, self.bench.resolved, database)
            sets = [("tables", {"tables": self.typed(copied, directory)})]
            said = engine_jobs.run(load_request("db", target, sets, 1, directory, 2))
            assert said.code == 0, said.last
        self.run(database, *setup["after"])
        self.server.settle(database)

    def typed(self, copied: Copied, directory: Path) -> Any:
        """The tables as an experiment's file has them: it is written, and read again."""
        path = directory / "experiment.yaml"
        path.write_text(
            "experiment: copy\n"
            f"targets: {{db: {{kind: {self.kind}, setup: {scalar(copied.setup)}}}}}\n"
            'groups: {app: {kind: mix, statements: {s: "SELECT 1"}}}\n'
        )
        setup = load(path).cells[0].targets[0].setup
        assert setup is not None
        return setup.tables

    def estimate(self, database: str, table: str, where: str, index: str = "") -> float:
        """Rows that the planner expects."""
        if self.is_postgres:
            sql = f"EXPLAIN (FORMAT JSON) SELECT * FROM {self.name(table)} WHERE {where}"
            plan = self.one(database, sql)
            plan = json.loads(plan) if isinstance(plan, str) else plan
            return float(plan[0]["Plan"]["Plan Rows"])
        # MySQL does not look into an index that it is forced to use.
        word = "USE" if self.kind == "mysql" else "FORCE"
        hint = f" {word} INDEX ({index})" if index else ""
        rows = self.run(
            database, f"EXPLAIN FORMAT=JSON SELECT * FROM {self.name(table)}{hint} WHERE {where}"
        )
        return _rows_in(json.loads(rows[0][0]))


def _rows_in(plan: Any) -> float:
    """Of MariaDB's and MySQL's plans of one table, two formats."""
    if isinstance(plan, dict):
        for key in ("rows_examined_per_scan", "rows", "estimated_rows"):
            if isinstance(plan.get(key), int | float):
                return float(plan[key])
    for inner in plan.values() if isinstance(plan, dict) else plan:
        if isinstance(inner, dict | list):
            found = _rows_in(inner)
            if found >= 0:
                return found
    return -1.0


def foreign_keys(planted: Planted, database: str) -> list[Any]:
    """Those that the server holds to be kept."""
    if planted.is_postgres:
        return planted.run(
            database,
            "SELECT conname FROM pg_constraint WHERE contype = 'f' AND convalidated ORDER BY 1",
        )
    return planted.run(
        database,
        "SELECT constraint_name FROM information_schema.referential_constraints WHERE"
        f" constraint_schema = '{database}' ORDER BY 1",
    )
