"""SQLite as a target: pragmas that are kept, foreign files, plans."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.systems.base import Server, TargetPlan

SYSTEM = systems.load("sqlite")


def start(directory: Path, **target: Any) -> Server:
    """An in-process server on `directory`."""
    resolved = SYSTEM.resolve(TargetPlan(name="db", kind="sqlite", **target))
    binaries = SYSTEM.find(None)
    SYSTEM.prepare(binaries, directory, resolved)
    return SYSTEM.start(binaries, directory, resolved, cpus=[])


@pytest.mark.parametrize("journal", ["WAL", "DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF"])
@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL", "FULL", "EXTRA", 2, 0])
def test_pragmas_are_kept(tmp_path: Path, journal: str, synchronous: Any) -> None:
    config = {"journal_mode": journal, "synchronous": synchronous}
    server = start(tmp_path, config=config)
    server.create_schema("test")
    assert server.settings()["journal_mode"] == journal.lower()
    assert server.alive()
    server.stop()


def test_a_reused_file_changes_its_journal_mode(tmp_path: Path) -> None:
    start(tmp_path, config={"journal_mode": "WAL"}).create_schema("test")
    with closing(sqlite3.connect(tmp_path / "test.db")) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    start(tmp_path, config={"journal_mode": "DELETE"})
    with closing(sqlite3.connect(tmp_path / "test.db")) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize(
    "config",
    [
        {"journal_mod": "WAL"},
        {"journal_mode": "WALL"},
        {"page_size": 1000},
        {"synchronous": "LUDICROUS"},
        {"wal_checkpoint": "TRUNCATE"},
        {"case_sensitive_like": True},
        {"page_size": "512; DROP TABLE t"},
    ],
)
def test_a_pragma_that_is_not_kept_is_an_error(tmp_path: Path, config: dict[str, Any]) -> None:
    with pytest.raises(DynoError) as caught:
        start(tmp_path, config=config)
    assert next(iter(config)) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_page_size_is_fixed_with_the_file(tmp_path: Path) -> None:
    start(tmp_path, config={"page_size": 8192}).create_schema("test")
    with pytest.raises(DynoError, match="page_size: 4096`, SQLite uses 8192"):
        start(tmp_path, config={"page_size": 4096})


def test_a_file_that_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "test.db") as file:
        file.execute("CREATE TABLE precious (x)")
    file.close()
    before = (tmp_path / "test.db").read_bytes()
    server = start(tmp_path, config={"journal_mode": "WAL"})
    with pytest.raises(DynoError, match="not made by dyno"):
        server.create_schema("test")
    server.stop()
    assert (tmp_path / "test.db").read_bytes() == before


def test_rubbish_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test.db").write_bytes(b"rubbish" * 1000)
    with pytest.raises(DynoError):
        start(tmp_path).create_schema("test")
    with pytest.raises(DynoError, match="cannot be a schema"):
        start(tmp_path / "other").create_schema("../escape")


def test_plans_counters_and_the_engines_view(tmp_path: Path) -> None:
    target = TargetPlan(name="db", kind="sqlite", durability="full", memory_bytes=64 << 20)
    server = start(tmp_path, durability="full", memory_bytes=64 << 20)
    server.create_schema("test")
    server.settle("test")
    with sqlite3.connect(tmp_path / "test.db") as file:
        file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)")
    file.close()
    assert server.explain("test", "SELECT * FROM t WHERE id = 5").startswith("SEARCH t")
    assert server.explain("test", "SELECT * FROM t WHERE id = ?").startswith("SEARCH t")
    with pytest.raises(DynoError, match="explain"):
        server.explain("test", "SELEKT")
    assert server.counters()["database_bytes"] > 0
    assert server.gauges() == set(server.counters())
    assert server.sessions_by_state() == {}
    view = server.engine_target(target, SYSTEM.resolve(target), "test")
    assert view["address"] == {"file": str(tmp_path / "test.db")}
    assert "PRAGMA cache_size=-65536" in view["session_sql"]
    assert server.settings()["synchronous"] == "full"


def test_what_has_no_meaning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError):
        SYSTEM.find("/usr")
    with pytest.raises(DynoError):
        start(tmp_path, transport="socket")
