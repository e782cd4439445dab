"""TPC-C's order entry on real servers, by both sets of rules: it runs, the data stay whole, and
damage to them is seen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pg8000.native
import pymysql
import pytest
from engine_jobs import plan, run
from private_servers import CORE, binaries, running
from running import Place, complete_trials, has, wait_until_idle

from dbdyno.experiment import workloads
from dbdyno.experiment.workloads.tpcc import table_names
from dbdyno.systems.base import Server

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: tpcc
targets:
  db: {{kind: {system}, durability: none}}
workload: {{kind: tpcc, warehouses: 2, customers: 100, items: 500, sessions: 4, think: 1ms}}
factors:
{factors}
blocks: 1
warmup: 0s
duration: 60s
interval: 200ms
seed: 11
"""
EACH = """
  rules:
    specification: {workload.mode: faithful}
    scripts: {workload.mode: sysbench}
  protocol: {prepared: {db.protocol: prepared}, text: {db.protocol: text}}"""
# What MySQL and SQLite add to the others needs each rule and each protocol once.
BOTH = """
  rules:
    specification: {workload.mode: faithful, db.protocol: prepared}
    scripts: {workload.mode: sysbench, db.protocol: text}"""
SYSTEMS = (*CORE, "mysql", "sqlite")
KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")
TRANSACTIONS = 400  # of a trial: each kind comes up in one of them
SMALL = {"warehouses": 2, "customers": 100, "items": 500}


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_modes_run_and_leave_the_data_whole(system: str, there: Place) -> None:
    binaries(system)
    factors = EACH if system in CORE else BOTH
    file = there.experiment(EXPERIMENT.format(system=system, factors=factors))
    done = there.dyno_until(has(TRANSACTIONS), "run", file, "--dir", "out")
    assert done.returncode == 0, done.stderr
    records = [json.loads(text) for text in complete_trials(there.path / "out").values()]
    assert len(records) == (4 if system in CORE else 2)
    for record in records:
        assert record["status"] == "complete", record["void_reason"]
        assert record["metrics"]["failed_per_s"] == 0, record["warnings"]
        tags = (there.path / "out" / "trials" / record["id"] / "latency.hlog").read_text()
        assert all(f"/!kind.{kind}," in tags for kind in KINDS)
    for kind in KINDS:  # the rarest are too rare for each trial to have one
        assert sum(record["metrics"][f"kind.{kind}.per_min"] for record in records) > 0, kind
    assert there.until_clean() == []


# Of a district that is not the last one; `o` is its oldest waiting order but one.
DISTRICT = "WHERE d_w_id = {w} AND d_id = {d}"
CUSTOMER = "WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = 1"
ORDER = "WHERE o_w_id = {w} AND o_d_id = {d} AND o_id = "
LINES = "WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = "
WAITING = "WHERE no_w_id = {w} AND no_d_id = {d} AND no_o_id = "
# Number of a condition -> damage, and the other conditions that cannot hold either.
DAMAGE: dict[int, tuple[tuple[str, ...], set[int]]] = {
    1: (("UPDATE {warehouse} SET w_ytd = w_ytd + 1 WHERE w_id = {w}",), {8}),
    2: (("UPDATE {district} SET d_next_o_id = d_next_o_id + 1 " + DISTRICT,), set()),
    # Delivered out of turn.
    3: (
        (
            "DELETE FROM {new_order} " + WAITING + "{o}",
            "UPDATE {orders} SET o_carrier_id = 1 " + ORDER + "{o}",
            "UPDATE {order_line} SET ol_delivery_d = CURRENT_TIMESTAMP " + LINES + "{o}",
            "UPDATE {customer} SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance"
            " + (SELECT SUM(ol_amount) FROM {order_line} " + LINES + "{o})"
            " WHERE c_w_id = {w} AND c_d_id = {d}"
            " AND c_id = (SELECT o_c_id FROM {orders} " + ORDER + "{o})",
        ),
        set(),
    ),
    4: (("UPDATE {orders} SET o_ol_cnt = o_ol_cnt + 1 " + ORDER + "1",), {6}),
    5: (
        (
            "DELETE FROM {new_order} " + WAITING + "{o} - 1",
            "UPDATE {customer} SET c_delivery_cnt = c_delivery_cnt + 1 " + CUSTOMER,
        ),
        set(),
    ),
    6: (
        (
            "UPDATE {orders} SET o_ol_cnt = o_ol_cnt + 1 " + ORDER + "1",
            "UPDATE {orders} SET o_ol_cnt = o_ol_cnt - 1 " + ORDER + "2",
        ),
        set(),
    ),
    # Loaded as delivered, for nothing.
    7: (("UPDATE {order_line} SET ol_delivery_d = NULL " + LINES + "1 AND ol_number = 1",), set()),
    8: (
        (
            "UPDATE {warehouse} SET w_ytd = w_ytd + 1 WHERE w_id = {w}",
            "UPDATE {district} SET d_ytd = d_ytd + 1 " + DISTRICT,
        ),
        {9},
    ),
    9: (
        (
            "UPDATE {district} SET d_ytd = d_ytd + 1 " + DISTRICT,
            "UPDATE {district} SET d_ytd = d_ytd - 1 WHERE d_w_id = {w} AND d_id = {d} + 1",
        ),
        set(),
    ),
    10: (
        (
            "UPDATE {customer} SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 "
            + CUSTOMER,
        ),
        set(),
    ),
    11: (("UPDATE {customer} SET c_delivery_cnt = c_delivery_cnt + 1 " + CUSTOMER,), set()),
    12: (("UPDATE {customer} SET c_ytd_payment = c_ytd_payment + 0.01 " + CUSTOMER,), set()),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_damage_to_what_a_run_has_left_is_seen_by_its_condition(
    system: str, tmp_path: Path
) -> None:
    with running(system, durability="none") as (bench, server):
        for mode in ("faithful", "sysbench"):
            server.create_schema(mode)
            target = server.engine_target(bench.target, bench.resolved, mode)
            options = {**SMALL, "mode": mode}
            for job in ("load", "run"):
                said = run(plan(tmp_path, target, job, workload="tpcc", options=options))
                assert said.code == 0, said.last
            carried_out(system, server, mode)
            with connection(target) as execute:
                assert broken(execute, options) == set()
                for number, (statements, others) in DAMAGE.items():
                    names = {**table_names(mode), **place(execute, mode)}
                    execute("BEGIN")
                    for sql in statements:
                        execute(sql.format(**names))
                    assert broken(execute, options) == {number} | others, (mode, number)
                    execute("ROLLBACK")
                assert broken(execute, options) == set()


def carried_out(system: str, server: Server, schema: str) -> None:
    """Waits until the server has done what it was sent. SQLite does it in threads of the engine."""
    if system != "sqlite":
        family = "postgres" if system == "postgres" else "mysql"
        wait_until_idle(family, lambda sql: server.run(schema, [sql]))


Execute = Callable[[str], Sequence[Sequence[Any]]]


def broken(execute: Execute, options: dict[str, Any]) -> set[int]:
    """Numbers of the conditions that do not hold."""
    checks = workloads.of("tpcc").checks(options)
    return {number for number, check in enumerate(checks, 1) if execute(check.sql)}


def place(execute: Execute, mode: str) -> dict[str, int]:
    """Warehouse and district where three orders or more wait, and the second of these."""
    found = execute(
        "SELECT no_w_id, no_d_id, MIN(no_o_id) + 1 FROM {new_order} WHERE no_d_id < 10"
        " GROUP BY no_w_id, no_d_id HAVING COUNT(*) > 2".format(**table_names(mode))
    )
    return dict(zip("wdo", map(int, found[0]), strict=True))


@contextmanager
def connection(target: dict[str, Any]) -> Iterator[Execute]:
    """Executes statements on one connection, which commits nothing by itself."""
    address = target["address"]
    if "file" in address:
        lite = sqlite3.connect(address["file"], isolation_level=None)
        yield lambda sql: lite.execute(sql).fetchall()
        lite.close()
        return
    who = {"user": target["user"], "password": target["password"], "database": target["database"]}
    if target["driver"] == "postgres":
        postgres = pg8000.native.Connection(**who, **address["tcp"])
        yield lambda sql: postgres.run(sql) or []
        postgres.close()
        return
    mysql = pymysql.connect(**who, **address["tcp"])

    def execute(sql: str) -> Sequence[Sequence[Any]]:
        with mysql.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    yield execute
    mysql.close()
