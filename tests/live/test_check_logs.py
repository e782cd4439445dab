"""`dyno check LOG...`: raw slow logs of MySQL or MariaDB and logs of PostgreSQL in its three forms,
alone and with the schema that they are of."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hurried import drop
from private_servers import bench
from running import wait_for

from dbdyno.cli.main import dyno

pytestmark = pytest.mark.live

NEEDLE = "needle-4711"
SLOW = """/usr/sbin/mariadbd, Version: {version}-MariaDB-log (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261102 10:00:00
# User@Host: app[app] @ web [10.0.0.5]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 1.200000  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 99015
# Rows_affected: 0  Bytes_sent: 60
# Full_scan: Yes  Full_join: No  Tmp_table: Yes  Tmp_table_on_disk: Yes
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No
SET timestamp=1793613600;
SELECT COUNT(*) FROM orders WHERE YEAR(created) = 2019;
# User@Host: app[app] @ web [10.0.0.5]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 0.800000  Lock_time: 0.000100  Rows_sent: 2  Rows_examined: 50000
# Rows_affected: 0  Bytes_sent: 60
SET timestamp=1793613601;
SELECT id FROM users WHERE mail LIKE '%{needle}';
# User@Host: app[app] @ web [10.0.0.5]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 0.002000  Lock_time: 0.000100  Rows_sent: 0  Rows_examined: 0
# Rows_affected: 0  Bytes_sent: 60
SET timestamp=1793613602;
CREATE TABLE made (a INT);
# User@Host: app[app] @ web [10.0.0.5]
# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 0.002000  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 60
SET timestamp=1793613603;
SELECT AES_ENCRYPT(mail, '{needle}') FROM users WHERE id = 4;
"""
DUMP = (
    "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB\n-- Server version\t10.11.6-MariaDB\n"
    "CREATE TABLE orders (id INT PRIMARY KEY, created DATE, KEY by_created (created));\n"
    "CREATE TABLE users (id INT PRIMARY KEY, mail VARCHAR(80), KEY by_mail (mail));\n"
)
POSTGRES = """2026-11-02 10:00:00.000 UTC [4711] LOG:  duration: 1200.000 ms  statement: SELECT id FROM users WHERE lower(mail) = 'needle-4711'
2026-11-02 10:00:01.000 UTC [4711] LOG:  duration: 800.000 ms  statement: SELECT id FROM users WHERE mail LIKE '%needle-4711%'
2026-11-02 10:00:02.000 UTC [4711] LOG:  duration: 1.000 ms  statement: SELECT pgp_sym_encrypt(mail, 'needle-4711') FROM users WHERE id = 4
"""  # noqa: E501


def checked(*arguments: object) -> tuple[dict[str, Any], str]:
    """The document, and all that was printed."""
    words = ["check", *map(str, arguments), "--json", "--fail-on", "critical"]
    done = CliRunner().invoke(dyno, words, standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.return_value == 0
    found: dict[str, Any] = json.loads(done.stdout)
    return found, done.output


def rules(found: dict[str, Any]) -> set[str]:
    return {one["rule"] for one in found["findings"]}


def told(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Findings without where they are from."""
    return sorted((one["rule"], one["what"], one["effect"]) for one in found["findings"])


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.log"
    path.write_text(SLOW.format(version="10.11.6", needle=NEEDLE))
    return path


def test_a_slow_log_alone_is_judged_by_its_statements(slow: Path) -> None:
    found, printed = checked(slow)
    assert rules(found) == {
        "mysql-keys-in-logs",
        "mysql-log-function-on-column",
        "mysql-log-leading-wildcard",
        "mysql-log-rows-examined",
        "mysql-log-temporary-on-disk",
    }
    assert NEEDLE not in printed
    (function,) = (
        one for one in found["findings"] if one["rule"] == "mysql-log-function-on-column"
    )
    assert "YEAR(created) = ?" in function["what"]
    # What needs the tables is not known, and never fine.
    unknown = {one["rule"]: one["reason"] for one in found["not_known"]}
    assert unknown["mysql-function-on-column"] == "user_tables: a log does not tell it"
    assert "mysql-implicit-cast" in unknown


def test_a_newer_server_makes_the_range_itself(tmp_path: Path) -> None:
    path = tmp_path / "slow.log"
    path.write_text(SLOW.format(version="11.4.2", needle=NEEDLE))
    assert "mysql-log-function-on-column" not in rules(checked(path)[0])


def test_with_the_schema_the_rules_on_indexes_judge(slow: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(DUMP)
    found, printed = checked(dump, slow)
    assert {"mysql-function-on-column", "mysql-leading-wildcard"} <= rules(found)
    assert not {"mysql-log-function-on-column", "mysql-log-leading-wildcard"} & rules(found)
    assert "mysql-log-rows-examined" in rules(found)
    assert NEEDLE not in printed
    (function,) = (one for one in found["findings"] if one["rule"] == "mysql-function-on-column")
    assert "by_created" in function["what"]


def test_a_log_of_postgres_is_judged_too(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    path.write_text(POSTGRES)
    found, printed = checked(path)
    assert rules(found) == {
        "mysql-keys-in-logs",
        "postgres-log-function-on-column",
        "postgres-log-leading-wildcard",
    }
    assert NEEDLE not in printed


def test_a_log_of_slow_statements_alone_says_so(tmp_path: Path) -> None:
    path = tmp_path / "slow.log"
    event = (
        "# User@Host: app[app] @ web [10.0.0.5]\n"
        "# Query_time: {time:.6f}  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n"
        "SET timestamp={at};\nSELECT a FROM t WHERE id = 1;\n"
    )
    path.write_text(
        "".join(event.format(time=1 + n / 100, at=1_793_613_600 + n) for n in range(200))
    )
    found, _ = checked(path)
    assert "mysql-log-lacks-statements" in rules(found)


def test_a_collected_log_has_no_statement_unless_asked_for(slow: Path) -> None:
    def collected(*options: str) -> str:
        done = CliRunner().invoke(
            dyno, ["check", str(slow), "--collect", *options], standalone_mode=False
        )
        assert done.exception is None, done.exception
        return done.stdout

    assert "YEAR" not in collected() and NEEDLE not in collected()
    with_statements = collected("--statements")
    assert "YEAR" in with_statements and NEEDLE not in with_statements
    bundle = slow.with_name("facts.json")
    bundle.write_text(with_statements)
    assert rules(checked(bundle)[0]) == rules(checked(slow)[0])


def test_only_packs_that_need_statements_have_them_read(slow: Path) -> None:
    found, _ = checked(slow, "--only", "encryption")
    assert rules(found) == {"mysql-keys-in-logs"}


def test_rotated_logs_are_one_log(slow: Path, tmp_path: Path) -> None:
    packed, whole = tmp_path / "slow.log.1.gz", tmp_path / "whole.log"
    older = SLOW.format(version="10.11.6", needle=NEEDLE).replace("YEAR(", "DAYOFYEAR(")
    packed.write_bytes(gzip.compress(older.encode()))
    whole.write_text(older + slow.read_text())
    found, printed = checked(packed, slow)
    assert told(found) == told(checked(whole)[0])
    assert {one["subject"] for one in found["findings"]} == {f"{packed}, {slow}"}
    assert NEEDLE not in printed
    (secret,) = (one for one in found["findings"] if one["rule"] == "mysql-keys-in-logs")
    line = 1 + older[: older.index("AES_ENCRYPT")].count("\n")
    assert secret["what"].startswith("2 statements")
    assert [one["place"] for one in secret["evidence"]] == [f"{packed}:{line}:1"]
    # Once more the same file is no other log, and the schema is of all of them.
    assert told(checked(packed, slow, slow)[0]) == told(found)
    dump = tmp_path / "dump.sql.gz"
    dump.write_bytes(gzip.compress(DUMP.encode()))
    with_tables = [one["what"] for one in checked(dump, packed, slow)[0]["findings"]]
    assert sum("by_created" in what for what in with_tables) == 2


def test_logs_of_two_forms_are_not_added_up(slow: Path, tmp_path: Path) -> None:
    general = tmp_path / "general.log"
    general.write_text(
        "Time                 Id Command    Argument\n"
        "\t4 Query\tSELECT COUNT(*) FROM orders WHERE YEAR(created) = 2019\n"
    )
    found, _ = checked(slow, general)
    assert told(found) == told(checked(slow)[0])
    dump = tmp_path / "dump.sql"
    dump.write_text(DUMP)  # the log with times is that of the schema
    assert "mysql-function-on-column" in rules(checked(dump, general, slow)[0])
    lines, csv = tmp_path / "postgresql.log", tmp_path / "postgresql.csv"
    lines.write_text(POSTGRES)
    csv.write_text(
        '2026-11-02 10:00:00.000 UTC,"app","shop",7,"[local]",6b.7,1,"SELECT",2026-11-02 10:00:00'
        ' UTC,3/4,0,LOG,00000,"duration: 9.000 ms  statement: SELECT id FROM users WHERE'
        ' lower(mail) = 7",,,,,,,,,"app","client backend",,0\n'
    )
    of_postgres = tmp_path / "schema.sql"
    of_postgres.write_text(
        "-- PostgreSQL database dump\nCREATE TABLE public.users (id integer, mail text);\n"
    )
    unknown = {one["reason"] for one in checked(of_postgres, lines, csv)[0]["not_known"]}
    assert any(f"each of {lines}, {csv} may be its log" in reason for reason in unknown)


TABLES = ("CREATE EXTENSION pgcrypto", "CREATE TABLE users (id INT, mail TEXT)")
STATEMENTS = (
    "SET log_min_duration_statement = 0",
    f"SELECT id FROM users WHERE lower(mail) = '{NEEDLE}'",
    f"SELECT id FROM users WHERE mail LIKE '%{NEEDLE}'",
    f"SELECT\nhmac(mail, '{NEEDLE}', 'sha256') FROM users",
    "SELECT 'the last one'",
)
FORMS = """logging_collector = on
log_destination = 'stderr,csvlog,jsonlog'
log_directory = 'log'
log_filename = 'all.log'
"""


def test_all_forms_of_a_log_of_postgres_are_judged_alike() -> None:
    with bench("postgres", durability="none") as made:
        data = made.directory / "data"
        with (data / "postgresql.auto.conf").open("a") as file:  # above what dbdyno writes
            file.write(FORMS)
        server = made.start()
        try:
            server.run("postgres", ["CREATE DATABASE shop"])
            server.run("shop", TABLES)
            server.run("shop", STATEMENTS)
            logs = [data / "log" / f"all.{end}" for end in ("log", "csv", "json")]
            assert wait_for(lambda: all(b"the last one" in log.read_bytes() for log in logs))
        finally:
            drop([server])
        by_lines, by_csv, by_json = (checked(log) for log in logs)
    assert rules(by_lines[0]) == {
        "mysql-keys-in-logs",
        "postgres-log-function-on-column",
        "postgres-log-leading-wildcard",
    }
    assert told(by_csv[0]) == told(by_json[0]) == told(by_lines[0])
    assert not any(NEEDLE in printed for _, printed in (by_lines, by_csv, by_json))
