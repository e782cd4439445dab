"""Sessions that must not write, against real servers: whatever comes first, the guard comes last.

The experiment's check is gone past here: attacks go straight to the engine, in a session of a user
who may do everything. `tests/unit/test_experiment_read_only.py` holds what the check
refuses before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import Event, Said, plan, run
from private_servers import SERVERS
from running import Place, has, lost, place, wait_until_idle
from servers_there import PASSWORD, There, there

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

ONE = 'INSERT INTO touched VALUES (1, "?")'.replace('"?"', "'x'")
FUNCTIONS = {
    "mysql": (
        "CREATE FUNCTION shop.poke() RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA "
        "BEGIN INSERT INTO shop.touched VALUES (2, 'f'); RETURN 1; END",
        "CREATE FUNCTION shop.lift() RETURNS INT NOT DETERMINISTIC NO SQL "
        "BEGIN SET SESSION VARIABLE = 0; RETURN 1; END",
    ),
    "postgres": (
        "CREATE FUNCTION poke() RETURNS int LANGUAGE sql AS "
        "$$INSERT INTO touched VALUES (2, 'f') RETURNING 1$$",
        "CREATE FUNCTION lift() RETURNS text LANGUAGE sql AS "
        "$$SELECT set_config('default_transaction_read_only', 'off', false)$$",
    ),
}
WRITES = {"insert": ONE, "poke": "SELECT poke()", "change": "UPDATE sbtest1 SET k = k + 1"}
# VARIABLE is this server's name of it.
MYSQL = (
    ("SET SESSION VARIABLE = 0",),
    ("SET @@session.VARIABLE = 0",),
    ("SET SESSION TRANSACTION READ WRITE",),
    ("SET TRANSACTION READ WRITE",),
    ("SET SESSION TRANSACTION READ WRITE", "BEGIN"),
    ("START TRANSACTION READ WRITE",),
    ("BEGIN",),
    ("SET autocommit = 0",),
    ("SET autocommit = 0", "SELECT * FROM sbtest1 LIMIT 1"),
    ("SET completion_type = 1", "START TRANSACTION READ WRITE"),
    ("SET completion_type = 1", "SET TRANSACTION READ WRITE"),
    ("XA START 'a'",),
    ("SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'", "SET VARIABLE = 0"),
    ("PREPARE lift FROM 'SET SESSION VARIABLE = 0'", "EXECUTE lift"),
    ("LOCK TABLES sbtest1 WRITE, touched WRITE", "SET VARIABLE = 0"),
    ("SELECT lift()",),
    ("DO lift()",),
    ("SET ROLE NONE", "SET VARIABLE = 0"),
    ("SET SESSION init_connect_is_no_variable = 1",),
)
POSTGRES = (
    ("SET default_transaction_read_only = off",),
    ("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",),
    ("SET TRANSACTION READ WRITE",),
    ("BEGIN",),
    ("BEGIN READ WRITE",),
    ("BEGIN; SET TRANSACTION READ WRITE",),
    ("START TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE",),
    ("SELECT set_config('default_transaction_read_only', 'off', false)",),
    ("SELECT set_config('transaction_read_only', 'off', false)",),
    ("SELECT lift()",),
    ("SET SESSION AUTHORIZATION app", "SET default_transaction_read_only = off"),
    ("SET ROLE NONE",),
    ("SET session_replication_role = replica",),
    ("DO $$BEGIN PERFORM lift(); END$$",),
    ("DISCARD ALL",),
    ("RESET ALL",),
    ("PREPARE lift AS SELECT lift()", "EXECUTE lift"),
    ("SELECT 1; SET default_transaction_read_only = off",),
    ("BEGIN", "SAVEPOINT a", "SET LOCAL transaction_read_only = off"),
)


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    with there(request.param) as made:
        if made.kind == "postgres":
            made.sql("CREATE TABLE touched (id int, what text)", *FUNCTIONS["postgres"])
            made.sql("ALTER ROLE app SUPERUSER")
        else:
            made.sql("CREATE TABLE shop.touched (id int, what varchar(9))")
            if made.kind == "mysql":
                made.sql("SET GLOBAL log_bin_trust_function_creators = 1")
            made.sql(*(named(made, each) for each in FUNCTIONS["mysql"]))
            made.sql("GRANT ALL ON *.* TO app@'127.0.0.1'")
        yield made


def named(server: There, sql: str) -> str:
    return sql.replace(
        "VARIABLE", "transaction_read_only" if server.kind == "mysql" else "tx_read_only"
    )


def rows(server: There) -> list[Any]:
    schema = "" if server.kind == "postgres" else "shop."
    return server.sql(f"SELECT count(*), sum(k) FROM {schema}sbtest1") + server.sql(
        f"SELECT count(*), min(what) FROM {schema}touched"
    )


def attack(
    server: There,
    directory: Path,
    session: tuple[str, ...],
    statements: dict[str, str],
    *,
    read_only: bool = True,
    protocol: str = "text",
    until: Callable[[Sequence[Event]], bool] | None = None,
) -> Said:
    """One session that begins with these statements and then sends those, for a moment or `until`
    that holds of the engine's events."""
    target = {
        "driver": "postgres" if server.kind == "postgres" else "mysql",
        "address": {"tcp": {"host": "127.0.0.1", "port": server.server.port}},
        "user": "app",
        "password": PASSWORD,
        "database": "shop",
        "tls": "prefer",
        "protocol": protocol,
        "session_sql": list(session),
        "read_only": read_only,
    }
    options = {"statements": {name: {"sql": sql} for name, sql in statements.items()}}
    trial = plan(directory, target, duration_s=0.2, workload="mix", sessions=1, options=options)
    said = run(trial, until=until)
    wait_until_idle("postgres" if server.kind == "postgres" else "mysql", server.sql)
    return said


def test_the_same_load_writes_where_it_may(server: There, tmp_path: Path) -> None:
    before = rows(server)
    attack(server, tmp_path, (), WRITES, read_only=False, until=has(1))
    assert rows(server) != before


@pytest.mark.parametrize(
    ("server", "session"),
    [
        pytest.param(kind, session, id=f"{kind}: {'; '.join(session)}")
        for kind in SERVERS
        for session in (POSTGRES if kind == "postgres" else MYSQL)
    ],
    indirect=["server"],
)
def test_no_session_statement_lifts_the_guard(
    server: There, session: tuple[str, ...], tmp_path: Path
) -> None:
    before = rows(server)
    said = attack(server, tmp_path, tuple(named(server, each) for each in session), WRITES)
    assert rows(server) == before
    # Guarded, or refused since a transaction was open.
    assert said.last["event"] in ("end", "failed")


def is_lost(events: Sequence[Event]) -> bool:
    """Whether the only session is without a connection, or was."""
    return lost(1)(events) or any(one["event"] == "outage" for one in events)


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_a_function_that_lifts_it_ends_the_connection(
    server: There, tmp_path: Path, protocol: str
) -> None:
    before = rows(server)
    # MySQL and MariaDB refuse to prepare what writes in such a session.
    writes = WRITES if protocol == "text" or server.kind == "postgres" else {}
    statements = {"lift": "SELECT lift()", **writes}
    said = attack(server, tmp_path, (), statements, protocol=protocol, until=is_lost)
    assert rows(server) == before
    assert "keep this session from writing" in said.text


def test_reads_go_on_in_guarded_sessions(server: There, tmp_path: Path) -> None:
    for protocol in ("text", "prepared"):
        reads = {"find": "SELECT c FROM sbtest1 WHERE id = 7"}
        said = attack(server, tmp_path, (), reads, protocol=protocol, until=has(1))
        assert said.total["errors"] == {} and said.total["transactions"] > 0, said.total


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def test_dyno_refuses_before_anything_is_sent(server: There, here: Place) -> None:
    before = rows(server)
    file = f"""experiment: attack
targets: {{db: {{url: "{server.url}", password_env: APP_PASSWORD, data: {{existing: shop}}
  SESSION}}}}
workload: {{kind: mix, statements: {{poke: {{sql: "SQL", reads: true}}}}}}
"""
    schema = "public" if server.kind == "postgres" else "shop"
    file = file.replace("existing: shop", f"existing: {schema}")
    for session, sql in (
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "SELECT poke()"),
        ("SET NAMES utf8", ONE),
    ):
        text = file.replace("SESSION", f', session: ["{session}"]').replace("SQL", sql)
        done = here.dyno("run", here.experiment(text), "--dir", "r")
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        assert not (here.path / "r").exists()
    assert rows(server) == before
