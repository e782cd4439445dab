"""Steps of drills, what is measured of them, and what backups say of logs. Nothing starts."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.audit.findings import Audit, Lost
from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node, Stopped
from dbdyno.faults.drills.base import Step, Steps
from dbdyno.store.metrics import drills
from dbdyno.store.text import shapes
from dbdyno.systems.backups.base import Backup, Site, gap
from dbdyno.systems.backups.mysqlfamily import binlog, dump, mariabackup
from dbdyno.systems.backups.postgres import basebackup, wal
from dbdyno.systems.process.account import Account
from dbdyno.topology import planned
from dbdyno.topology.base import Position
from dbdyno.topology.locks import NodeLocks

RESTORED: dict[str, Any] = {
    "do": "restore",
    "node": "db",
    "at_s": 5.0,
    "begun_s": 5.0,
    "in_force_s": 9.0,
    "steps": [
        {"step": "loss", "begun_s": 6.0, "ended_s": 6.5},
        {"step": "copy", "begun_s": 6.5, "ended_s": 9.0},
    ],
    "measured": {"backup_age_s": 3.5},
}
TAKEN: dict[str, Any] = {
    "do": "backup",
    "node": "db",
    "at_s": 1.0,
    "begun_s": 1.0,
    "in_force_s": 3.0,
    "steps": [{"step": "backup", "begun_s": 1.0, "ended_s": 3.0}],
    "measured": {"backup_bytes": 4096.0},
}


def audit(lost: int | None, first_s: float | None = None) -> Audit:
    first = None if first_s is None else Lost(1, 1, 0, first_s)
    return Audit(100, 0, 0, lost, 0, 0, 0, 0, 0, (), first)


def test_steps_are_timed_and_heard_at_both_ends() -> None:
    clock = iter([1.0, 1.5, 2.0])
    heard: list[tuple[str, float | None]] = []
    steps = Steps(lambda: next(clock), lambda step: heard.append((step.name, step.ended_s)))
    with steps("copy"):
        pass
    with pytest.raises(ValueError, match="full"), steps("start"):
        raise ValueError("full")
    assert heard == [("copy", None), ("copy", 1.5), ("start", None)]
    assert [step.facts() for step in steps.done] == [
        {"step": "copy", "begun_s": 1.0, "ended_s": 1.5},
        {"step": "start", "begun_s": 2.0},
    ]
    with pytest.raises(AssertionError), steps("a step"):
        pass


def test_recovery_time_counts_from_the_loss_and_not_from_a_wait_before_it() -> None:
    assert drills.of_faults([TAKEN, RESTORED]) == {
        "step_s.backup.backup": 2.0,
        "backup_s": 2.0,
        "backup_bytes": 4096.0,
        "step_s.restore.loss": 0.5,
        "step_s.restore.copy": 2.5,
        "rto_s": 3.0,
        "backup_age_s": 3.5,
    }
    later = {**TAKEN, "steps": [{"step": "backup", "begun_s": 9.0, "ended_s": 9.5}]}
    assert drills.of_faults([TAKEN, later])["backup_s"] == 2.0  # the longest
    failed = {key: value for key, value in RESTORED.items() if key != "in_force_s"}
    assert drills.of_faults([failed, {"do": "kill", "node": "db"}]) == {}


def test_the_recovery_point_is_the_first_lost_commit() -> None:
    faults = [TAKEN, RESTORED]
    assert drills.rpo_s(faults, {"db": audit(7, 3.2)}) == {"rpo_s": pytest.approx(2.8)}
    assert drills.rpo_s(faults, {"db": audit(0)}) == {"rpo_s": 0.0}
    assert drills.rpo_s(faults, {"db": audit(None)}) == {}
    assert drills.rpo_s(faults, {}) == {}
    again = {**RESTORED, "steps": [{"step": "loss", "begun_s": 20.0, "ended_s": 21.0}]}
    assert drills.rpo_s([*faults, again], {"db": audit(7, 3.2)}) == {}  # of which of the two?
    assert drills.rpo_s([*faults, again], {"db": audit(0)}) == {"rpo_s": 0.0}
    other = {"db": audit(0), "standing": audit(7, 1.0)}
    assert drills.rpo_s(faults, other) == {"rpo_s": 0.0}
    assert drills.rpo_s([TAKEN], {"db": audit(7, 3.2)}) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": "copy"},
        {"steps": [{"step": 1, "begun_s": 1.0}]},
        {"steps": [{"step": "copy"}]},
        {"steps": [{"step": "copy", "begun_s": "soon"}]},
        {"measured": [1]},
        {"measured": {"backup_bytes": "much"}},
    ],
)
def test_a_damaged_record_of_a_drill_is_no_record(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"faults|no number"):
        shapes.faults(({**RESTORED, **wrong},))
    shapes.faults((RESTORED, TAKEN))


def test_a_restore_without_a_backup_touches_nothing() -> None:
    server: Any = SimpleNamespace(process=SimpleNamespace(alive=lambda: True))
    steps = Steps()
    with pytest.raises(DynoError, match="no backup in this trial"):
        FAULTS["restore"].carry_out(  # type: ignore[attr-defined]
            Node("db", server, "dyno"), Fault(1.0, "restore", ("db",), "db"), steps
        )
    assert steps.done == []


def test_a_user_who_stops_ends_a_drill() -> None:
    server: Any = None
    with pytest.raises(Stopped):
        Node("db", server, "dyno", stopped=lambda: True).check()
    Node("db", server, "dyno").check()


def test_a_user_who_stops_does_not_wait_for_a_statement_of_a_drill() -> None:
    is_over = threading.Event()

    def run(database: str, statements: list[str]) -> list[tuple[int]]:
        assert (database, statements) == ("dyno", ["SELECT count(*) FROM t"])
        assert is_over.wait(60)
        return [(7,)]

    def stop() -> None:
        raise Stopped

    server = SimpleNamespace(run=run)
    try:
        with pytest.raises(Stopped):
            Site(server, "dyno", Steps(), stop).execute("SELECT count(*) FROM t")
    finally:
        is_over.set()
    site = Site(server, "dyno", Steps(), lambda: None)
    assert site.execute("SELECT count(*) FROM t") == [(7,)]
    server.run = lambda database, statements: 1 / 0
    with pytest.raises(ZeroDivisionError):
        site.execute("CHECK TABLE t")


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ([3, 4, 5], ""),
        ([1, 2, 3], ""),
        ([4, 5], "log 3 is missing: the first one is log 4"),
        ([3, 5], "log 4 is missing between log 3 and log 5"),
        ([1, 2], "log 3 is missing, and the last one is log 2"),
        ([], "log 3 is missing, and there is none"),
    ],
)
def test_a_gap_in_the_logs_is_named(there: list[int], said: str) -> None:
    assert gap(3, there, lambda number: f"log {number}") == said


def test_where_backups_say_that_the_log_was(tmp_path: Path) -> None:
    (tmp_path / "xtrabackup_binlog_info").write_text("binlog.000003\t1234\t0-1-57\n")
    assert mariabackup.position(tmp_path) == binlog.Position("binlog.000003", 1234)
    assert mariabackup.gtid(tmp_path) == "0-1-57"
    file = tmp_path / "dump.sql"
    head = "-- MariaDB dump\n--\n"
    said = "-- CHANGE MASTER TO MASTER_LOG_FILE='binlog.000007', MASTER_LOG_POS=42;\n"
    file.write_text(head + said)
    assert dump.position(file) == binlog.Position("binlog.000007", 42)
    said = "-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000008', SOURCE_LOG_POS=157;\n"
    file.write_text(head + said)
    assert dump.position(file) == binlog.Position("binlog.000008", 157)
    file.write_text(head)
    with pytest.raises(DynoError, match="does not say where"):
        dump.position(file)
    (tmp_path / "backup_manifest").write_text('{"WAL-Ranges": [{"End-LSN": "1/2000100"}]}')
    assert basebackup.end_of(tmp_path) == (1 << 32) + 0x2000100


def test_logs_that_end_before_a_moment_are_named_as_that(tmp_path: Path) -> None:
    logs = wal.WalLogs.__new__(wal.WalLogs)
    logs.path = tmp_path
    (tmp_path / "000000010000000000000002").touch()
    (tmp_path / "backup_manifest").write_text('{"WAL-Ranges": [{"End-LSN": "0/2000100"}]}')
    (tmp_path / "data").mkdir()
    said = ["FATAL: recovery ended before configured recovery target was reached", "full disk"]

    def start_again(settings: dict[str, str]) -> None:
        assert "recovery_target_time" in settings
        raise DynoError("it ended at its start", fix=said.pop(0))

    account = Account("postgres", os.getuid(), os.getgid(), switch=False)
    given = SimpleNamespace(directory=tmp_path, account=account)
    server = SimpleNamespace(given=given, start_again=start_again)
    tool, made = basebackup.Basebackup(), Backup(basebackup.TOOL, tmp_path, 1.0, 1, logs)
    tool.place = lambda site, backup: None  # type: ignore[method-assign]
    site = Site(server, "dyno", Steps(), lambda: None)
    with pytest.raises(DynoError, match="the logs end before the moment of `to`") as caught:
        tool.restore(site, made, 1000.0)
    assert "nothing was committed between" in caught.value.cause
    with pytest.raises(DynoError, match="at its start"):
        tool.restore(site, made, 1000.0)


def test_segments_of_wal_are_numbered_through() -> None:
    assert wal.number("000000010000000000000005") == 5
    assert wal.number("0000000200000001000000FF") == 256 + 255
    assert wal.bytes_of("0/5000100") // wal.SEGMENT_BYTES == 5
    assert wal.restore_command(Path("/a b/it's")) == "cp '/a b/it'\\''s/%f' '%p'"


class Replicas:
    """A succession whose steps are written down; one of them may fail."""

    def __init__(self, failing: str = "") -> None:
        self.did: list[str] = []
        self.failing = failing

    def position(self, server: Any) -> Position:
        return server.position  # type: ignore[no-any-return]

    def close(self, members: Any) -> Any:
        self.did.append("close")
        return lambda: self.did.append("reopen")

    def __getattr__(self, name: str) -> Any:
        def step(members: Any, node: Any) -> None:
            self.did.append(f"{name} {node.name}")
            if name == self.failing:
                raise DynoError("no")

        return step


def members(lag_s: float = 0.0, **positions: int | None) -> Any:
    nodes = [SimpleNamespace(name=name) for name in ("db", *positions)]
    servers = {
        name: SimpleNamespace(
            process=SimpleNamespace(alive=lambda there=received: there is not None),
            position=Position(received or 0, True, "here"),
            lag_s=lambda: lag_s,
        )
        for name, received in positions.items()
    }
    return SimpleNamespace(
        leader=nodes[0],
        nodes=nodes,
        followers=nodes[1:],
        deposed=set(),
        leader_name="",
        server=lambda node: servers[node.name],
    )


def switched(succession: Replicas, members: Any) -> list[tuple[str, str, str]]:
    told: list[tuple[str, str, str]] = []
    given: Any = succession
    with ExitStack() as held:
        found = planned.ready(given, members, NodeLocks(), held, Steps(), lambda: None)
        planned.switch_over(
            *(given, members, found.node, Steps(), lambda *what: told.append(what)),
            lambda: succession.did.append("lead"),
        )
    return told


def test_a_switchover_closes_and_drains_before_it_promotes() -> None:
    succession, three = Replicas(), members(second=5, third=7)
    assert switched(succession, three) == [("third", "promoted", "planned, from db")]
    assert succession.did == [
        *("close", "drain third", "prepare third", "promote third", "lead"),
    ]
    assert (three.leader_name, three.deposed) == ("third", {"db"})


@pytest.mark.parametrize("failing", ["drain", "prepare"])
def test_a_switchover_that_fails_opens_the_primary_again(failing: str) -> None:
    succession, two = Replicas(failing), members(second=5)
    with pytest.raises(DynoError, match="no"):
        switched(succession, two)
    assert succession.did[-1] == "reopen"
    assert (two.leader_name, two.deposed) == ("", set())


def test_a_promotion_that_fails_leaves_the_primary_closed() -> None:
    succession, two = Replicas("promote"), members(second=5)
    with pytest.raises(DynoError, match="the promotion of second failed, and db stays closed: no"):
        switched(succession, two)
    assert succession.did == ["close", "drain second", "prepare second", "promote second"]
    assert (two.leader_name, two.deposed) == ("", set())


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (members(second=5, third=None), "third does not answer"),
        (members(lag_s=9.0, second=5), "second is 9.0 s behind"),
    ],
)
def test_a_switchover_does_nothing_where_replicas_are_not_well(
    lacking: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "READY_S", 0.0)
    succession = Replicas()
    with pytest.raises(DynoError, match=said):
        switched(succession, lacking)
    assert succession.did == []


def test_a_step_that_has_not_ended_has_no_end() -> None:
    assert Step("copy", 1.0).facts() == {"step": "copy", "begun_s": 1.0}
