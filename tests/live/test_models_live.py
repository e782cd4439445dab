"""Models compared with real components: files of InnoDB, fsyncs of commits, variables of a live
server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from private_servers import Bench, running
from running import Place, place
from servers_there import PASSWORD, there

from dbdyno import models
from dbdyno.models import calculate, given

pytestmark = pytest.mark.live

EXTENT, PAGE = 1 << 20, 16 << 10
LEAF = 67  # rows
ROWS = "SELECT {} + seq, REPEAT('x', 200) FROM seq_1_to_{}"


def computed(name: str, **typed: str) -> Any:
    model = models.load(name)
    return calculate.answer(model, given.take(model, typed, {})).values


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Bench, Any]]:
    with running("mariadb", config={"log_bin": "log", "sync_binlog": "1"}) as made:
        yield made


def inserter(server: Any, schema: str) -> Callable[[str], Any]:
    server.rows(f"CREATE DATABASE {schema}")
    return lambda sql: server.rows(sql, schema)


def test_files_of_innodb_grow_as_computed(mariadb: tuple[Bench, Any]) -> None:
    bench, server = mariadb
    sql = inserter(server, "growing")
    sql("CREATE TABLE t (id BIGINT PRIMARY KEY, p CHAR(200) CHARACTER SET latin1 NOT NULL)")
    (file,) = bench.directory.rglob("growing/t.ibd")
    rows, sizes = 0, []
    while rows < 60_000:
        step = 20 if rows < 2400 else 400
        sql(f"INSERT INTO t {ROWS.format(rows, step)}")
        rows += step
        real = file.stat().st_size
        sizes.append(real)
        # A leaf sooner or later, and an extent, are no difference that matters; jumps are.
        fewer, more = (
            computed("innodb-growth", rows=str(max(1, rows + away)))["file"]
            for away in (-LEAF, LEAF)
        )
        spare = 2 * PAGE if real < 2 * EXTENT else EXTENT
        assert fewer - spare <= real <= more + spare, rows
    assert 37 * PAGE in sizes
    assert 2 * EXTENT in sizes
    assert 9 * EXTENT in sizes
    assert not [size for size in sizes if 2 * EXTENT < size < 9 * EXTENT]


def test_a_session_alone_waits_for_as_many_fsyncs_as_computed(mariadb: tuple[Bench, Any]) -> None:
    bench, server = mariadb
    sql = inserter(server, "committing")
    sql("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    login = server.engine_target(bench.target, bench.resolved, "committing")
    at = login["address"].get("tcp") or {"unix_socket": login["address"]["unix"]}
    before = counters(server)
    with pymysql.connect(
        user=login["user"], password=login["password"], database="committing", autocommit=True, **at
    ) as session:
        for _ in range(200):
            session.cursor().execute("INSERT INTO t (v) VALUES (1)")
    after = counters(server)
    redo = (after["innodb_data_fsyncs"] - before["innodb_data_fsyncs"]) / 200
    log = (after["binlog_group_commits"] - before["binlog_group_commits"]) / 200
    per_commit = computed("commit-ceiling", fsyncs="100/s", sync_binlog="1")["per_commit"]
    assert redo + log == pytest.approx(per_commit, rel=0.2)


def counters(server: Any) -> dict[str, int]:
    rows = server.rows("SHOW GLOBAL STATUS")
    return {str(name).lower(): int(value) for name, value in rows if str(value).isdigit()}


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def test_inputs_are_read_from_a_live_server(here: Place) -> None:
    with there("mariadb") as server:
        server.sql("SET GLOBAL max_binlog_size = 64 * 1024 * 1024", "SET GLOBAL sync_binlog = 1")
        asked = ["stall-period", "write=10MiB/s", "--from", server.url, "--json"]
        done = here.dyno("model", *asked, "--password-env", "APP_PASSWORD")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["inputs"]["log"]["value"] == 64 << 20
    assert told["inputs"]["sync_binlog"]["value"] == 1
    assert told["outputs"]["stall"]["value"] == 0
    assert "max_binlog_size" in told["inputs"]["log"]["origin"]
    assert PASSWORD not in done.stdout
    assert told["outputs"]["period"]["value"] == pytest.approx(6.4)


def test_a_server_that_cannot_be_reached_is_said(here: Place, tmp_path: Path) -> None:
    done = here.dyno(
        "model", "stall-period", "write=1MiB/s", "--from", "mariadb://app@127.0.0.1:1/x"
    )
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr


def test_the_bound_of_parallel_replication_is_that_of_a_digest(here: Place) -> None:
    times = {"a": 791.6195, "b": 525.1231, "c": 203.4649}
    log = here.path / "slow.log"
    log.write_text(
        "".join(
            f"# Time: 2026-11-01T00:{i:02d}:00.000000Z\n# User@Host: u[u] @ h []  Id: {i}\n"
            f"# Schema: {schema}  Last_errno: 0  Killed: 0\n"
            f"# Query_time: {time:.4f}  Lock_time: 0.0000  Rows_sent: 0  Rows_examined: 0\n"
            f"use {schema};\nSET timestamp=1793491200;\nUPDATE t SET v = 1;\n"
            for i, (schema, time) in enumerate(times.items())
        )
    )
    done = here.dyno("digest", "--parallelism", "--json", log)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["schemas"]
    typed = ",".join(f"{time}s" for time in times.values())
    model = computed("parallel-replication", times=typed)
    assert told["bound"] == pytest.approx(model["bound"], abs=1e-6)
    shares = {one["schemas"]: one["share"] for one in told["busy"]}
    assert shares[1] == pytest.approx(model["one_busy"], abs=1e-6)
    assert shares[2] == pytest.approx(model["two_busy"], abs=1e-6)
    assert shares[3] == pytest.approx(model["three_busy"], abs=1e-6)
