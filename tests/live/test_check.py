"""`dyno check` on real servers: what it sends, what a bundle holds, no false alarm on defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from private_servers import SERVERS
from servers_there import PASSWORD, There, there

from dbdyno import systems
from dbdyno.cli.main import dyno
from dbdyno.facts.servers import mysql, postgres
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import SEVERITIES
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.scratch import Scratch
from needed import missing

ROOT = Path(__file__).parents[2]
MEDIUM = SEVERITIES.index("medium")
NEEDLE = "needle-in-a-row-4711"


def check(*args: object) -> Any:
    """The document of a check."""
    is_server = any("://" in str(one) for one in args)
    login = ("--password-env", "APP_PASSWORD") if is_server else ()
    done = CliRunner(env={"APP_PASSWORD": PASSWORD}).invoke(
        dyno,
        ["check", *map(str, args), *login],
        standalone_mode=False,
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout)


def found(document: Any) -> set[str]:
    return {one["rule"] for one in document["findings"]}


def both(document: Any) -> dict[str, Any]:
    """What a check found, and how many rules said what."""
    return {"found": found(document), "counts": document["counts"]}


def severe(document: Any) -> list[tuple[str, str]]:
    """Findings of medium severity or more."""
    return [
        (one["rule"], one["what"])
        for one in document["findings"]
        if SEVERITIES.index(one["severity"]) >= MEDIUM
    ]


@pytest.mark.parametrize("kind", SERVERS)
def test_defaults_that_are_fine_raise_no_alarm(kind: str) -> None:
    with there(kind) as server:
        document = check(server.url, "--json", "--memory", "16Gi")
        assert severe(document) == []
        assert sum(document["counts"].values()) == len(RULES)


def test_defaults_of_a_newer_mariadb_raise_no_alarm(tmp_path: Path) -> None:
    prefix = ROOT / ".prefix" / "mariadb-11.8" / "usr"
    if not prefix.exists():
        missing("run `make servers`")
    system = systems.load("mariadb")
    found_there = system.find(str(prefix))
    assert found_there.version.startswith("11.8")
    resolved = system.resolve(TargetPlan(name="db", kind="mariadb"))
    with Scratch() as scratch:
        system.prepare(found_there, scratch.path / "db", resolved)
        server = system.start(found_there, scratch.path / "db", resolved, cpus=[])
        try:
            server.rows(f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            document = check(f"mariadb://app@127.0.0.1:{server.port}", "--json", "--memory", "16Gi")
        finally:
            server.stop()
    assert document["subjects"][0]["version"][:2] == [11, 8]
    assert severe(document) == []


OFF = ("performance_schema is off", "pg_stat_statements is not created in this database")


def lacking(document: Any) -> set[str]:
    """What an account may not read; what a server does not count by default does not count."""
    missing = {
        name: reason
        for name, reason in document["subjects"][0]["missing"].items()
        if reason not in OFF
    }
    assert all("denied" in reason for reason in missing.values()), missing
    return {*missing}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_bundle_says_the_same_and_holds_no_secret(kind: str, tmp_path: Path) -> None:
    bundle = tmp_path / "facts.json"

    def judged() -> dict[str, Any]:
        bundle.write_text(json.dumps(check(server.url, "--collect")))
        return both(check(bundle, "--json"))

    with there(kind) as server:
        plant(server)
        for _ in range(5):  # the server may have changed by itself meanwhile, as by an autovacuum
            earlier, live, later = judged(), both(check(server.url, "--json")), judged()
            if earlier == later:
                break
    text = bundle.read_text()
    jsonschema.validate(
        json.loads(text), json.loads((ROOT / "schemas" / "facts.schema.json").read_text())
    )
    assert NEEDLE not in text
    assert PASSWORD not in text
    assert earlier == live == later


def plant(server: There) -> None:
    """A row, an account and a setting with what must not be collected."""
    if server.kind == "postgres":
        server.sql(
            f"UPDATE sbtest1 SET pad = '{NEEDLE}' WHERE id = 1",
            f"CREATE ROLE other LOGIN PASSWORD '{NEEDLE}'",
            f"ALTER SYSTEM SET primary_conninfo = 'host=h password={NEEDLE}'",
            "SELECT pg_reload_conf()",
        )
    else:
        server.sql(
            f"UPDATE shop.sbtest1 SET pad = '{NEEDLE}' WHERE id = 1",
            f"CREATE USER other@localhost IDENTIFIED BY '{NEEDLE}'",
            f"SET GLOBAL init_connect = 'SET @x = ''{NEEDLE}'''",
        )


def test_only_the_listed_statements_are_sent() -> None:
    with there("mariadb") as server:
        server.sql("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
        check(server.url, "--json")
        server.sql("SET GLOBAL general_log = OFF")
        rows = server.sql(
            "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log"
            " WHERE command_type = 'Query' AND user_host LIKE 'app%'"
        )
    sent = {str(row[0]) for row in rows}
    listed = {*mysql.SESSION["mariadb"], mysql.VARIABLES, mysql.COUNTERS}
    listed |= {query.sql for query in mysql.QUERIES}
    login = {"SELECT VERSION()", "SET AUTOCOMMIT = 1", "SET NAMES utf8mb4"}
    assert sent - listed - login == set()
    assert {mysql.VARIABLES, mysql.COUNTERS} <= sent


@pytest.mark.parametrize("kind", SERVERS)
def test_the_session_can_only_read(kind: str) -> None:
    """The statements of the list itself make it so."""
    with there(kind) as server:
        if kind == "postgres":
            with pytest.raises(Exception, match="read-only"):
                server.server.run_in("shop", [*postgres.SESSION, "DELETE FROM sbtest1"])
        else:
            statements = [*mysql.SESSION[kind], "DELETE FROM sbtest1"]
            with pytest.raises(Exception, match="READ ONLY"):
                server.server.run("shop", statements)
