"""What an errant transaction does at a failover, and that the finding's repair plan prevents it."""

from __future__ import annotations

from typing import Any

import pytest
from running import wait_for
from servers_there import PASSWORD
from test_check import found
from test_check_replication import judged
from tools.proof.checks.pairs import RULE, SETTINGS, caught_up, quietly, start, stray
from tools.proof.replica.pair import Pair

PURGED_TOO_MUCH = "1236"  # ER_MASTER_FATAL_ERROR_READING_BINLOG, in the text of both


def strayed(pair: Pair) -> Any:
    """Writes to the replica, purges the log of that, and gives the finding."""
    start(pair, PASSWORD)
    pair.source.ask("CREATE DATABASE ours")
    caught_up(pair)
    stray(pair)
    ask = pair.replica.ask
    last = ask("SHOW BINARY LOGS")[-1]["Log_name"]

    def purged() -> bool:  # MariaDB keeps a log until InnoDB has its transactions
        ask(f"PURGE BINARY LOGS TO '{last}'")
        return len(ask("SHOW BINARY LOGS")) == 1

    assert wait_for(purged)
    [errant] = [one for one in judged(pair)["findings"] if one["rule"] == RULE[pair.kind]]
    assert "purged or not readable" in errant["what"]
    return errant


def mended(pair: Pair, finding: Any) -> None:
    """The plan of the finding. Of MySQL its statements, at the source; of MariaDB its sentence."""
    ask = pair.replica.ask
    for statement in ("SET sql_log_bin = 0", "DROP DATABASE stray", "SET sql_log_bin = 1"):
        ask(statement)
    if pair.kind == "mysql":
        for statement in finding["fix"]["statements"]:
            pair.source.ask(statement)
    else:
        assert "RESET MASTER and SET GLOBAL gtid_slave_pos" in " ".join(finding["fix"]["edits"])
        ask("STOP REPLICA")
        position = ask("SELECT @@gtid_slave_pos p")[0]["p"]
        ask("RESET MASTER")
        ask(f"SET GLOBAL gtid_slave_pos = '{position}'")
        ask("START REPLICA")
    caught_up(pair)


def failed_over(pair: Pair) -> None:
    """The replica is promoted; the old source follows it from where it is."""
    quietly(
        pair,
        "CREATE USER IF NOT EXISTS replica@'127.0.0.1' IDENTIFIED BY 'replica'",
        "GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'",
    )
    new, old = pair.replica, pair.source
    for statement in ("STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = 0"):
        new.ask(statement)
    host, port = new.address["host"], new.address["port"]
    if pair.kind == "mysql":
        old.ask(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='{host}', SOURCE_PORT={port},"
            " SOURCE_USER='replica', SOURCE_PASSWORD='replica', SOURCE_AUTO_POSITION=1,"
            " GET_SOURCE_PUBLIC_KEY=1"
        )
    else:
        position = old.ask("SELECT @@gtid_binlog_pos p")[0]["p"]
        old.ask(f"SET GLOBAL gtid_slave_pos = '{position}'")
        old.ask(
            f"CHANGE MASTER TO MASTER_HOST='{host}', MASTER_PORT={port}, MASTER_USER='replica',"
            " MASTER_PASSWORD='replica', MASTER_USE_GTID=slave_pos"
        )
    old.ask("START REPLICA")


def status(pair: Pair) -> dict[str, Any]:
    return pair.source.ask("SHOW REPLICA STATUS")[0]


def made_afresh(pair: Pair) -> None:
    """As two servers that never met: without logs, positions, and what was created."""
    reset = ["RESET BINARY LOGS AND GTIDS"]
    if pair.kind == "mariadb":
        reset = ["RESET MASTER", "SET GLOBAL gtid_slave_pos = ''"]
    for member in (pair.source, pair.replica):
        for statement in ("STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = 0", *reset):
            member.ask(statement)
    databases = (f"DROP DATABASE IF EXISTS {name}" for name in ("ours", "stray"))
    users = (f"DROP USER IF EXISTS {name}@'127.0.0.1'" for name in ("app", "replica"))
    quietly(pair, *databases, *users)
    pair._joined()


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_purged_errant_transaction_stops_the_others_unless_it_is_mended(kind: str) -> None:
    with Pair(kind, SETTINGS[kind]) as pair:
        strayed(pair)
        failed_over(pair)
        assert wait_for(lambda: PURGED_TOO_MUCH in status(pair)["Last_IO_Error"]), status(pair)

        made_afresh(pair)
        mended(pair, strayed(pair))
        assert RULE[kind] not in found(judged(pair))
        failed_over(pair)
        pair.replica.ask("CREATE DATABASE after_failover")
        arrived = "SHOW DATABASES LIKE 'after\\_failover'"
        wait_for(lambda: pair.source.ask(arrived) or status(pair)["Last_IO_Error"])
        assert status(pair)["Last_IO_Error"] == ""
        assert pair.source.ask(arrived)
