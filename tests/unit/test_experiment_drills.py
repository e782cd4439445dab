"""Drills in an experiment file: what may be written, what it means, what is refused, where."""

from __future__ import annotations

import pytest
from test_experiment_load import ONE, failure, load

from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json

MACHINE = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
LOGGED = ONE.replace("{kind: mariadb}", "{kind: mariadb, config: {log-bin: binlog}}")
POSTGRES = ONE.replace("mariadb", "postgres")
MYSQL = ONE.replace("mariadb", "mysql")
REPLICAS = ONE.replace(
    "{kind: mariadb}", "{kind: mariadb, topology: {kind: replicas, failover: {after: 1s}}}"
)
PLAIN = REPLICAS.replace(", failover: {after: 1s}", "")
LOGICAL = ONE.replace(
    "{kind: mariadb}", "{kind: postgres, topology: {kind: replicas, replication: logical}}"
)
LOGICAL_WAITS = LOGICAL.replace("replication:", "nodes: 2, wait_for_replicas: 1, replication:")
OLD = ONE.replace("{kind: mariadb}", "{kind: mariadb, version: '10.11'}")
OWN = ONE.replace("{kind: mariadb}", "{kind: mariadb, basedir: /opt/mine}")
TWO = ONE.replace("{kind: mariadb}", "{kind: mariadb, instances: 2}")
GALERA = ONE.replace("{kind: mariadb}", "{kind: mariadb, topology: {kind: galera}}")


# However the binary log is switched off.
NO_LOG = (
    *("log_bin: off", "log_bin: OFF", "log-bin: 0", "log_bin: false", "Log_Bin: 'no'"),
    *(
        "log_bin: binlog, skip-log-bin: on",
        "log_bin: binlog, disable_log_bin: 1",
        "skip_log_bin: ~",
    ),
)


def config(written: str) -> str:
    """A file whose target has these settings."""
    return ONE.replace("{kind: mariadb}", f"{{kind: mariadb, config: {{{written}}}}}")


def test_a_backup_has_the_tool_of_its_kind() -> None:
    drills = "faults: [{at: 1s, do: backup, logs: kept}, {at: 5s, do: restore, to: 4s}]\n"
    (cell,) = load(LOGGED + drills).cells
    assert cell.faults == (
        Fault(1.0, "backup", ("primary",), "db", tool="mariabackup", logs="kept"),
        Fault(5.0, "restore", ("primary",), "db", to_s=4.0),
    )
    (cell,) = load(POSTGRES + drills).cells
    assert [fault.tool for fault in cell.faults] == ["basebackup", ""]
    (cell,) = load(MYSQL + "faults: [{at: 1s, do: backup}]\n").cells
    assert (cell.faults[0].tool, cell.faults[0].logs) == ("clone", "")


def test_a_restore_takes_a_backup_of_its_node() -> None:
    for head, backup, restore in (
        (ONE, "db", "primary"),
        (ONE, "any", "db"),
        (TWO, "all", "any"),
        (TWO, "[db, db.2]", "db.2"),
    ):
        backup = f"{{at: 1s, do: backup, node: {backup}}}"
        restore = f"{{at: 5s, do: restore, node: {restore}}}"
        assert load(f"{head}faults: [{backup}, {restore}]\n").cells[0].faults


def test_a_dump_is_restored_by_a_newer_version() -> None:
    for drills in (
        "{at: 1s, do: backup, tool: dump}, {at: 2s, do: upgrade, version: '11.8'}",
        "{at: 1s, do: upgrade, version: '11.8'}, {at: 2s, do: backup}",
    ):
        assert load(f"{ONE}faults: [{drills}, {{at: 5s, do: restore}}]\n").cells[0].faults


def test_planned_work_on_a_topology() -> None:
    drills = (
        "faults: [{at: 1s, do: upgrade, node: db.2, version: '11.8'}, {at: 2s, do: switchover},"
        " {at: 5s, do: replace, node: replica}]\n"
    )
    (cell,) = load(REPLICAS + drills).cells
    assert [(fault.do, fault.nodes) for fault in cell.faults] == [
        ("upgrade", ("db.2",)),
        ("switchover", ("primary",)),
        ("replace", ("replica",)),
    ]
    assert (cell.faults[0].version, cell.faults[0].kind) == ("11.8", "mariadb")
    assert load(GALERA + "faults: [{at: 1s, do: replace, node: db.3}]\n").cells[0].faults
    # After a switchover the first node is a replica.
    changed = "faults: [{at: 1s, do: switchover}, {at: 3s, do: replace, node: db}]\n"
    assert load(REPLICAS + changed).cells[0].faults


def test_an_upgrade_says_where_its_programs_are() -> None:
    upgrade = "faults: [{at: 1s, do: upgrade, version: '11.8', basedir: /opt/newer}]\n"
    (cell,) = load(OWN + upgrade).cells
    assert (cell.faults[0].version, cell.faults[0].basedir) == ("11.8", "/opt/newer")
    # Of several nodes each has its own version, and 11 may be 11.8.
    rolling = "{at: 1s, do: upgrade, node: db.3, version: '11.8'}"
    rolling += ", {at: 3s, do: upgrade, node: db.2, version: '10.11'}"
    rolling += ", {at: 5s, do: upgrade, node: db.3, version: '11'}"
    assert len(load(f"{PLAIN}faults: [{rolling}]\n").cells[0].faults) == 3


def test_a_plan_keeps_them_and_a_quick_run_goes_back_to_a_sooner_moment() -> None:
    text = LOGGED + "faults: [{at: 3s, do: backup, logs: kept}, {at: 9s, do: restore, to: 6s}]\n"
    plan = make(load(text), MACHINE, quick=True)
    assert from_json(to_json(plan)).cells[0].faults == plan.cells[0].faults
    share = plan.cells[0].duration_s / 30
    assert plan.cells[0].faults[1].to_s == pytest.approx(6 * share)


@pytest.mark.parametrize(
    ("head", "faults", "said"),
    [
        (ONE, "[¶{at: 1s, do: restore}]", "no backup that it could restore"),
        (ONE, "[{at: 5s, do: backup}, ¶{at: 1s, do: restore}]", "no backup that it could restore"),
        (ONE, "[{at: 1s, do: backup}, {at: 2s, do: restore, to: ¶3s}]", "after the loss"),
        (
            LOGGED,
            "[{at: 1s, do: backup, logs: kept}, {at: 2s, do: clock, by: 1h, for: 1s},"
            " ¶{at: 9s, do: restore, to: 8s}]",
            "a fault `clock` puts its time off",
        ),
        (
            TWO,
            "[{at: 1s, do: backup, node: db}, ¶{at: 5s, do: restore, node: db.2}]",
            "no `backup` before it is one of `db.2`",
        ),
        (
            TWO,
            "[{at: 1s, do: backup, node: any}, ¶{at: 5s, do: restore, node: any}]",
            "write `node: db`, or `node: all`, at a `backup`",
        ),
        (ONE, "[{at: 1s, do: backup}, ¶{at: 5s, do: restore, to: 3s}]", "no logs are replayed"),
        (
            LOGGED,
            "[{at: 1s, do: backup, logs: kept}, {at: 3s, do: restore}, ¶{at: 9s, do: restore}]",
            "add a `backup` between the two",
        ),
        (
            ONE,
            "[{at: 1s, do: backup}, {at: 2s, do: upgrade, version: '11.8'},"
            " ¶{at: 5s, do: restore}]",
            "add a `backup` after the upgrade, or use `tool: dump`",
        ),
        (ONE, "[{at: 1s, do: backup, logs: ¶kept}]", "config: {log_bin: binlog}"),
        *(
            (config(written), "[{at: 1s, do: backup, logs: ¶kept}]", "writes no log that could be")
            for written in NO_LOG
        ),
        (ONE, "[{at: 1s, do: backup, tool: ¶basebackup}]", "MariaDB has no `basebackup`"),
        (ONE, "[{at: 1s, do: backup, tool: ¶rsync}]", "cannot be `rsync`"),
        (POSTGRES, "[{at: 1s, do: backup, tool: dump, logs: ¶kept}]", "use `tool: basebackup`"),
        (MYSQL, "[{at: 1s, do: backup, logs: ¶streamed}]", "use `tool: dump`"),
        (MYSQL, "[{at: 1s, do: backup, tool: dump, logs: ¶kept}]", "writes no log"),
        (ONE.replace("mariadb", "redis"), "[{at: 1s, do: ¶backup}]", "no backup of Redis"),
        (PLAIN, "[{at: 1s, do: ¶backup}]", "has a topology"),
        (ONE, "[{at: 1s, do: ¶switchover}]", "no switchover on target `db`"),
        (PLAIN, "[{at: 1s, do: ¶switchover}]", "no switchover on target `db`"),
        (GALERA, "[{at: 1s, do: ¶switchover, node: db}]", "no switchover on target `db`"),
        (REPLICAS, "[{at: 1s, do: switchover, node: ¶db.2}]", "one of the primary"),
        (ONE, "[{at: 1s, do: ¶replace}]", "not possible on target `db`"),
        (LOGICAL, "[{at: 1s, do: ¶switchover}]", "whose replication is logical"),
        (LOGICAL, "[{at: 1s, do: ¶detach, node: db.2}]", "the values of sequences"),
        (LOGICAL, "[{at: 1s, do: replace, node: ¶db}]", "of one replica"),
        (LOGICAL_WAITS, "[{at: 1s, do: ¶replace, node: db.2}]", "write `nodes: 3` or more"),
        (PLAIN, "[¶{at: 1s, do: replace}]", "of one replica"),
        (PLAIN, "[{at: 1s, do: replace, node: ¶all}]", "of one replica"),
        (PLAIN, "[{at: 1s, do: detach, node: ¶any}]", "of one replica"),
        # It leads all the time: nothing takes over from it.
        (PLAIN, "[{at: 1s, do: replace, node: ¶db}]", "of one replica"),
        (PLAIN, "[{at: 1s, do: detach, node: ¶db}]", "of one replica"),
        (GALERA, "[{at: 1s, do: ¶detach, node: db.2}]", "not possible on target `db`"),
        (ONE, "[¶{at: 1s, do: upgrade}]", "version` is missing"),
        (POSTGRES, "[{at: 1s, do: ¶upgrade, version: '16'}]", "does not upgrade PostgreSQL"),
        (OLD, "[{at: 1s, do: upgrade, version: ¶'10.6'}]", "10.6 is older than 10.11, which"),
        (
            PLAIN,
            "[{at: 1s, do: upgrade, node: db.2, version: '11.8'},"
            " ¶{at: 3s, do: upgrade, node: db.2, version: '11.4'}]",
            "11.4 is older than 11.8, which `db.2` runs by then",
        ),
        (OWN, "[{at: 1s, do: upgrade, version: ¶'11.8'}]", "add `basedir:` to the fault"),
    ],
)
def test_what_cannot_be_is_said_where_it_stands(head: str, faults: str, said: str) -> None:
    if "redis" in head:
        head = head.replace("kind: oltp, preset: read_only", "kind: kv")
    error = failure(f"{head}faults: {faults}\n")
    assert said in f"{error.what} {error.fix} {error.cause}", str(error)


def test_metrics_of_a_restore_need_one() -> None:
    error = failure(ONE + 'claims: ["¶rto_s < 5s"]\n')
    assert "no server is restored" in error.what
    drills = "audit: commits\nfaults: [{at: 1s, do: backup}, {at: 5s, do: restore}]\n"
    text = ONE.replace("read_only", "write_only") + drills
    claims = "claims: ['rto < 5s', 'rpo < 1', 'rpo_s < 1s', 'step_s.restore.copy < 3s']\n"
    found = [claim.text for claim in load(text + claims).claims]
    assert len(found) == 4


def test_the_conversion_of_a_replica_set_of_mongodb_is_not_tested_here() -> None:
    text = PLAIN.replace("mariadb", "mongodb")
    error = failure(text + "faults: [{at: 1s, do: detach, node: replica}]\n")
    assert error.what == "`targets.db.kind` is MongoDB, which is not tested here"
    assert "no mongod is available" in error.cause
    assert "`dyno check mongodb://HOST`" in error.fix
    assert error.where is not None
    workload = failure(ONE.replace("kind: oltp", "kind: mongodb"))
    assert "not tested here" not in str(workload)
