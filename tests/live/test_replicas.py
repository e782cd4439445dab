"""`nodes:`: writes go to one server, reads to its replica, whose lag is a metric."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from running import Place, complete_trials, place, wait_for
from servers_there import PASSWORD, There, there

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXPERIMENT = """
experiment: nodes
targets:
  db:
    nodes: {{write: "{write}", read: ["{read}"]}}
    password_env: APP_PASSWORD
groups:
  writer: {{kind: oltp, preset: update_index, tables: 1, rows: 300, sessions: 1}}
  reader: {{kind: oltp, preset: point_select, tables: 1, rows: 300, sessions: 2, node: read}}
factors:
  reader.sessions: [1, 2]
blocks: 1
warmup: 0s
duration: 2s
claims:
  - replica_lag_s.read1[1] <= 100
"""
OWN = 500  # statements that dbdyno itself may send a server in a run, by far
PRIMARY = {"server_id": 1, "log_bin": "primary", "binlog_format": "ROW"}
REPLICA = {"server_id": 2, "read_only": 1}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[There, There]]:
    """A MariaDB and its replica. Earlier data is on both anyway."""
    with there("mariadb", **PRIMARY) as primary, there("mariadb", **REPLICA) as replica:
        primary.sql(
            f"CREATE USER repl@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'",
        )
        position = primary.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0][0]
        replica.sql(
            f"SET GLOBAL gtid_slave_pos = '{position}'",
            "CHANGE MASTER TO master_host = '127.0.0.1', "
            f"master_port = {primary.server.port}, master_user = 'repl', "
            f"master_password = '{PASSWORD}', master_ssl_verify_server_cert = 0, "
            "master_use_gtid = slave_pos",
            "START SLAVE",
        )
        primary.grant(*primary.own_schema())
        # Grants of accounts are replicated; the privilege to ask a replica for its state is
        # separate.
        assert wait_for(lambda: "dbdyno" in str(replica.sql("SHOW GRANTS FOR app@'127.0.0.1'")))
        replica.sql("GRANT SLAVE MONITOR ON *.* TO app@'127.0.0.1'")
        yield primary, replica
        replica.sql("STOP SLAVE")


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def test_reads_go_to_the_replica_and_its_lag_is_sampled(
    here: Place, pair: tuple[There, There]
) -> None:
    primary, replica = pair
    file = here.experiment(EXPERIMENT.format(write=primary.url, read=replica.url))
    selects = [int(each.sql("SHOW GLOBAL STATUS LIKE 'Com_select'")[0][1]) for each in pair]
    done = here.dyno("run", file, "--dir", "r")
    assert done.returncode == 0, done.stderr
    after = [int(each.sql("SHOW GLOBAL STATUS LIKE 'Com_select'")[0][1]) for each in pair]
    found = [json.loads(text) for text in complete_trials(here.path / "r").values()]
    assert len(found) == 2
    read = sum(record["metrics"]["reader.operations_per_s"] * 2 for record in found)
    assert after[1] - selects[1] > read * 0.9, "the replica has answered the reads"
    assert after[0] - selects[0] < read * 0.5 + OWN, "the primary has not"
    for record in found:
        assert record["metrics"]["writer.transactions_per_s"] > 0
        assert record["metrics"]["reader.errors_per_s"] == 0
        assert record["metrics"]["replica_lag_s.read1"] >= 0
        assert record["metrics"]["replica_lag_s.read1_max"] >= 0
    plan = json.loads((here.path / "r/trials/b01-t001/plan.json").read_text())
    targets = {group["name"]: group["target"] for group in plan["groups"]}
    assert targets == {"writer": "db", "reader": "db.read1"}
    assert wait_for(lambda: not any(name.startswith("dbdyno_") for name in replica.schemas())), (
        "the drop reaches the replica"
    )


def test_a_replica_that_has_stopped_leaves_a_gap_and_is_said(
    here: Place, pair: tuple[There, There]
) -> None:
    primary, replica = pair
    primary.sql("CREATE DATABASE IF NOT EXISTS seen")
    assert wait_for(lambda: "seen" in replica.schemas())
    primary.sql("GRANT SELECT ON shop.* TO app@'127.0.0.1'")
    assert wait_for(lambda: "shop" in str(replica.sql("SHOW GRANTS FOR app@'127.0.0.1'")))
    replica.sql("STOP SLAVE SQL_THREAD")
    text = EXPERIMENT.format(write=primary.url, read=replica.url)
    text = text.replace("update_index", "point_select")
    text = text.replace("password_env", "data: {existing: shop}\n    password_env")
    text = text.partition("claims:")[0]
    try:
        done = here.dyno("run", here.experiment(text), "--dir", "r")
    finally:
        replica.sql("START SLAVE")
    assert done.returncode == 0, done.stderr
    for text in complete_trials(here.path / "r").values():
        record = json.loads(text)
        assert "replica_lag_s.read1" not in record["metrics"]
        assert any("does not run" in warning for warning in record["warnings"])
