"""Conditions of a workload after a trial: met, broken, or not to ask."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.servers.integrity import checked
from dbdyno.experiment import workloads
from dbdyno.experiment.workloads.tpcc import CONDITIONS
from dbdyno.store.record import TrialRecord

RECORD = TrialRecord(
    id="b01-t001", block=1, cell=0, status="complete", started_unix_s=0.0, metrics={"x": 1.0}
)


@dataclass
class Server:
    """Answers the conditions that name a table with rows, all others with none."""

    table: str = ""
    refuses: bool = False
    asked: int = 0

    def run(self, database: str, statements: list[str]) -> list[tuple[Any, ...]]:
        self.asked += 1
        if self.refuses:
            raise DynoError("no such table")
        return [(1, 2)] * 5 if self.table and self.table in statements[0] else []


def after(
    server: Server, workload: str = "tpcc", kind: str = "mariadb", groups: int = 1
) -> TrialRecord:
    member = SimpleNamespace(kind=kind, database="dyno", written={"db": server})
    group = SimpleNamespace(target="db", workload=workload, options={})
    return checked(RECORD, SimpleNamespace(groups=[group] * groups), {"db": member})  # type: ignore[arg-type, dict-item]


def test_data_that_are_whole_leave_the_record_as_it_is() -> None:
    assert after(Server()) is RECORD
    assert after(Server(refuses=True), workload="oltp") is RECORD, "it has no conditions"
    assert after(Server(refuses=True), kind="null") is RECORD


def test_a_broken_condition_voids_the_trial_and_says_which_and_where() -> None:
    record = after(Server(table="new_order"))
    assert record.status == "void"
    assert "db: consistency condition 3" in record.void_reason
    assert "does not hold in 5 places: (1, 2), (1, 2), (1, 2)" in record.void_reason
    assert "condition 1:" not in record.void_reason


def test_a_condition_that_cannot_be_asked_is_not_taken_for_held() -> None:
    record = after(Server(refuses=True))
    assert record.status == "void"
    assert record.void_reason.count("cannot be asked: no such table") == len(CONDITIONS)


def test_groups_that_share_their_data_ask_once() -> None:
    after(server := Server(), groups=3)
    assert server.asked == len(CONDITIONS) == 12


@pytest.mark.parametrize("mode", ["faithful", "sysbench"])
def test_conditions_are_those_of_the_data(mode: str) -> None:
    checks = workloads.of("tpcc").checks({"mode": mode, "customers": 30})
    assert [check.name.split(":")[0] for check in checks] == [
        f"consistency condition {number}" for number in range(1, 13)
    ]
    assert checks[10].sql.endswith("<> since + 21"), "7 of 10 orders are loaded as delivered"
    assert all(("district1" in check.sql) == (mode == "sysbench") for check in checks[:2])


@pytest.mark.parametrize(("name", "sql"), CONDITIONS)
def test_conditions_name_their_tables_by_place(name: str, sql: str) -> None:
    assert name.startswith("consistency condition ") and "{" in sql


def test_rules_and_sizes_that_are_not_the_specifications_are_remarked() -> None:
    remarks = workloads.of("tpcc").remarks
    assert remarks({}) == ()
    assert "scripts for sysbench" in remarks({"mode": "sysbench"})[0]
    assert "made smaller" in remarks({"items": 1000})[0]
