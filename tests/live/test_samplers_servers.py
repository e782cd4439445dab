"""Samples of real servers under a little load, and of one that dies."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pg8000.native
import pymysql
import pytest
from private_servers import SERVERS, bench, running
from running import wait_for

from dbdyno.samplers.runner import Sampling

pytestmark = pytest.mark.live


def read(path: Path) -> list[dict[str, Any]]:
    """Complete lines written so far."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def client(target: dict[str, Any]) -> Any:
    """A session as the engine would open it, with `.run(sql)`."""
    tcp, user, password = target["address"]["tcp"], target["user"], target["password"]
    if target["driver"] == "postgres":
        return pg8000.native.Connection(user, password=password, database="dyno_test", **tcp)
    connection = pymysql.connect(
        user=user, password=password, database="dyno_test", autocommit=True, **tcp
    )
    connection.run = lambda sql: connection.cursor().execute(sql)
    return connection


COUNTER = {
    "mariadb": "Handler_write",
    "mysql": "Handler_write",
    "postgres": "pg_stat_database.xact_commit",
}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_at_work_is_seen(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.ndjson"
    with running(kind) as (made, server):
        server.create_schema("dyno_test")
        session = client(server.engine_target(made.target, made.resolved, "dyno_test"))
        session.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        sampling = Sampling(path, {"db": server}, interval_s=0.2)
        sampling.start(time.time())
        row = 0

        def seen() -> bool:
            nonlocal row
            for _ in range(20):
                row += 1
                session.run(f"INSERT INTO t VALUES ({row}, 0)")
            lines = read(path)
            rates = [x["values"].get(COUNTER[kind], 0) for x in lines if x["source"] == "status"]
            cores = [x["values"]["cpu_cores"] for x in lines if x["source"] == "server"]
            states = [x["values"] for x in lines if x["source"] == "sessions"]
            return any(r > 0 for r in rates) and any(c > 0 for c in cores) and any(states)

        assert wait_for(seen, 120), read(path)[-8:]
        sampling.stop()
        session.close()
    lines = read(path)
    assert {"cpu", "memory", "server", "status", "sessions"} <= {x["source"] for x in lines}
    assert not [x for x in lines if "gap" in x]
    for line in lines:
        if line["source"] == "cpu":
            assert 0 <= line["values"]["busy"] <= 1.000001
        if line["source"] == "server":
            assert line["values"]["rss_bytes"] > 1 << 20
        if line["source"] == "sessions":
            assert sum(line["values"].values()) <= 1, "the control connection is not counted"


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_dies_leaves_a_gap(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.ndjson"
    with bench(kind) as made:
        server = made.start()
        sampling = Sampling(path, {"db": server}, interval_s=0.1)
        sampling.start(time.time())
        assert wait_for(lambda: any(x["source"] == "status" for x in read(path)), 60)
        os.kill(server.pid or 0, signal.SIGKILL)
        assert wait_for(
            lambda: {"server", "status"} <= {x["source"] for x in read(path) if "gap" in x}, 60
        )
        count = len(read(path))
        assert wait_for(lambda: any(x["source"] == "cpu" for x in read(path)[count:]), 60), (
            "the machine is still sampled"
        )
        sampling.stop()
        server.stop()
