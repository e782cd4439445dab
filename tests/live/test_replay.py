"""What sessions sent is sent again, from MariaDB's slow log and PostgreSQL's log of lines: in each
session's order, so that the same comes of it; and without `writes: true` nothing changes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from logged_shop import PASSWORD, Shop, shop
from private_servers import CORE
from running import Place, place

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

GENERAL = {"mariadb": {"general_log": "ON", "general_log_file": "general.log"}, "postgres": {}}
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


def content(server: Shop) -> list[Any]:
    """All rows of both tables."""
    rows = server.own(f"SELECT id, v FROM {server.name('places')} ORDER BY id")
    rows += server.own(f"SELECT k, 0 FROM {server.name('touched')} ORDER BY k")
    return [tuple(map(int, row)) for row in rows]


def reset(server: Shop) -> None:
    for table in ("places", "touched"):
        server.own(f"DELETE FROM {server.name(table)}")
    rows = ", ".join(f"({row}, 1)" for row in range(SESSIONS))
    server.own(f"INSERT INTO {server.name('places')} VALUES {rows}")


@pytest.fixture(scope="module", params=CORE)
def server(request: pytest.FixtureRequest) -> Iterator[Shop]:
    kind = request.param
    with shop(kind, "SELECT, INSERT, UPDATE, EXECUTE", GENERAL[kind]) as there:
        there.own(f"CREATE TABLE {there.name('places')} (id INT PRIMARY KEY, v BIGINT)")
        there.own(f"CREATE TABLE {there.name('touched')} (k INT)")
        there.own(FUNCTIONS[kind])
        there.give("places", "touched")
        yield there


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def drive(server: Shop, calls: bool = True) -> None:
    """Each session changes its row by steps that must come in their order; some are undone."""

    done = threading.Barrier(SESSIONS)

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
        # One more comes a second later: by the slow log's whole seconds the rest took no time.
        done.wait()
        if row == 0:
            time.sleep(1.1)
            run("SELECT v FROM places WHERE id = $1", row)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.wait_until_logged()


def replay(here: Place, server: Shop, options: str, *more: str) -> dict[str, Any]:
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


def test_a_replay_does_again_what_was_done(server: Shop, here: Place) -> None:
    reset(server)
    time.sleep(1.1)  # the slow log's clock has whole seconds
    began = int(time.time())
    drive(server)
    after = content(server)
    assert len(after) == 2 * SESSIONS
    out = here.path / "out.trace"
    made = here.dyno("digest", server.log, "--trace", out, "--since", began, "--user", "app")
    assert made.returncode == 0, made.stderr
    assert out.stat().st_mode & 0o777 == 0o600
    assert f"of {SESSIONS} sessions" in made.stdout, made.stdout

    reset(server)
    before = content(server)
    reads = replay(here, server, "speed: 2x")
    assert content(server) == before, "without writes nothing changes"
    group = group_of(reads)
    # Reads, and the words around transactions; the function that writes is refused by the server.
    # Those that a busy machine sends in the drain are counted in `open` alone.
    codes = {event["code"] for event in reads["events"] if event["event"] == "error"}
    assert codes == {REFUSED[server.kind]} >= group["errors"].keys(), json.dumps(group)
    assert group["open"]["failed"] == SESSIONS, json.dumps(group)
    warnings = [e["message"] for e in reads["events"] if e["event"] == "warning"]
    skipped = SESSIONS * STEPS
    assert any(f"{skipped} of" in w and f"write {skipped}" in w for w in warnings), warnings
    assert group["open"]["left"] == 0 and group["open"]["due"] > skipped

    refused = here.dyno("run", here.path / "experiment.yaml", "--set", "workload.writes=true")
    assert refused.returncode == 2, refused.stdout
    writes = replay(here, server, "speed: max, writes: true", "--write-to", "shop")
    assert content(server) == after, "each session's order makes the outcome"
    assert group_of(writes)["errors"] == {}
    assert group_of(writes)["transactions"] == group["open"]["due"] + skipped


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_general_log_is_replayed_in_the_databases_that_it_names(
    server: Shop, here: Place
) -> None:
    reset(server)
    time.sleep(1.1)
    began = int(time.time())
    drive(server, calls=False)  # the log has the statements within functions too
    after = content(server)
    reset(server)
    log = next(iter(server.directory.rglob("general.log")))
    out = here.path / "out.trace"
    made = here.dyno("digest", log, "--trace", out, "--since", began, "--user", "app")
    assert made.returncode == 0, made.stderr
    options = "speed: max, writes: true, databases: log"
    done = replay(here, server, options, "--write-to", "shop")
    assert content(server) == after
    assert group_of(done)["errors"] == {}


WRITTEN = """# Time: 2026-11-22T05:00:0SECOND.000001Z
# User@Host: app[app] @ localhost []  Id: SESSION
# Query_time: 0.000300  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use DATABASE;
SET timestamp=1795323600;
SELECT 'it''s';
"""


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_session_whose_database_is_gone_costs_itself_alone(server: Shop, here: Place) -> None:
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
