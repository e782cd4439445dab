"""`dyno digest` on captures of real servers: what was sent is reported, to the row."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pg8000.exceptions
import pg8000.native
import pymysql
import pytest
from capturing import Capture, captured
from pymysql.constants import CLIENT
from running import DYNO, Place, place, wait_for
from servers_there import PASSWORD, There, there

from dbdyno import systems
from dbdyno.systems.external.encryption import context

pytestmark = pytest.mark.live

TIMES = 7
COM_PREPARE, COM_EXECUTE, COM_LONG_DATA, COM_CLOSE = 0x16, 0x17, 0x18, 0x19
ROWS = 5


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        yield made


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def told(found: dict[str, Any], measure: str = "rows_sent") -> dict[str, tuple[int, float, int]]:
    """Fingerprint, in lower case -> (calls, sum of a measure, errors)."""
    return {
        one["fingerprint"].lower(): (
            one["count"],
            one["measures"].get(measure, {}).get("sum", 0),
            one["errors"],
        )
        for one in found["classes"]
    }


# -- MariaDB


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Capture, Path]]:
    """A capture of one load, and the slow log of the same."""
    config = {"slow_query_log": "ON", "long_query_time": "10", "slow_query_log_file": "slow.log"}
    with there("mariadb", **config) as server:
        server.grant("ALL PRIVILEGES ON shop.* TO app@'127.0.0.1'")
        server.sql("CREATE TABLE shop.t (a INT PRIMARY KEY, b TEXT)")
        server.sql(
            "CREATE PROCEDURE shop.two() BEGIN SELECT a FROM t WHERE a < 3;"
            " SELECT b FROM t WHERE a = 1; END"
        )
        server.sql("SET GLOBAL long_query_time = 0")
        with captured(server.server.port) as capture:
            mysql_load(server)
        # A statement is logged after its answer, before its session ends.
        sessions = "SELECT 1 FROM information_schema.processlist WHERE user = 'app'"
        assert wait_for(lambda: not server.sql(sessions))
        server.sql("SET GLOBAL slow_query_log = OFF")
        yield capture, next(iter(server.server.directory.rglob("slow.log")))


def mysql_connection(server: There, **more: Any) -> pymysql.Connection[Any]:
    where = {"host": "127.0.0.1", "port": server.server.port, "ssl_disabled": True} | more
    return pymysql.connect(user="app", password=PASSWORD, **where)


def mysql_load(server: There) -> None:
    many = CLIENT.MULTI_STATEMENTS
    with mysql_connection(server, database="shop", client_flag=many) as connection:
        connection.autocommit(True)
        with connection.cursor() as cursor:
            for n in range(ROWS):
                cursor.execute(f"INSERT INTO t VALUES ({n}, 'it''s {n}')")
            for n in range(TIMES):
                cursor.execute(f"SELECT a, b FROM t WHERE a < {n % 3}")
                cursor.fetchall()
            cursor.execute("UPDATE t SET b = 'x' WHERE a > 1")
            for _ in range(TIMES):
                with pytest.raises(pymysql.err.ProgrammingError):
                    cursor.execute("SELECT c FROM nowhere")
            cursor.execute("CALL two()")
            while cursor.nextset():
                pass
            # A result larger than a packet of TCP, and a statement of very many.
            cursor.execute(f"SELECT REPEAT('y', 300000), LENGTH('{'z' * (2 << 20)}')")
            cursor.fetchall()
        prepared(connection)
        connection.ping(reconnect=False)
    with mysql_connection(server) as other:
        other.select_db("shop")
        with other.cursor() as cursor:
            cursor.execute("SELECT MAX(a) FROM t")


def prepared(connection: Any) -> None:
    """A prepared statement with an integer and a long text, in the binary protocol."""

    def packets_until_end() -> None:
        while not connection._read_packet().is_eof_packet():
            pass

    connection._execute_command(COM_PREPARE, "SELECT b FROM t WHERE a = ? AND b <> ?")
    answer = connection._read_packet().get_all_data()
    number = answer[1:5]
    packets_until_end()
    packets_until_end()
    types = b"\x01\x08\x00\xfd\x00"
    for n in range(TIMES):
        if n == 0:
            connection._execute_command(COM_LONG_DATA, number + b"\x01\x00" + b"long text")
            text = b""
        else:
            text = b"\x04text"
        value = n.to_bytes(8, "little")
        head = number + b"\x00\x01\x00\x00\x00" + b"\x00" + types
        connection._execute_command(COM_EXECUTE, head + value + text)
        assert connection._read_packet().get_all_data() == b"\x01"
        packets_until_end()
        packets_until_end()
    connection._execute_command(COM_CLOSE, number)


def test_mariadb_is_heard_to_the_row(here: Place, mariadb: tuple[Capture, Path]) -> None:
    capture, _ = mariadb
    files = [capture.pcap(here.path / "c.pcap"), capture.pcapng(here.path / "c.pcapng")]
    found = [
        document(here.dyno("digest", file, "--json", "--limit", "all", "--strict"))
        for file in files
    ]
    assert [one["inputs"][0]["format"] for one in found] == ["mysql-capture"] * 2
    assert told(found[0]) == told(found[1])
    classes = told(found[0])
    affected = told(found[0], "rows_affected")
    selected = sum(n % 3 for n in range(TIMES))
    assert classes["select a, b from t where a < ?"] == (TIMES, selected, 0)
    assert affected["insert into t values(?+)"][:2] == (ROWS, ROWS), affected
    assert affected["update t set b = ? where a > ?"][:2] == (1, ROWS - 2)
    assert classes["select c from nowhere"] == (TIMES, 0, TIMES)
    assert classes["call two"] == (1, 4, 0)
    assert classes["select b from t where a = ? and b <> ?"] == (TIMES, ROWS, 0)
    assert classes["prepare select b from t where a = ? and b <> ?"][0] == 1
    assert classes["command: connect"][0] == 2 and classes["command: quit"][0] == 2
    overall = found[0]["classes"]
    assert {user for one in overall for user in one["users"]} == {"app"}
    assert {host for one in overall for host in one["hosts"]} == {"127.0.0.1"}
    assert "shop" in {database for one in overall for database in one["databases"]}
    codes = [one["error_codes"] for one in overall if one["errors"]]
    assert codes == [{"1146": TIMES}]
    assert found[0]["inputs"][0]["server"].startswith("MariaDB")


def test_a_capture_has_the_classes_of_the_slow_log(
    here: Place, mariadb: tuple[Capture, Path]
) -> None:
    capture, slow = mariadb
    file = capture.pcap(here.path / "c.pcap")
    heard, logged = (
        {
            one["id"]: one["count"]
            for one in document(here.dyno("digest", log, "--json", "--limit", "all"))["classes"]
            if re.search(r"^(?!PREPARE).* t\b", one["fingerprint"])
        }
        for log in (file, slow)
    )
    # What a procedure does is in the log alone.
    assert {id_: logged.get(id_) for id_ in heard} == heard
    assert len(heard) >= 5


def test_standard_input_packed_files_and_ports(here: Place, mariadb: tuple[Capture, Path]) -> None:
    capture, _ = mariadb
    file = capture.pcap(here.path / "c.pcap")
    packed = here.path / "c.pcap.gz"
    packed.write_bytes(gzip.compress(file.read_bytes(), 1))
    plain = told(document(here.dyno("digest", file, "--json", "--limit", "all")))
    assert told(document(here.dyno("digest", packed, "--json", "--limit", "all"))) == plain
    with file.open("rb") as stream:
        done = subprocess.run(
            [DYNO, "digest", "-", "--json", "--limit", "all", "--port", str(capture.port)],
            stdin=stream,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert told(document(done)) == plain
    none = here.dyno("digest", file, "--json", "--port", "9", "--strict")
    assert none.returncode == 1 and "--port" in none.stdout + none.stderr


def test_a_capture_that_begins_in_the_middle_finds_the_rest(
    here: Place, mariadb: tuple[Capture, Path]
) -> None:
    capture, _ = mariadb
    late = Capture(capture.port)
    # Behind the greeting, the login and the first statement.
    first = next(n for n, (_, data) in enumerate(capture.packets) if b"VALUES (0, 'it''s" in data)
    late.packets = capture.packets[first + 1 :]
    file = late.pcap(here.path / "late.pcap")
    classes = told(document(here.dyno("digest", file, "--json", "--limit", "all")))
    assert classes["select a, b from t where a < ?"][0] == TIMES
    assert classes["select b from t where a = ? and b <> ?"] == (TIMES, ROWS, 0)


# -- PostgreSQL

PIPELINE = """\
\\startpipeline
SELECT a FROM t WHERE a = :client_id;
UPDATE t SET b = 'p' WHERE a = 1;
\\endpipeline
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Capture]:
    with there("postgres") as server:
        server.grant("USAGE, CREATE ON SCHEMA public TO app")
        with captured(server.server.port) as capture:
            postgres_load(server)
        yield capture


def postgres_load(server: There) -> None:
    connection = pg8000.native.Connection(
        "app",
        host="127.0.0.1",
        port=server.server.port,
        database="shop",
        password=PASSWORD,
        ssl_context=False,
    )
    connection.run("CREATE TABLE t (a int PRIMARY KEY, b text)")
    for n in range(ROWS):
        connection.run("INSERT INTO t VALUES (:a, :b)", a=n, b=f"it's {n}")
    for n in range(TIMES):
        connection.run(f"SELECT a, b FROM t WHERE a < {n % 3}")
    one = connection.prepare("SELECT b FROM t WHERE a = :a")
    for n in range(TIMES):
        one.run(a=n)
    one.close()
    for _ in range(TIMES):
        with pytest.raises(pg8000.exceptions.DatabaseError):
            connection.run("INSERT INTO t VALUES (:a, 'x')", a=1)
    connection.run("UPDATE t SET b = 'y' WHERE a > 1; DELETE FROM t WHERE a = 4")
    connection.close()
    script = server.server.directory.parent / "pipeline.sql"
    script.write_text(PIPELINE)
    pgbench = systems.load("postgres").find(None).paths["server"].with_name("pgbench")
    host = ["-h", "127.0.0.1", "-p", str(server.server.port), "-U", "app", "shop"]
    subprocess.run(
        [pgbench, "-n", "-M", "prepared", "-t", str(TIMES), "-f", script, *host],
        env={"PGPASSWORD": PASSWORD, "PGSSLMODE": "disable", "PGGSSENCMODE": "disable"},
        check=True,
        capture_output=True,
        timeout=120,
    )


def test_postgres_is_heard_to_the_row(here: Place, postgres: Capture) -> None:
    files = [postgres.pcap(here.path / "c.pcap"), postgres.pcapng(here.path / "c.pcapng")]
    found = [
        document(here.dyno("digest", file, "--json", "--limit", "all", "--strict"))
        for file in files
    ]
    assert [one["inputs"][0]["format"] for one in found] == ["postgres-capture"] * 2
    assert told(found[0]) == told(found[1])
    classes = told(found[0])
    affected = told(found[0], "rows_affected")
    selected = sum(n % 3 for n in range(TIMES))
    assert classes["select a, b from t where a < ?"] == (TIMES, selected, 0)
    assert classes["select b from t where a = ?"] == (TIMES, ROWS, 0)
    # pgbench's first session is client 0: in a pipeline, each with the other.
    assert classes["select a from t where a = ?"] == (TIMES, TIMES, 0)
    assert affected["update t set b = ? where a = ?"][:2] == (TIMES, TIMES)
    inserts = [one for text, one in affected.items() if text.startswith("insert into t")]
    assert sum(one[0] for one in inserts) == ROWS + TIMES
    assert (sum(one[1] for one in inserts), sum(one[2] for one in inserts)) == (ROWS, TIMES)
    both = next(one for text, one in affected.items() if "delete from t" in text)
    assert both == (1, 3 + 1, 0)
    codes = [one["error_codes"] for one in found[0]["classes"] if one["errors"]]
    assert codes == [{"23505": TIMES}]
    assert {user for one in found[0]["classes"] for user in one["users"]} == {"app"}
    assert {name for one in found[0]["classes"] for name in one["databases"]} == {"shop"}
    assert found[0]["inputs"][0]["server"].startswith("PostgreSQL")


def test_what_is_encrypted_is_counted(here: Place) -> None:
    with there("mariadb") as server, captured(server.server.port) as capture:
        mysql_connection(server, ssl_disabled=False, ssl=context("require")).close()
    file = capture.pcap(here.path / "tls.pcap")
    found = document(here.dyno("digest", file, "--json"))["inputs"][0]
    assert found["events"] == 0 and found["pieces_not_understood"] == 1
    assert "TLS" in found["not_understood"][0]["why"]
