"""A load whose every statement is known, sent to a private MySQL or MariaDB that logs it in all its
logs: what a digest of them must count."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from private_servers import Bench, bench
from pymysql.constants import CLIENT

from dbdyno import systems
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.scratch import Scratch
from needed import missing

LOGS = {
    "slow_query_log": "ON",
    "long_query_time": "0",
    "slow_query_log_file": "slow.log",
    "general_log": "ON",
    "general_log_file": "general.log",
    "log_output": "FILE",
    "log_bin": "changes",
    "server_id": "1",
}
PRODUCTS: dict[
    str, tuple[str, str | None, dict[str, str]]
] = {  # kind, part of the prefix, settings
    "mariadb-10.11": ("mariadb", None, {"log_slow_verbosity": "full"}),
    "mariadb-11.8": ("mariadb", "mariadb-11.8", {"log_slow_verbosity": "full"}),
    "mysql-9": ("mysql", None, {"log_slow_extra": "ON"}),
}

# What is sent, by the fingerprint that it must get: statement (of a number), how often.
SENT: dict[str, tuple[Callable[[int], str], int]] = {
    "select q from shop.stock where item = ?": (
        lambda n: f"SELECT q FROM shop.stock WHERE item = {n}",
        20,
    ),
    "select name from shop.stock where name = ? or name = ?": (
        lambda n: (
            f"SELECT name FROM shop.stock WHERE name = 'O''Brien {n}' or name = \"it's\\\"{n}\""
        ),
        5,
    ),
    "select count(*) from shop.stock": (
        lambda n: f"/* app:{n} 'quoted */ SELECT COUNT(*) # it's\nFROM shop.stock -- don't\n",
        3,
    ),
    "select length(?), length(?) from shop.stock": (
        lambda n: f"SELECT LENGTH('line {n}\n\n# no header\n'), LENGTH(0xDEADBEEF) FROM shop.stock",
        4,
    ),
    "select name from shop.stock where name = ?": (
        lambda n: f"SELECT name FROM shop.stock WHERE name = 'Ünï 😀 {n} 日本'",
        6,
    ),
}
FAILING = "select nothing from shop.stock", "SELECT nothing FROM shop.stock", 3
PREPARED = "select q + ? from shop.stock", "SELECT q + 7 FROM shop.stock", 7
FIRST, SECOND = (
    "update shop.stock set q = ? where item = ?",
    "delete from shop.stock where item = ?",
)
TOGETHER = (
    "UPDATE shop.stock SET q = 1 WHERE item = 10000; DELETE FROM shop.stock WHERE item = 10000",
    4,
)


@dataclass(frozen=True)
class Phase:
    """A binary log of its own: what was set before, and how often each verb was sent."""

    name: str
    settings: tuple[str, ...]
    calls: tuple[int, int, int]  # INSERT, UPDATE, DELETE; each a transaction

    @property
    def expected(self) -> dict[str, int]:
        """Calls by verb and table."""
        verbs = zip(("INSERT", "UPDATE", "DELETE"), self.calls, strict=True)
        return {f"{verb} shop.log": count for verb, count in verbs}


PHASES = {
    "mariadb": (
        Phase("rows", ("SET GLOBAL binlog_checksum = CRC32", "SET binlog_format = ROW"), (9, 4, 3)),
        Phase("rows, no checksum", ("SET GLOBAL binlog_checksum = NONE",), (8, 5, 2)),
        Phase("statements", ("SET binlog_format = STATEMENT",), (7, 3, 4)),
        Phase(
            "rows, packed",
            (
                "SET binlog_format = ROW",
                "SET GLOBAL binlog_checksum = CRC32",
                "SET GLOBAL log_bin_compress_min_len = 10",
                "SET GLOBAL log_bin_compress = ON",
                "SET GLOBAL binlog_row_metadata = FULL",
            ),
            (6, 6, 1),
        ),
        Phase("statements, packed", ("SET binlog_format = STATEMENT",), (5, 2, 5)),
    ),
    "mysql": (
        Phase("rows", ("SET GLOBAL binlog_checksum = CRC32", "SET binlog_format = ROW"), (9, 4, 3)),
        Phase("rows, no checksum", ("SET GLOBAL binlog_checksum = NONE",), (8, 5, 2)),
        Phase("statements", ("SET binlog_format = STATEMENT",), (7, 3, 4)),
        Phase(
            "rows, packed, with their statements",
            (
                "SET binlog_format = ROW",
                "SET GLOBAL binlog_checksum = CRC32",
                "SET binlog_transaction_compression = ON",
                "SET binlog_rows_query_log_events = ON",
                "SET GLOBAL binlog_row_metadata = FULL",
            ),
            (6, 6, 1),
        ),
        Phase("statements, packed", ("SET binlog_format = STATEMENT",), (5, 2, 5)),
    ),
}


@dataclass(frozen=True)
class Logs:
    """What a server wrote under the load."""

    kind: str
    slow: Path
    general: Path
    binary: dict[str, Path]  # by the phase's name


@contextmanager
def logs_of(product: str) -> Iterator[Logs]:
    """The logs that a private server of this product wrote under the load. Skips where it is not
    installed."""
    kind, _, settings = PRODUCTS[product]
    with product_bench(product, LOGS | settings) as made:
        server = made.start()
        try:
            with closing(_connect(server)) as connection:
                binary = _drive(connection, kind)
            data = next(made.directory.rglob("slow.log")).parent
            yield Logs(
                kind,
                data / "slow.log",
                data / "general.log",
                {name: data / file for name, file in binary.items()},
            )
        finally:
            server.stop()


@contextmanager
def product_bench(product: str, config: dict[str, str]) -> Iterator[Bench]:
    """A prepared data directory of this product. Skips where it is not installed."""
    kind, prefix, _ = PRODUCTS[product]
    if prefix is None and "innodb_page_size" not in config:  # which a data directory is made with
        with bench(kind, config=config) as made:
            yield made
        return
    system = systems.load(kind)
    found = [path for path in system.installations() if (prefix or "") in str(path)]
    if not found:
        missing(f"no {prefix}: run `make servers`")
    binaries = system.find(found[0])
    plan = TargetPlan(name="db", kind=kind, basedir=found[0], config=config)
    with Scratch() as scratch:
        made = Bench(system, binaries, plan, system.resolve(plan), scratch.path / "db")
        system.prepare(binaries, made.directory, made.resolved)
        yield made


def _connect(server: Any) -> pymysql.Connection[Any]:
    return pymysql.connect(
        user="dyno",
        password=server._password,
        unix_socket=str(server.socket_path),
        autocommit=True,
        charset="utf8mb4",
        client_flag=CLIENT.MULTI_STATEMENTS,
        read_timeout=240,
    )


def _drive(connection: pymysql.Connection[Any], kind: str) -> dict[str, str]:
    def run(sql: str) -> Sequence[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetchall()
            while cursor.nextset():
                pass
            return rows

    run("CREATE DATABASE shop")
    run("CREATE TABLE shop.stock (item INT PRIMARY KEY, q INT, name VARCHAR(100)) CHARSET utf8mb4")
    run("CREATE TABLE shop.log (id INT PRIMARY KEY, q INT)")
    run("INSERT INTO shop.stock VALUES (1, 2, 'Ünï 😀'), (2, 3, 'b')")
    for number, (statement, count) in enumerate(SENT.values()):
        for n in range(count):
            run(statement(n))
        if number == 2:
            run("FLUSH LOGS")  # servers write their headers again
    for _ in range(FAILING[2]):
        with pytest.raises(pymysql.Error):
            run(FAILING[1])
    for _ in range(TOGETHER[1]):
        run(TOGETHER[0])
    _prepared(connection, *PREPARED[1:])
    binary = {}
    for phase in PHASES[kind]:
        for setting in phase.settings:
            run(setting)
        run("FLUSH BINARY LOGS")
        status = "SHOW BINARY LOG STATUS" if kind == "mysql" else "SHOW MASTER STATUS"
        binary[phase.name] = run(status)[0][0]
        inserts, updates, deletes = phase.calls
        for n in range(inserts):
            run(f"INSERT INTO shop.log VALUES ({n}, {n * 2}), ({n + 1000}, 1)")
        for n in range(updates):
            run(f"UPDATE shop.log SET q = q + {n + 1}")
        for n in range(deletes):
            run(f"DELETE FROM shop.log WHERE id IN ({n}, {n + 1000})")
        run("FLUSH BINARY LOGS")
        run("TRUNCATE shop.log")
    return binary


def _prepared(connection: pymysql.Connection[Any], sql: str, count: int) -> None:
    """Prepared at the server, executed, closed: by the protocol, as drivers do."""
    prepare, execute, close = 0x16, 0x17, 0x19
    connection._execute_command(prepare, sql)
    statement = struct.unpack("<I", connection._read_packet().read_all()[1:5])[0]
    connection._read_packet()  # the column
    connection._read_packet()  # and its end
    for _ in range(count):
        connection._execute_command(execute, struct.pack("<IBI", statement, 0, 1))
        while not connection._read_packet().is_eof_packet():
            pass  # columns
        while not connection._read_packet().is_eof_packet():
            pass  # rows
    connection._execute_command(close, struct.pack("<I", statement))
