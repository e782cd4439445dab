"""Encryption on real servers: what files show against what is set, sessions, keys in logs, and a
value that is written and found again. Each trap would pass with a tool that believed a setting."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from private_servers import binaries, initialised, patient
from running import DYNO
from servers_there import PASSWORD
from test_check import check, found

from dbdyno import systems
from dbdyno.execute.needle import writing
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external.server import MARKER, PREFIX
from dbdyno.systems.process.scratch import Scratch
from needed import missing

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="files of the server's account are read"),
]
ROOT = Path(__file__).parents[2]
ONLY = ("--only", "encryption")
KEY = "planted-key-4711"
EVERYTHING = {
    "innodb_encrypt_tables": "FORCE",
    "innodb_encrypt_log": "ON",
    "innodb_encrypt_temporary_tables": "ON",
    "innodb_encryption_threads": "1",
    "encrypt_binlog": "ON",
    "encrypt_tmp_disk_tables": "ON",
    "encrypt_tmp_files": "ON",
    "aria_encrypt_tables": "ON",
}
ROWS = ", ".join(f"({n}, REPEAT('street {n} ', 9))" for n in range(3000))


class Planted:
    """A server and its data directory; `app` may do what a check with --write-needle needs."""

    def __init__(self, kind: str, server: Any) -> None:
        self.kind, self.server = kind, server
        self.directory = Path(str(server.rows("SELECT @@datadir")[0][0]).rstrip("/"))
        self.url = f"{kind}://app@127.0.0.1:{server.port}"
        self.sql(
            f"CREATE USER app@'%' IDENTIFIED BY '{PASSWORD}'",
            "GRANT PROCESS, RELOAD, REPLICATION CLIENT ON *.* TO app@'%'",
            "GRANT SELECT ON mysql.* TO app@'%'",
            "GRANT SELECT ON performance_schema.* TO app@'%'",
            "GRANT ALL ON `dbdyno\\_%`.* TO app@'%'",
            "CREATE DATABASE shop",
        )

    def sql(self, *statements: str) -> list[Any]:
        """As the server's owner."""
        rows: list[Any] = []
        for statement in statements:
            rows = self.server.rows(statement)
        return rows

    def fill(self, name: str, option: str = "") -> None:
        """A table with rows, in its file."""
        columns = "(id INT PRIMARY KEY, address TEXT) ENGINE = InnoDB"
        self.sql(
            f"CREATE TABLE shop.{name} {columns} {option}",
            f"INSERT INTO shop.{name} VALUES {ROWS}",
            f"FLUSH TABLES shop.{name} FOR EXPORT",
            "UNLOCK TABLES",
        )


@contextmanager
def mariadb(keys: Path, prefix: Path | None = None, **config: str) -> Iterator[Planted]:
    """With a key, and a binary log."""
    keys.write_text(f"1;{secrets.token_hex(32)}\n")
    keys.chmod(0o644)
    given = {
        "plugin_load_add": "file_key_management",
        "file_key_management_filename": str(keys),
        "log_bin": "binlog",
        **config,
    }
    install = prefix is not None or config.get("innodb_encrypt_log") == "ON"
    with started("mariadb", given, str(prefix) if prefix else None, install=install) as server:
        yield server


@contextmanager
def started(
    kind: str, config: Mapping[str, str], basedir: str | None, *, install: bool = False
) -> Iterator[Planted]:
    """`install`: a directory made under these settings, or by another version; else a copy."""
    binaries(kind)
    system = systems.load(kind)
    there = system.find(basedir)
    plan = TargetPlan(name="db", kind=kind, config=dict(config))
    resolved = system.resolve(plan)
    with Scratch() as scratch:
        directory = scratch.path / "db"
        if install:
            system.prepare(there, directory, resolved)
        else:
            subprocess.run(["cp", "-a", initialised(kind), directory], check=True)
        server = system.start(there, directory, resolved, cpus=[])
        try:
            yield Planted(kind, patient(server))
        finally:
            server.stop()


@pytest.fixture
def keys() -> Iterator[Path]:
    """A place for keys that the server's account may read, on no directory of data."""
    path = Path("/var/tmp") / f"dbdyno-test-{secrets.token_hex(8)}.keys"
    yield path
    path.unlink(missing_ok=True)


def states(document: Any) -> dict[str, str]:
    """Verdicts of the matrix by class."""
    return {row[0]: row[-1] for row in document["overviews"][0]["rows"]}


@pytest.mark.parametrize("version", ["10.11", "11.8"])
def test_encrypted_tables_beside_plain_logs_are_found_by_file_and_by_value(
    version: str, keys: Path
) -> None:
    """The article's trap: ENCRYPTED=YES, and each row in the binary log."""
    with mariadb(keys, prefix_of(version), innodb_encrypt_tables="OFF") as server:
        server.fill("secret", "ENCRYPTED = YES")
        before = {*server.sql("SHOW DATABASES")}
        document = check(server.url, server.directory, "--json", *ONLY, "--write-needle")
        assert {*server.sql("SHOW DATABASES")} == before
    rules = found(document)
    assert {
        *("mysql-encryption-redo-plain", "mysql-encryption-binlog-plain", "innodb-files-mixed"),
        *("mariadb-encryption-undo-plain", "mysql-needle-in-the-clear"),
    } <= rules
    assert states(document)["tables"] == "proved encrypted"
    assert states(document)["binary log"] == states(document)["redo log"] == "proved plain"
    needle = next(one for one in document["findings"] if one["rule"] == "mysql-needle-in-the-clear")
    assert needle["severity"] == "high"
    assert {"binary log", "redo log"} <= {one["value"] for one in needle["evidence"]}
    assert "tables" not in {one["value"] for one in needle["evidence"]}


@pytest.mark.parametrize("version", ["11.8"])
def test_with_everything_encrypted_a_value_is_found_nowhere(version: str, keys: Path) -> None:
    with mariadb(keys, prefix_of(version), **EVERYTHING) as server:
        server.fill("secret")
        document = check(server.url, server.directory, "--json", *ONLY, "--write-needle")
    severe = {one["rule"] for one in document["findings"] if one["severity"] not in ("low", "info")}
    assert severe <= {"mysql-encryption-keys-with-data"}  # one device is all a test has
    assert "mysql-needle-in-the-clear" not in found(document)
    for kind in ("tables", "redo log", "binary log", "system tablespace"):
        assert states(document)[kind] == "proved encrypted", kind


def prefix_of(version: str) -> Path | None:
    if version == "10.11":
        return None
    prefix = ROOT / ".prefix" / f"mariadb-{version}" / "usr"
    if not (prefix / "lib" / "mysql" / "plugin" / "file_key_management.so").exists():
        missing("run `make servers` (after removing .prefix/mariadb-11.8, if it is there)")
    return prefix


def test_a_value_is_removed_after_an_interrupt_and_what_a_kill_has_left_by_the_next(
    keys: Path,
) -> None:
    with mariadb(keys) as server:
        leave(server, "dbdyno_0000000a_needle", "0000000a", writing.NAME)
        leave(server, "dbdyno_0000000b_0", "0000000b", "another experiment")
        before = {str(name) for (name,) in server.sql("SHOW DATABASES")}
        codes = []
        while 3 not in codes and len(codes) < 10:  # the check may have been over too soon
            codes.append(interrupted(server, before))
        assert codes[-1] == 3 and {*codes} <= {0, 1, 3}, codes
        left = {str(name) for (name,) in server.sql("SHOW DATABASES")}
    assert left == before - {"dbdyno_0000000a_needle"}


def interrupted(server: Planted, before: set[str]) -> int:
    """The exit code of a check that is ended once it has written its value."""
    process = subprocess.Popen(
        [
            *(str(DYNO), "check", server.url, str(server.directory)),
            *("--write-needle", "--json", "--password-env", "APP_PASSWORD"),
        ],
        env={**os.environ, "APP_PASSWORD": PASSWORD},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not written(server, before) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    return process.wait(120)


def leave(server: Planted, schema: str, run: str, experiment: str) -> None:
    """A schema of dbdyno, of long ago."""
    server.sql(
        f"CREATE DATABASE `{schema}`",
        f"CREATE TABLE `{schema}`.{MARKER} (made_by VARCHAR(16), run VARCHAR(64),"
        " experiment VARCHAR(200), made VARCHAR(40), token VARCHAR(64))",
        f"INSERT INTO `{schema}`.{MARKER} VALUES ('dbdyno', '{run}',"
        f" '{experiment}', '2020-01-01 00:00:00Z', '')",
    )


def written(server: Planted, before: set[str]) -> bool:
    """Whether the table with the value exists."""
    rows = server.sql(
        "SELECT table_schema FROM information_schema.tables WHERE table_name = 'needle'"
    )
    return any(str(schema) not in before for (schema,) in rows)


def test_pages_that_no_thread_encrypts_stay_plain(keys: Path) -> None:
    """The setting is on, the default threads are 0, and the file shows what holds."""
    with mariadb(keys, innodb_encrypt_tables="OFF") as server:
        server.fill("old")
        server.sql("SET GLOBAL innodb_encrypt_tables = ON")
        document = check(server.url, server.directory, "--json", *ONLY)
    assert {"mariadb-encryption-threads", "mysql-encryption-tables-left"} <= found(document)
    assert states(document)["tables"] == "proved plain"


def test_keys_in_logs_are_counted_and_never_repeated(keys: Path, tmp_path: Path) -> None:
    """In the general log, the slow log and, as an annotation of rows, in the binary log. MariaDB
    writes an account's password to the first."""
    slow = {"slow_query_log": "ON", "slow_query_log_file": "slow.log", "long_query_time": "0"}
    general = {"general_log": "ON", "general_log_file": "general.log"}
    with mariadb(keys, **slow, **general) as server:
        server.sql(
            "CREATE TABLE shop.c (v VARBINARY(99))",
            f"INSERT INTO shop.c VALUES (AES_ENCRYPT('address', '{KEY}'))",
            f"CREATE USER other@localhost IDENTIFIED BY '{KEY}'",
            "SET GLOBAL general_log = OFF",
            "FLUSH BINARY LOGS",
        )
        log = tmp_path / "general.log"
        shutil.copyfile(server.directory / "general.log", log)
        page = tmp_path / "page.html"
        document = check(server.directory, "--json", *ONLY, "--html", page)
        bundle = check(server.url, server.directory, "--collect")
        alone = check(log, "--json", *ONLY)
    leak = next(one for one in document["findings"] if one["rule"] == "mysql-keys-in-logs")
    assert "the key of AES_ENCRYPT" in leak["what"]
    seen = {(row["sort"], file_of(row["place"])) for row in leaks(bundle, "directory")}
    for name in ("general.log", "slow.log", "binlog.000001"):
        assert ("the key of AES_ENCRYPT", name) in seen
    assert ("an account's password", "general.log") in seen
    assert found(alone) == {"mysql-keys-in-logs"}
    for told in (document, bundle, alone, page.read_text()):
        assert KEY not in json.dumps(told)


def leaks(bundle: Any, source: str) -> list[dict[str, str]]:
    (one,) = (one for one in bundle["subjects"] if one["source"] == source)
    rows: list[dict[str, str]] = one["tables"]["key_leaks"]["rows"]
    return rows


def file_of(place: str) -> str:
    return place.rpartition("/")[2].partition(":")[0].partition(" ")[0]


# -- MySQL ---------------------------------------------------------------------------------------


@pytest.fixture
def with_keyring(keys: Path) -> Iterator[Path]:
    """A base directory like that of `make servers`, whose server loads component_keyring_file. The
    server looks for the manifest beside its own program, links resolved."""
    program = binaries("mysql").paths["server"]
    with Scratch() as scratch:
        base = scratch.path / "mysql" / "usr"
        plugins = base / "lib" / "mysql" / "plugin"
        for made in (base / "sbin", plugins):
            made.mkdir(parents=True)
        shutil.copy(program, base / "sbin" / "mysqld")
        component = {"components": "file://component_keyring_file"}
        (base / "sbin" / "mysqld.my").write_text(json.dumps(component))
        real = program.parent.parent / "lib" / "mysql" / "plugin"
        (plugins / "component_keyring_file.so").symlink_to(real / "component_keyring_file.so")
        settings = {"path": str(keys), "read_only": False}
        (plugins / "component_keyring_file.cnf").write_text(json.dumps(settings))
        (base / "share").symlink_to(program.parent.parent / "share")
        for path in (scratch.path, scratch.path / "mysql", *base.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        yield base.parent


def test_encryption_y_with_a_plain_binary_log_is_proved_by_a_value(
    with_keyring: Path, keys: Path
) -> None:
    """The article's trap in MySQL: ENCRYPTION='Y' on the table, and each row in the binary log."""
    base = str(with_keyring)
    with started("mysql", {"log_bin": "binlog"}, base) as server:
        server.fill("secret", "ENCRYPTION = 'Y'")
        plain = check(server.url, server.directory, "--json", *ONLY, "--write-needle")
        assert [name for (name,) in server.sql("SHOW DATABASES") if name.startswith(PREFIX)] == []
        server.sql(
            "SET GLOBAL binlog_encryption = ON",
            "SET GLOBAL innodb_redo_log_encrypt = ON",
            "SET GLOBAL innodb_undo_log_encrypt = ON",
            "ALTER TABLESPACE mysql ENCRYPTION = 'Y'",
        )
        healthy = check(server.url, "--json", *ONLY)
        later = check(server.url, server.directory, "--json", *ONLY)
    assert {
        *("mysql-encryption-redo-plain", "mysql-encryption-binlog-plain", "innodb-files-mixed"),
        *("mysql-encryption-undo-plain", "mysql-needle-in-the-clear"),
        "mysql-encryption-dictionary-plain",
    } <= found(plain)
    assert states(plain)["tables"] == "proved encrypted"
    assert states(plain)["binary log"] == states(plain)["redo log"] == "proved plain"
    assert not {one for one in found(healthy) if one.endswith("-plain")}
    # The old binary log and blocks of the redo log are still there.
    assert states(later)["binary log"] == "proved plain in part"
    assert states(later)["redo log"] == "proved plain"
    assert states(later)["data dictionary"] == "proved encrypted"


# -- sessions ------------------------------------------------------------------------------------


def test_mysql_shows_sessions_under_tls_or_not_and_masks_passwords(tmp_path: Path) -> None:
    """Of a statement about an account its log has a mask, of a function's argument the key."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    config = {"general_log": "ON", "general_log_file": "general.log"}
    with started("mysql", config, None) as server:
        server.sql(f"CREATE USER other@localhost IDENTIFIED BY '{KEY}'")
        log = tmp_path / "general.log"
        shutil.copyfile(server.directory / "general.log", log)
        server.sql(f"DO AES_ENCRYPT('address', '{KEY}')")
        login = {"host": "127.0.0.1", "port": server.server.port, "user": "app"}
        under = pymysql.connect(**login, password=PASSWORD, ssl=context)
        clear = pymysql.connect(**login, password=PASSWORD, ssl_disabled=True)
        bundle = check(server.url, server.directory, "--collect")
        under.close()
        clear.close()
    assert KEY not in log.read_text() and KEY not in json.dumps(bundle)
    assert {row["sort"] for row in leaks(bundle, "directory")} == {"the key of AES_ENCRYPT"}
    rows = bundle["subjects"][0]["tables"]["session_tls"]["rows"]
    links = {(row["user"], row["link"], bool(row["tls_version"])) for row in rows}
    assert ("app", "SSL/TLS", True) in links and ("app", "TCP/IP", False) in links


def test_a_session_from_another_host_without_tls_is_found() -> None:
    """Its address is that of a proxy's header."""
    config = {"performance_schema": "ON", "proxy_protocol_networks": "127.0.0.1"}
    with started("mariadb", config, None) as server:
        assert "mysql-sessions-in-the-clear" not in found(check(server.url, "--json", *ONLY))
        wire = socket.create_connection(("127.0.0.1", server.server.port))
        wire.sendall(b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 3306\r\n")
        session = pymysql.Connection(
            user="app", password=PASSWORD, ssl_disabled=True, defer_connect=True
        )
        session.connect(wire)
        document = check(server.url, "--json", *ONLY)
        session.close()
    assert "mysql-sessions-in-the-clear" in found(document)
    assert "app@203.0.113.9" in json.dumps(document)
    assert states(document)["connections"] == "proved plain"


def test_without_performance_schema_sessions_are_not_known() -> None:
    with started("mariadb", {"performance_schema": "OFF"}, None) as server:
        document = check(server.url, "--json", *ONLY)
    reasons = {one["rule"]: one["reason"] for one in document["not_known"]}
    assert "performance_schema is off" in reasons["mysql-sessions-in-the-clear"]
    assert states(document)["connections"] == "not known"
