"""A network between load and server: its delay is in the latencies, and the report proves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pg8000.native
import pymysql
import pytest
from ending import LONG, Watched, ended
from private_servers import binaries, running
from running import Place, result, wait_for

from dbdyno.execute.engine import job
from dbdyno.hosts import LOCAL
from dbdyno.systems.process.relay import Link, Relay, Swallow

pytestmark = pytest.mark.live

FAR = """
experiment: far
question: What does the distance cost a point select?
targets: {{db: {{kind: {kind}, memory: 64Mi, durability: none}}}}
workload: {{kind: oltp, preset: point_select, sessions: 2, rows: 1000}}
factors:
  network:
    direct: {{}}
    near: {{db.limits: {{network: {{delay: 0ms}}}}}}
    far: {{db.limits: {{network: {{delay: 5ms, bytes_per_s: 10M}}}}}}
blocks: 1
warmup: 100ms
duration: {duration}
interval: 100ms
"""
FEW = 40  # transactions: twice as many as a median needs

ALWAYS_FAR = """
experiment: far
targets: {db: {kind: mariadb, memory: 64Mi, limits: {network: {delay: 1ms}}}}
workload: {kind: oltp, preset: point_select, sessions: 2, rows: 1000}
blocks: 1
warmup: 100ms
duration: 60s
"""


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_delay_is_in_the_latencies_and_was_measured_before(there: Place, kind: str) -> None:
    binaries(kind)

    def few(watched: Watched) -> bool:
        return watched.commits() >= FEW

    file = there.experiment(FAR.format(kind=kind, duration=LONG))
    with ended(there.path / "out", few):
        done = there.dyno("run", file, "--dir", "out")
    assert done.returncode == 0, done.stderr
    p50 = {
        cell["levels"]["network"]: cell["metrics"]["service_ms_p50"]["mean"]
        for cell in result(there.path / "out")["cells"]
    }
    assert p50["far"] >= 10
    page = (there.path / "out" / "report.md").read_text()
    section = page[page.index("## Network") :].split("\n## ")[0]
    near, far = (line for line in section.splitlines() if line.startswith("| db"))
    assert "5 ms" in far and "10,000,000 B/s" in far, section
    assert "| 0 ms |" in near and "no limit" in near, section
    assert "direct" not in section
    assert there.until_clean() == []


def test_a_run_that_is_killed_leaves_no_relay(there: Place) -> None:
    binaries("mariadb")
    dyno = there.start("run", there.experiment(ALWAYS_FAR), "--dir", "out")
    try:
        relays = wait_for(lambda: any(" relay" in line for _, line in there.processes()), 180)
    finally:
        dyno.kill()
        dyno.communicate()
    assert relays
    assert there.until_clean() == []


@contextmanager
def session(target: dict[str, Any], port: int) -> Iterator[Callable[[str], object]]:
    """A session of a server's own client library through a port, as a function of statements."""
    login = {"user": target["user"], "password": target["password"]}
    place = {"host": "127.0.0.1", "port": port, "database": target["database"]}
    if target["driver"] == "mysql":
        with pymysql.connect(**login, **place, ssl_disabled=True) as mysql:
            yield mysql.cursor().execute
    else:
        with closing(pg8000.native.Connection(**login, **place, ssl_context=False)) as postgres:
            yield postgres.run


@pytest.mark.parametrize(("kind", "protocol"), [("mariadb", "mysql"), ("postgres", "postgres")])
def test_a_swallowed_commit_is_answered_and_not_there(kind: str, protocol: Any) -> None:
    with running(kind) as (made, server), closing_relay() as relay:
        server.create_schema("dbdyno")
        plain = replace(made.target, tls="off")
        target = server.engine_target(plain, made.resolved, "dbdyno")
        port: int = target["address"]["tcp"]["port"]
        every = Swallow(protocol=protocol, every=1, seed=1)
        at = relay.listen("db", port, Link(swallow=every)).port
        server.run("dbdyno", ["CREATE TABLE kept (id INT PRIMARY KEY)"])
        with session(target, at) as execute:
            for statement in ("BEGIN", "INSERT INTO kept VALUES (1)", "COMMIT"):
                execute(statement)
        assert relay.state("db").swallowed == 1
        relay.change("db", Link(swallow=Swallow(protocol=protocol, every=0, seed=1)))
        with session(target, at) as execute:
            for statement in ("BEGIN", "INSERT INTO kept VALUES (2)", "COMMIT"):
                execute(statement)
        rows = server.run("dbdyno", ["SELECT id FROM kept ORDER BY id"])
        assert [row[0] for row in rows] == [2]


@contextmanager
def closing_relay() -> Iterator[Relay]:
    """A relay that is ended."""
    relay = Relay(LOCAL, job.find())
    try:
        yield relay
    finally:
        relay.stop()
