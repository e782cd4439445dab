"""`dyno check LOG`: a raw slow log of MySQL or MariaDB and a log of PostgreSQL, alone and with the
schema that they are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

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
