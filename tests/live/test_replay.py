"""What sessions sent is sent again, from MariaDB's slow log and PostgreSQL's log of lines: in each
session's order, so that the same comes of it; and without `writes: true` nothing changes."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pg8000.native
import pymysql
import pytest
from private_servers import CORE, running
from running import Place, place

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

PASSWORD = "app-Secret:4711"
CONFIG = {
    "mariadb": {
        "slow_query_log": "ON",
        "long_query_time": "0",
        "slow_query_log_file": "slow.log",
        "general_log": "ON",
        "general_log_file": "general.log",
        "innodb_flush_log_at_trx_commit": "0",
    },
    "postgres": {
        "log_min_duration_statement": "0",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "synchronous_commit": "off",
    },
}
SESSIONS, STEPS = 4, 60
# It counts in a table, which the words of `SELECT touch(1)` do not show.
FUNCTIONS = {
    "mariadb": "CREATE FUNCTION shop.touch(k INT) RETURNS INT MODIFIES SQL DATA"
    " BEGIN INSERT INTO shop.touched VALUES (k); RETURN k; END",
    "postgres": "CREATE FUNCTION touch(k INT) RETURNS INT LANGUAGE sql"
    " AS 'INSERT INTO touched VALUES (k) RETURNING k'",
}
REFUSED = {"mariadb": "1792", "postgres": "25006"}
EXPERIMENT = """experiment: again
blocks: 1
targets:
  db: {url: "URL", password_env: APP_PASSWORD, data: {existing: shop},
       may: {write: yes}}
workload: {kind: replay, log: out.trace, OPTIONS}
"""


@dataclass
class There:
    """A server with tables, and where it logs."""

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
        if self.kind == "postgres":
            return list(self.server.run_in("shop", [sql]))
        return list(self.server.rows(sql))

    def name(self, table: str) -> str:
        return table if self.kind == "postgres" else f"shop.{table}"

    def content(self) -> list[Any]:
        """All rows of both tables."""
        rows = self.own(f"SELECT id, v FROM {self.name('places')} ORDER BY id")
        rows += self.own(f"SELECT k, 0 FROM {self.name('touched')} ORDER BY k")
        return [tuple(map(int, row)) for row in rows]

    def reset(self) -> None:
        for table in ("places", "touched"):
            self.own(f"DELETE FROM {self.name(table)}")
        rows = ", ".join(f"({row}, 1)" for row in range(SESSIONS))
        self.own(f"INSERT INTO {self.name('places')} VALUES {rows}")

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


@pytest.fixture(scope="module", params=CORE)
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    kind = request.param
    with running(kind, config=CONFIG[kind]) as (bench, started):
        there = There(kind, started, bench.directory)
        if kind == "postgres":
            there.server.run_in("postgres", [f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'"])
            there.server.run_in("postgres", ["CREATE DATABASE shop OWNER app"])
        else:
            there.own("CREATE DATABASE shop")
            there.own(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            there.own("GRANT SELECT, INSERT, UPDATE, EXECUTE ON shop.* TO app@'127.0.0.1'")
        there.own(f"CREATE TABLE {there.name('places')} (id INT PRIMARY KEY, v BIGINT)")
        there.own(f"CREATE TABLE {there.name('touched')} (k INT)")
        there.own(FUNCTIONS[kind])
        if kind == "postgres":
            there.own("ALTER TABLE places OWNER TO app")
            there.own("ALTER TABLE touched OWNER TO app")
        yield there


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def drive(server: There, calls: bool = True) -> None:
    """Each session changes its row by steps that must come in their order; some are undone."""

    def work(row: int) -> None:
        run = server.session()
        for step in range(STEPS):
            if step % 5 == 0:
                run("BEGIN")
            run("UPDATE places SET v = mod(v * 3 + $1, 1000003) WHERE id = $2", step + row, row)
            run("SELECT v FROM places WHERE id = $1", row)
            if step % 5 == 2:
                run("ROLLBACK" if step % 10 == 2 else "COMMIT")
        if calls:
            run("SELECT touch($1)", row)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def replay(here: Place, server: There, options: str, *more: str) -> dict[str, Any]:
    text = EXPERIMENT.replace("URL", server.url).replace("OPTIONS", options)
    directory = f"r{len(list(here.path.glob('r*')))}"
    done = here.dyno("run", here.experiment(text), "--dir", directory, *more)
    assert done.returncode == 0, done.stderr + done.stdout
    [trial] = here.path.glob(f"{directory}/trials/*")
    events = [json.loads(line) for line in (trial / "events.ndjson").read_text().splitlines()]
    assert (here.path / directory / "report.html").stat().st_size > 10_000
    return {"events": events, **json.loads((trial / "trial.json").read_text())}


def group_of(done: dict[str, Any]) -> dict[str, Any]:
    assert done["events"][-1]["event"] == "end", done["events"][-1]
    [group] = done["events"][-1]["groups"].values()
    return group


def test_a_replay_does_again_what_was_done(server: There, here: Place) -> None:
    server.reset()
    time.sleep(1.1)  # the slow log's clock has whole seconds
    began = int(time.time())
    drive(server)
    after = server.content()
    assert len(after) == 2 * SESSIONS
    out = here.path / "out.trace"
    made = here.dyno("digest", server.log, "--trace", out, "--since", began, "--user", "app")
    assert made.returncode == 0, made.stderr
    assert out.stat().st_mode & 0o777 == 0o600
    assert f"of {SESSIONS} sessions" in made.stdout, made.stdout

    server.reset()
    before = server.content()
    reads = replay(here, server, "speed: 2x")
    assert server.content() == before, "without writes nothing changes"
    group = group_of(reads)
    # Reads, and the words around transactions; the function that writes is refused by the server.
    assert group["errors"] == {REFUSED[server.kind]: SESSIONS}, group
    warnings = [e["message"] for e in reads["events"] if e["event"] == "warning"]
    skipped = SESSIONS * STEPS
    assert any(f"{skipped} of" in w and f"write {skipped}" in w for w in warnings), warnings
    assert group["open"]["left"] == 0 and group["open"]["due"] > skipped

    refused = here.dyno("run", here.path / "experiment.yaml", "--set", "workload.writes=true")
    assert refused.returncode == 2, refused.stdout
    writes = replay(here, server, "speed: max, writes: true", "--write-to", "shop")
    assert server.content() == after, "each session's order makes the outcome"
    assert group_of(writes)["errors"] == {}
    assert group_of(writes)["transactions"] == group["open"]["due"] + skipped


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_general_log_is_replayed_in_the_databases_that_it_names(
    server: There, here: Place
) -> None:
    server.reset()
    time.sleep(1.1)
    began = int(time.time())
    drive(server, calls=False)  # the log has the statements within functions too
    after = server.content()
    server.reset()
    log = next(iter(server.directory.rglob("general.log")))
    out = here.path / "out.trace"
    made = here.dyno("digest", log, "--trace", out, "--since", began, "--user", "app")
    assert made.returncode == 0, made.stderr
    options = "speed: max, writes: true, databases: log"
    done = replay(here, server, options, "--write-to", "shop")
    assert server.content() == after
    assert group_of(done)["errors"] == {}


WRITTEN = """# Time: 2026-11-22T05:00:0SECOND.000001Z
# User@Host: app[app] @ localhost []  Id: SESSION
# Query_time: 0.000300  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use DATABASE;
SET timestamp=1795323600;
SELECT 'it''s';
"""


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_session_whose_database_is_gone_costs_itself_alone(server: There, here: Place) -> None:
    head = "mysqld, Version: 8.4.0 (MySQL). started with:\nTcp port: 1  Unix socket: /s\n"
    head += "Time                 Id Command    Argument\n"
    sessions = [
        ("1", "7", "shop"),
        ("2", "8", "nowhere"),
        ("3", "9", "shop"),
        ("4", "9", "nowhere"),
    ]
    lines = [
        WRITTEN.replace("SECOND", second).replace("SESSION", session).replace("DATABASE", database)
        for second, session, database in sessions
    ]
    log = here.path / "written.log"
    log.write_text(head + "".join(lines))
    made = here.dyno("digest", log, "--trace", here.path / "out.trace")
    assert made.returncode == 0, made.stderr
    group = group_of(replay(here, server, "speed: max, databases: log"))
    # Session 8 cannot begin, and the second statement of session 9 finds no database to run in.
    assert group["errors"] == {"lost": 1, "1044": 1}, group
    assert group["transactions"] == 2
