"""Backups of real servers: each tool, with logs where it can have them, makes the server again
whose data directory was lost; a gap in the logs is named."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from private_servers import running, runs
from running import wait_for

from dbdyno.errors import DynoError
from dbdyno.faults.drills.base import Steps
from dbdyno.systems import backups
from dbdyno.systems.backups.base import Site
from dbdyno.systems.backups.mysqlfamily import mariabackup
from needed import missing

pytestmark = pytest.mark.live

LOGGED = {"log_bin": "binlog"}


@contextmanager
def a_server(kind: str) -> Iterator[Any]:
    """One with a table, and a row in it."""
    with running(kind, config={} if kind == "postgres" else LOGGED) as (_, server):
        server.create_schema("dyno")
        server.run("dyno", ["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"])
        yield server


def site(server: Any, steps: Steps | None = None) -> Site:
    return Site(server, "dyno", steps or Steps(), lambda: None)


def taken(tool: str, server: Any, logs: str) -> Any:
    """A backup; skips where its program is not installed."""
    if (server.kind, tool) == ("mysql", "dump"):
        for name in ("mysqldump", "mysqlbinlog"):
            runs(server.client_places[0] / name)
    try:
        return backups.of(server.kind, tool).take(site(server), logs)
    except DynoError as error:
        if "not here" not in error.what:
            raise
        missing(f"{error.what}: {error.fix}")


def insert(server: Any, *numbers: int) -> None:
    server.run("dyno", [f"INSERT INTO t VALUES ({number})" for number in numbers])


def rows(server: Any) -> list[int]:
    return sorted(int(row[0]) for row in server.run("dyno", ["SELECT id FROM t"]))


def has_read(server: Any, backup: Any) -> bool:
    """Whether the program that reads a server's log has, or will have, all of it so far."""
    if server.kind == "postgres":  # what was sent lies in its socket, also after the server's end
        sent = (
            "SELECT count(*) FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_flush_lsn()"
        )
        return bool(server.rows(sent)[0][0])
    status = "SHOW MASTER STATUS" if server.kind == "mariadb" else "SHOW BINARY LOG STATUS"
    [[file, offset, *_]] = server.rows(status)
    copy = backup.logs.path / str(file)
    return copy.exists() and copy.stat().st_size >= int(offset)


def lose(server: Any, backup: Any) -> None:
    server.kill()
    if backup.logs is not None:
        backup.logs.collect()
    shutil.rmtree(server.directory / "data")


# Every tool; what is left of rows 1 (before the backup) and 2 (after it).
TOOLS = [
    (("mariadb", "dump"), "streamed", [1, 2]),
    (("mysql", "dump"), "streamed", [1, 2]),
    (("mysql", "clone"), "", [1]),
    (("postgres", "basebackup"), "streamed", [1, 2]),
    (("postgres", "dump"), "", [1]),
]


@pytest.mark.parametrize(("which", "logs", "left"), TOOLS)
def test_a_lost_server_is_made_again(which: tuple[str, str], logs: str, left: list[int]) -> None:
    kind, tool = which
    with a_server(kind) as server:
        port, steps, begun = server.port, Steps(), time.time()
        backup = taken(tool, server, logs)
        assert backup.size_bytes > 1000
        assert begun - 2 < backup.unix_s < time.time() + 2  # times may be whole seconds
        insert(server, 2)
        if logs:  # a program reads them, and no commit waits for that
            assert wait_for(lambda: has_read(server, backup))
        lose(server, backup)
        backup.tool.restore(site(server, steps), backup, None)
        assert rows(server) == left
        assert backup.tool.check(site(server))
        assert server.stop()
        server.start_again()
        assert server.port == port
        insert(server, 3)
        assert rows(server) == [*left, 3]
        names = [step.name for step in steps.done]
        assert ("replay" in names) == bool(logs)
        assert all(step.ended_s is not None for step in steps.done)


@pytest.mark.parametrize("which", [("mariadb", "mariabackup"), ("postgres", "basebackup")])
def test_back_to_a_moment(which: tuple[str, str]) -> None:
    kind, tool = which
    with a_server(kind) as server:
        backup = taken(tool, server, "kept")
        insert(server, 2)
        time.sleep(1.1)  # times in a binary log are whole seconds
        moment = time.time()
        time.sleep(1.1)
        server.run("dyno", ["DROP TABLE t"])
        lose(server, backup)
        backup.tool.restore(site(server), backup, moment)
        assert rows(server) == [1, 2]


def test_a_purged_binary_log_is_a_gap() -> None:
    with a_server("mariadb") as server:
        backup = taken("mariabackup", server, "kept")
        ends_in = mariabackup.position(backup.path).file
        insert(server, 2)
        server.rows("FLUSH BINARY LOGS")
        assert wait_for(lambda: is_purged(server, ends_in))
        insert(server, 3)
        lose(server, backup)
        with pytest.raises(DynoError, match=f"{ends_in} is missing: the first one is") as said:
            backup.tool.restore(site(server), backup, None)
        assert "purged" in said.value.cause


def is_purged(server: Any, file: str) -> bool:
    """Purges all logs but the last; the server keeps what a recovery would need for a moment."""
    [[last, *_]] = server.rows("SHOW MASTER STATUS")
    server.rows(f"PURGE BINARY LOGS TO '{last}'")
    return file not in {str(row[0]) for row in server.rows("SHOW BINARY LOGS")}


def test_a_damaged_table_does_not_pass() -> None:
    with a_server("mariadb") as server:
        server.rows("DROP DATABASE dyno")
        with pytest.raises(DynoError, match="has no table"):
            backups.of("mariadb", "dump").check(site(server))
