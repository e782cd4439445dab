"""The pack `replication` on a real pair: healthy, then with an errant transaction."""

from __future__ import annotations

from typing import Any

import pytest
from servers_there import PASSWORD
from test_check import check, found, severe
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
ERRANT = {"mysql": "mysql-errant-transactions", "mariadb": "mariadb-errant-transactions"}


def quietly(pair: Pair, *statements: str) -> None:
    """On both, and not in their binary logs."""
    for member in (pair.source, pair.replica):
        for statement in ("SET sql_log_bin = 0", *statements, "SET sql_log_bin = 1"):
            member.ask(statement)


def start(pair: Pair) -> None:
    """The replica knows nothing of its own, follows, and has what the source has."""
    ask = pair.replica.ask
    quietly(
        pair,
        f"CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
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


def judged(pair: Pair, *which: Any) -> Any:
    members = which or (pair.source, pair.replica)
    urls = [f"{pair.kind}://app@127.0.0.1:{one.address['port']}" for one in members]
    return check(*urls, "--json", "--only", "replication")


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_an_errant_transaction_is_found_in_its_binary_log(kind: str) -> None:
    with Pair(kind, SETTINGS[kind]) as pair:
        start(pair)
        pair.source.ask("CREATE DATABASE ours")
        caught_up(pair)
        healthy = judged(pair)
        assert found(healthy) == set(), severe(healthy)
        ask = pair.replica.ask
        ask("FLUSH BINARY LOGS")
        [*_, log] = [row["Log_name"] for row in ask("SHOW BINARY LOGS")]
        ask("SET GLOBAL read_only = 0")  # of MySQL it takes super_read_only with it
        ask("CREATE DATABASE stray")
        ask("FLUSH BINARY LOGS")
        pair.source.ask("CREATE DATABASE more")  # in MariaDB it hides the replica's own position
        caught_up(pair)
        document = judged(pair)
        assert found(document) == {ERRANT[kind], "mysql-replica-writable"}
        [errant] = [one for one in document["findings"] if one["rule"] == ERRANT[kind]]
        assert log in errant["what"] and str(pair.replica.address["port"]) in errant["subject"]
        if kind == "mysql":  # the plan, at the source
            with pair.source.connect() as connection, connection.cursor() as cursor:
                for statement in errant["fix"]["statements"]:
                    cursor.execute(statement)
            caught_up(pair)
            assert found(judged(pair)) == {"mysql-replica-writable"}
        alone = judged(pair, pair.replica)
        assert ERRANT[kind] not in found(alone) and alone["counts"]["not_known"] > 0
        ask("STOP REPLICA")
        assert "mysql-replica-stopped" in found(judged(pair))
