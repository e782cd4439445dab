"""Schemas and tables that dbdyno did not make: refused, and left exactly as they were."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from private_servers import CORE, running
from running import has

from dbdyno.errors import DynoError

pytestmark = pytest.mark.live


class Foreign:
    """A server with a schema `theirs` in which somebody keeps a table of the workload's name."""

    def __init__(self, bench: Any, server: Any) -> None:
        self.server = server
        self.target = server.engine_target(bench.target, bench.resolved, "theirs")
        self.mysql = self.target["driver"] == "mysql"
        self.run("CREATE DATABASE theirs", "")
        self.run("CREATE TABLE sbtest1 (id INT PRIMARY KEY, letter VARCHAR(20))")
        self.run("INSERT INTO sbtest1 VALUES (1, 'mine'), (2, 'too')")

    def run(self, sql: str, database: str = "theirs") -> list[tuple[Any, ...]]:
        if self.mysql:
            return self.server.rows(sql, database or None)
        rows = self.server.run_in(database or "postgres", [sql])
        return [tuple(row) for row in rows]

    def contents(self) -> list[tuple[Any, ...]]:
        """Everything in it: tables with their columns, and the rows."""
        schema = "theirs" if self.mysql else "public"
        columns = self.run(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            f"WHERE table_schema = '{schema}' ORDER BY table_name, ordinal_position"
        )
        return [*columns, *self.run("SELECT id, letter FROM sbtest1 ORDER BY id")]


@pytest.fixture(scope="module", params=CORE)
def foreign(request: pytest.FixtureRequest) -> Iterator[Foreign]:
    with running(request.param) as (bench, server):
        yield Foreign(bench, server)


def test_a_foreign_schema_is_not_adopted(foreign: Foreign) -> None:
    before = foreign.contents()
    with pytest.raises(DynoError) as refused:
        foreign.server.create_schema("theirs")
    assert "'theirs'" in refused.value.what
    assert "not made by dyno" in refused.value.what
    assert refused.value.fix
    assert foreign.contents() == before


@pytest.mark.parametrize("tables", [1, 3])
def test_loading_touches_no_table_that_is_there(
    foreign: Foreign, tmp_path: Path, tables: int
) -> None:
    """Also when only one of several tables is in the way: nothing is half done in it."""
    before = foreign.contents()
    options = {"tables": tables, "rows": 50}
    said = engine_jobs.run(engine_jobs.plan(tmp_path, foreign.target, "load", options=options))
    said.failure("plan", "sbtest1", "exists already", "nothing was touched")
    theirs = [row for row in foreign.contents() if row[0] in ("sbtest1", 1, 2)]
    assert theirs == before


def test_a_trial_on_a_foreign_table_changes_nothing(foreign: Foreign, tmp_path: Path) -> None:
    """Statements of the workload do not fit it: errors, counted, and no row is lost."""
    before = [row for row in foreign.contents() if row[0] in ("sbtest1", 1, 2)]
    options = {"preset": "read_write", "tables": 1, "rows": 2}
    plan = engine_jobs.plan(tmp_path, foreign.target, options=options)
    said = engine_jobs.run(plan, until=has(0, errors=1))
    if said.code == 0:
        assert said.total["transactions"] == 0
        assert said.total["errors"]
    else:
        assert said.last["hint"], said.last
    assert [row for row in foreign.contents() if row[0] in ("sbtest1", 1, 2)] == before


def test_an_sqlite_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY, letter TEXT)")
        connection.execute("INSERT INTO sbtest1 VALUES (1, 'mine')")
    connection.close()
    before = file.read_bytes()
    target = {"driver": "sqlite", "address": {"file": str(file)}}
    said = engine_jobs.run(engine_jobs.plan(tmp_path, target, "load"))
    said.failure("plan", "sbtest1", "exists already", "nothing was touched")
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear Sir or Madam,\n" * 100)
    before = file.read_bytes()
    target = {"driver": "sqlite", "address": {"file": str(file)}}
    for job in ("load", "run"):
        said = engine_jobs.run(engine_jobs.plan(tmp_path, target, job))
        assert (said.code, said.last["event"]) == (2, "failed"), said.last
        assert str(file) in said.last["what"], said.last
        assert said.last["hint"]
        assert file.read_bytes() == before


def test_a_missing_file_is_not_made_by_a_trial(tmp_path: Path) -> None:
    file = tmp_path / "missing.db"
    target = {"driver": "sqlite", "address": {"file": str(file)}}
    said = engine_jobs.run(engine_jobs.plan(tmp_path, target))
    assert (said.code, said.last["event"]) == (2, "failed"), said.last
    assert str(file) in said.last["what"]
    assert not file.exists()
