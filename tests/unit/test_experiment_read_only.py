"""External servers: what `session:` may hold, and what a load that may not write may send."""

from __future__ import annotations

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load as load_file
from dbdyno.experiment.targets.read_only import session, statements
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make

MACHINE = Machine(8, 16 << 30, "6.1", "CPU", tuple(range(8)))
FILE = """experiment: x
targets:
  db:
    url: {url}
    session:
      - SET NAMES utf8
      - {session!r}
    {more}
workload: {{kind: mix, statements: {{find: {sql!r}}}}}
"""
URLS = {"mysql": "mysql://app@db1:3306", "postgres": "postgres://app@db1/shop"}

SETTINGS = {
    "mysql": (
        "SET sort_buffer_size = 1048576",
        "SET SESSION optimizer_switch='mrr=on,mrr_cost_based=off'; ",
        "set names utf8mb4 collate utf8mb4_bin",
        "SET a=1, @@session.b = 'x', @v := 3, local c=ON",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET @@sql_mode=''",
    ),
    "postgres": (
        "SET work_mem = '64MB'",
        "SET SESSION jit TO off",
        'SET search_path TO "$user", public',
        "SET LOCAL auto_explain.log_min_duration = 3",
        "SET TIME ZONE 'UTC'",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE;",
    ),
}
SESSION_ATTACKS = {
    "mysql": (
        "SET SESSION transaction_read_only=0",
        "SET @@session . tx_read_only = 0",
        "SET `transaction_read_only`=0",
        "SET SESSION TRANSACTION READ WRITE",
        "START TRANSACTION READ WRITE",
        "SET GLOBAL max_connections=1",
        "SET sort_buffer_size=1, GLOBAL max_connections=1",
        "SET @@global.max_connections=1",
        "SET a=1, @@persist.max_connections=2",
        "SET /*!GLOBAL*/ max_connections=1",
        "SET ROLE admin",
        "SET PASSWORD='x'",
        "SET sql_log_bin=0",
        "SET @a=(SELECT poke())",
        "SET @a=poke()",
        "SET STATEMENT max_statement_time=1 FOR DELETE FROM t",
        "SET a=1; DELETE FROM t",
        "SET a='x\\'",
        "DO poke()",
        "SELECT poke()",
        "CALL poke()",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "DELETE FROM t",
    ),
    "postgres": (
        "SET default_transaction_read_only = off",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET TRANSACTION READ WRITE",
        "BEGIN READ WRITE",
        "SET ROLE admin",
        "SET role TO admin",
        'SET "role" = admin',
        "SET SESSION AUTHORIZATION admin",
        "SET session_authorization = admin",
        "SET session_replication_role = replica",
        "SET a = 1; DELETE FROM t",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
        "SELECT poke()",
        "DO $$BEGIN DELETE FROM t; END$$",
        "CALL poke()",
        "COPY t TO PROGRAM 'sh'",
        "COPY t TO '/tmp/x'",
        "ALTER SYSTEM SET max_connections = 1",
        "RESET ALL",
        "DISCARD ALL",
    ),
}
READS = {
    "mysql": (
        "SELECT c FROM t WHERE id=:id -- x",
        "(SELECT 1) UNION (SELECT 2);",
        "SELECT 'a;b''c', `x;y`, \"z\" FROM t /* ; */ # ;",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SHOW TABLES",
        "SET @x := 1",
        "SELECT a-- -1",
    ),
    "postgres": (
        'SELECT c::int FROM "T;" WHERE id=:id -- ;',
        "SELECT pg_sleep(0.1), pg_get_viewdef('x')",
        "VALUES (1)",
    ),
}
STATEMENT_ATTACKS = {
    "mysql": (
        "SELECT 1; DELETE FROM t",
        "SELECT * FROM t INTO OUTFILE '/tmp/x'",
        "SELECT 1 INTO/**/DUMPFILE '/tmp/x'",
        "CALL poke()",
        "DO poke()",
        "SET SESSION transaction_read_only = 0",
        "SELECT '\\'; COMMIT; DELETE FROM t -- '",
        "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
        "SELECT 1 -- \x01' \n; DELETE FROM t -- '",
        "SELECT sys_exec('x')",
        "SELECT `sys_exec` ('x')",
        "SELECT 'a",
    ),
    "postgres": (
        "SELECT 1; COMMIT; BEGIN READ WRITE; DELETE FROM t; COMMIT",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
        "SELECT \"set_config\"('a', 'b', false)",
        "SELECT pg_catalog . set_config ('a', 'b', false)",
        "SELECT $$'$$; DELETE FROM t --'",
        "SELECT E'\\'; DELETE FROM t --'",
        "SELECT 1 -- '\r; DELETE FROM t --'",
        "SELECT lo_export(1, '/tmp/x')",
        "SELECT dblink_exec('', 'DELETE FROM t')",
        "SELECT pg_terminate_backend(1)",
        "COPY t TO PROGRAM 'sh'",
        "DO 'BEGIN DELETE FROM t; END'",
    ),
}
KINDS = ("mysql", "postgres")


def pairs(cases: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(kind, each) for kind in KINDS for each in cases[kind]]


@pytest.mark.parametrize(("kind", "statement"), pairs(SETTINGS))
def test_sessions_are_set(kind: str, statement: str) -> None:
    assert session.refusal(statement, kind) == ""


@pytest.mark.parametrize(("kind", "statement"), pairs(SESSION_ATTACKS))
def test_sessions_do_nothing_but_set(kind: str, statement: str) -> None:
    assert session.refusal(statement, kind)
    with pytest.raises(DynoError) as raised:
        load_file(FILE.format(url=URLS[kind], session=statement, more="", sql="SELECT 1"))
    assert raised.value.where is not None and raised.value.where.line == 7


@pytest.mark.parametrize(("kind", "sql"), pairs(READS))
def test_reads_are_sent(kind: str, sql: str) -> None:
    assert statements.refusal(sql, kind) == ""


@pytest.mark.parametrize(("kind", "sql"), pairs(STATEMENT_ATTACKS))
def test_what_escapes_a_read_only_session_is_refused(kind: str, sql: str) -> None:
    assert statements.refusal(sql, kind)


def load(kind: str, group: str, may: str = "") -> None:
    text = FILE.format(
        url=URLS[kind], session="SET NAMES utf8", more=f"data: {{existing: shop}}{may}", sql=""
    )
    text = text[: text.index("workload:")] + f"workload: {group}\n"
    make(load_file(text), MACHINE, write_to=["shop"] if may else [])


@pytest.mark.parametrize("kind", KINDS)
def test_saying_that_a_statement_reads_is_not_enough(kind: str, tmp_path: object) -> None:
    call = "{kind: mix, statements: {find: {sql: CALL poke(), reads: true}}}"
    with pytest.raises(DynoError, match=r"statements\.find"):
        load(kind, call)
    load(kind, "{kind: mix, statements: {find: SELECT 1}}")
    load(kind, "{kind: mix, statements: {find: DELETE FROM t}}", "\n    may: {write: yes}")


def test_built_in_scripts_read_and_others_are_not_known_to() -> None:
    load("mysql", "{kind: lua, script: oltp_read_only}")
    own = "{kind: lua, script: benches/none.lua, reads: true}"
    with pytest.raises(DynoError):
        load("mysql", own)


def test_servers_of_our_own_take_any_session_statement() -> None:
    text = FILE.format(url="x", session="SET GLOBAL a = 1", more="", sql="SELECT 1")
    load_file(text.replace("url: x", "kind: mariadb"))
