"""Two private servers of a kind on loopback, one of which replicates from the other.

Statements are logged as they were sent. They call a function that takes no time at the source and a
set time at the replica, so that a transaction costs the same whatever else this machine does.
MySQL: https://dev.mysql.com/doc/refman/9.0/en/replication-options-replica.html; MariaDB:
https://mariadb.com/kb/en/parallel-replication/ (domains are applied in parallel with GTIDs only).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

from dbdyno import systems
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import Scratch

SCHEMAS = 8
STATEMENT = "INSERT INTO `d{}`.t VALUES (pause.pause())"
PAUSE_S = 0.004  # of a transaction at the replica
ANSWER_S = 120
CONFIG: Mapping[str, str] = {
    "log_bin": "changes",
    "binlog_format": "STATEMENT",
    "log_bin_trust_function_creators": "1",
    "sync_binlog": "0",
    "innodb_flush_log_at_trx_commit": "0",
}
OWN: Mapping[str, Mapping[str, str]] = {
    "mysql": {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"},
    "mariadb": {"slave_parallel_mode": "conservative"},
}


@dataclass
class Member:
    """A server and one connection to it."""

    server: Server
    address: dict[str, Any]
    connection: pymysql.Connection[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.connection = self.connect()

    def connect(self) -> pymysql.Connection[Any]:
        """A further session."""
        return pymysql.connect(
            **self.address, autocommit=True, connect_timeout=ANSWER_S, read_timeout=ANSWER_S
        )

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a statement."""
        with self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())


class Pair:
    """A source and its replica; a context manager that leaves nothing behind."""

    def __init__(self, kind: str, settings: Mapping[str, str]) -> None:
        """`settings` of both, besides those that all loads have."""
        self.kind = kind
        self._settings = {**CONFIG, **OWN[kind], **settings}
        self._stack = ExitStack()
        self._file, self._gtid, self._end = "", "", ""

    def __enter__(self) -> Pair:
        with ExitStack() as stack:
            self.source, self.replica = (self._member(stack, number) for number in (1, 2))
            for member, pause_s in ((self.source, 0.0), (self.replica, PAUSE_S)):
                _fill(member, pause_s)
            self._joined()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _member(self, stack: ExitStack, number: int) -> Member:
        system = systems.load(self.kind)
        config = {**self._settings, "server_id": str(number)}
        target = TargetPlan(name="db", kind=self.kind, config=config, tls="off")
        resolved, binaries = system.resolve(target), system.find(None)
        directory = stack.enter_context(Scratch()).path / "server"
        system.prepare(binaries, directory, resolved)
        server = system.start(binaries, directory, resolved, cpus=[])
        stack.callback(server.stop)
        of = server.engine_target(target, resolved, "mysql")
        tcp = of["address"]["tcp"]
        address = {"host": tcp["host"], "port": tcp["port"]}
        return Member(server, {**address, "user": of["user"], "password": of["password"]})

    def _joined(self) -> None:
        """The replica knows its source, and the log of the load begins."""
        source = self.source
        source.ask("CREATE USER replica@'127.0.0.1' IDENTIFIED BY 'replica'")
        source.ask("GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'")
        source.ask("FLUSH BINARY LOGS")
        self._file = self._written()["File"]
        host, port = source.address["host"], source.address["port"]
        if self.kind == "mysql":
            self.replica.ask(
                f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='{host}', SOURCE_PORT={port},"
                " SOURCE_USER='replica', SOURCE_PASSWORD='replica', GET_SOURCE_PUBLIC_KEY=1"
            )
            return
        self._gtid = source.ask("SELECT @@gtid_binlog_pos p")[0]["p"]
        self.replica.ask(
            f"CHANGE MASTER TO MASTER_HOST='{host}', MASTER_PORT={port}, MASTER_USER='replica',"
            " MASTER_PASSWORD='replica', MASTER_USE_GTID=slave_pos"
        )

    def _written(self) -> dict[str, Any]:
        is_mysql = self.kind == "mysql"
        return self.source.ask(f"SHOW {'BINARY LOG' if is_mysql else 'MASTER'} STATUS")[0]

    def log(self) -> Path:
        """The binary log of the load, which is over."""
        self.source.ask("FLUSH BINARY LOGS")
        self._end = self._written()["File"]
        directory = self.source.server.directory
        assert directory is not None
        [path] = directory.rglob(self._file)
        return path

    def apply_s(self, workers: int) -> float:
        """How long the replica takes for the log with so many workers, all of it read before."""
        ask = self.replica.ask
        if self.kind == "mysql":
            ask(f"SET GLOBAL replica_parallel_workers = {workers}")
            ask(f"CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='{self._file}', SOURCE_LOG_POS=4")
            reader, applier, relayed = "REPLICA IO_THREAD", "REPLICA SQL_THREAD", "Source_Log_File"
        else:
            ask(f"SET GLOBAL slave_parallel_threads = {workers}")
            ask(f"SET GLOBAL gtid_slave_pos = '{self._gtid}'")
            reader, applier, relayed = "SLAVE IO_THREAD", "SLAVE SQL_THREAD", "Master_Log_File"
        ask(f"START {reader}")
        self._until(relayed)
        begun = time.monotonic()
        ask(f"START {applier}")
        self._until(f"Relay_{relayed}")
        took = time.monotonic() - begun
        ask("STOP REPLICA")
        ask("RESET REPLICA")
        return took

    def _until(self, column: str) -> None:
        """Until the replica is at the log behind the load's. RuntimeError."""
        ends = time.monotonic() + ANSWER_S
        while time.monotonic() < ends:
            [status] = self.replica.ask("SHOW REPLICA STATUS")
            if error := status["Last_IO_Error"] or status["Last_SQL_Error"]:
                raise RuntimeError(f"the replica stopped: {error}")
            if status[column] == self._end:
                return
            time.sleep(0.005)
        raise RuntimeError(f"the replica is not at {self._end} after {ANSWER_S} s")


def _fill(member: Member, pause_s: float) -> None:
    member.ask("SET sql_log_bin = 0")
    member.ask("CREATE DATABASE pause")
    paused = f"SLEEP({pause_s})" if pause_s else "0"
    member.ask(f"CREATE FUNCTION pause.pause() RETURNS INT DETERMINISTIC NO SQL RETURN {paused}")
    for number in range(SCHEMAS):
        member.ask(f"CREATE DATABASE d{number}")
        member.ask(f"CREATE TABLE d{number}.t (n INT)")
    member.ask("SET sql_log_bin = 1")
