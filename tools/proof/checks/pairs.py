"""A healthy pair of a source and its replica, for `dyno check`, and a replica that goes astray."""

from __future__ import annotations

from tools.proof.replica.pair import Pair

DURABLE = {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "binlog_format": "ROW"}
SETTINGS = {
    "mysql": {**DURABLE, "gtid_mode": "ON", "enforce_gtid_consistency": "ON"},
    "mariadb": {**DURABLE, "log_slave_updates": "1"},
}
SEES = {
    "mysql": "SELECT, REPLICATION CLIENT, REPLICATION SLAVE",
    "mariadb": "SELECT, BINLOG MONITOR, SLAVE MONITOR, REPLICATION SLAVE",
}
RULE = {"mysql": "mysql-errant-transactions", "mariadb": "mariadb-errant-transactions"}


def quietly(pair: Pair, *statements: str) -> None:
    """On both, and not in their binary logs."""
    for member in (pair.source, pair.replica):
        for statement in ("SET sql_log_bin = 0", *statements, "SET sql_log_bin = 1"):
            member.ask(statement)


def start(pair: Pair, password: str) -> None:
    """The replica knows nothing of its own, follows, and has what the source has."""
    ask = pair.replica.ask
    quietly(
        pair,
        f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{password}'",
        f"GRANT {SEES[pair.kind]} ON *.* TO app@'127.0.0.1'",
    )
    if pair.kind == "mysql":
        ask("RESET BINARY LOGS AND GTIDS")
        ask(f"CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='{pair._file}', SOURCE_LOG_POS=4")
        ask("SET GLOBAL super_read_only = 1")
    else:
        ask("RESET MASTER")
        ask(f"SET GLOBAL gtid_slave_pos = '{pair._gtid}'")
        ask("SET GLOBAL read_only = 1")
    ask("START REPLICA")
    caught_up(pair)


def caught_up(pair: Pair) -> None:
    pair.source.ask("FLUSH BINARY LOGS")
    pair._end = pair._written()["File"]
    name = "Source_Log_File" if pair.kind == "mysql" else "Master_Log_File"
    pair._until(f"Relay_{name}")


def stray(pair: Pair) -> None:
    """A transaction of the replica's own, in a binary log of its own."""
    ask = pair.replica.ask
    ask("FLUSH BINARY LOGS")
    ask("SET GLOBAL read_only = 0")  # of MySQL it takes super_read_only with it
    ask("CREATE DATABASE stray")
    ask("FLUSH BINARY LOGS")
