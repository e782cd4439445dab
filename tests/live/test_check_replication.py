"""The pack `replication` on a real pair: healthy, then with an errant transaction."""

from __future__ import annotations

from typing import Any

import pytest
from servers_there import PASSWORD
from test_check import check, found, severe
from tools.proof.checks.pairs import RULE, SETTINGS, caught_up, start, stray
from tools.proof.replica.pair import Pair


def judged(pair: Pair, *which: Any) -> Any:
    members = which or (pair.source, pair.replica)
    urls = [f"{pair.kind}://app@127.0.0.1:{one.address['port']}" for one in members]
    return check(*urls, "--json", "--only", "replication")


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_an_errant_transaction_is_found_in_its_binary_log(kind: str) -> None:
    with Pair(kind, SETTINGS[kind]) as pair:
        start(pair, PASSWORD)
        pair.source.ask("CREATE DATABASE ours")
        caught_up(pair)
        healthy = judged(pair)
        assert found(healthy) == set(), severe(healthy)
        ask = pair.replica.ask
        stray(pair)
        log = ask("SHOW BINARY LOGS")[-2]["Log_name"]
        pair.source.ask("CREATE DATABASE more")  # in MariaDB it hides the replica's own position
        caught_up(pair)
        document = judged(pair)
        assert found(document) == {RULE[kind], "mysql-replica-writable"}
        [errant] = [one for one in document["findings"] if one["rule"] == RULE[kind]]
        assert log in errant["what"] and str(pair.replica.address["port"]) in errant["subject"]
        if kind == "mysql":  # the plan, at the source
            with pair.source.connect() as connection, connection.cursor() as cursor:
                for statement in errant["fix"]["statements"]:
                    cursor.execute(statement)
            caught_up(pair)
            assert found(judged(pair)) == {"mysql-replica-writable"}
        alone = judged(pair, pair.replica)
        assert RULE[kind] not in found(alone) and alone["counts"]["not_known"] > 0
        ask("STOP REPLICA")
        assert "mysql-replica-stopped" in found(judged(pair))
