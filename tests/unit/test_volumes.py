"""`volume:` of a target: what is read and refused, what it means for plans, how it is judged."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.analysis.between_runs.comparability import asked, differences
from dbdyno.cli.running.before import validate
from dbdyno.errors import DynoError
from dbdyno.execute import disk_full
from dbdyno.execute.faulting.strike import chosen
from dbdyno.experiment import load
from dbdyno.experiment.types import Spec, Volume
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS, limit
from dbdyno.faults.base import Node
from dbdyno.faults.disk.power_cut import FAULT
from dbdyno.hosts import LOCAL
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook import estimate
from dbdyno.plan.stored import json as plan_json
from dbdyno.storage import needed, probe
from dbdyno.storage import volume as disks
from dbdyno.storage.probe import Examined

MACHINE = Machine(2, 8 << 30, "", "", (0, 1))
TEXT = """experiment: standing
targets:
  db: {kind: mariadb}
workload: {kind: oltp, preset: write_only, rows: 1000}
faults: [{at: 5s, do: power_cut, back_after: 1s}]
"""
PLAIN = TEXT.replace("faults: [{at: 5s, do: power_cut, back_after: 1s}]\n", "")


def loaded(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "standing.yaml"
    path.write_text(text)
    return load(path)


def with_kill(at: str) -> str:
    return f"{PLAIN}faults: [{{at: {at}, do: kill}}]\n"


def with_volume(volume: str, text: str = TEXT) -> str:
    return text.replace("mariadb}", f"mariadb, volume: {volume}}}")


@pytest.mark.parametrize(
    ("written", "volume"),
    [
        ("{}", Volume()),
        ("{size: 512Mi, filesystem: xfs}", Volume(512 << 20, "xfs")),
        ("{mount_options: 'nobarrier,commit=1'}", Volume(mount_options="nobarrier,commit=1")),
        ("{flushes: ignored}", Volume(flushes="ignored")),
    ],
)
def test_a_volume_is_read(tmp_path: Path, written: str, volume: Volume) -> None:
    spec = loaded(tmp_path, with_volume(written))
    assert spec.cells[0].targets[0].volume == volume


WRONG = {
    "no volume": (TEXT, "`power_cut` needs a disk", "add `volume: {size: 2Gi}`"),
    "no server": (
        with_volume("{}", PLAIN).replace("mariadb", "sqlite"),
        "`volume` means nothing to SQLite",
        "remove it",
    ),
    "external": (
        with_volume("{}", PLAIN).replace("kind: mariadb", "url: mysql://a@b/c"),
        "`volume` cannot be set for target `db`: it is an external server",
        "remove `volume`",
    ),
    "small": (with_volume("{size: 64Mi}"), "at least 320Mi", ""),
    "flushes that nobody sends": (
        with_volume("{flushes: ignored}").replace("power_cut, back_after: 1s", "fsync_error"),
        "no fsync on the volume of target `db` can fail",
        "remove `flushes: ignored` from target `db`",
    ),
    "options": (with_volume("{mount_options: 'a b'}"), "mount_options", ""),
    "word": (with_volume("{flushes: sometimes}"), "flushes", ""),
    "unknown": (with_volume("{fs: ext4}"), "fs", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name: str, tmp_path: Path) -> None:
    text, what, fix = WRONG[name]
    with pytest.raises(DynoError) as caught:
        loaded(tmp_path, text)
    assert what in caught.value.what, str(caught.value)
    assert fix in caught.value.fix


def test_a_plan_keeps_it_says_it_and_starts_other_servers_for_it(tmp_path: Path) -> None:
    text = with_volume("{size: 1Gi, flushes: ignored}")
    factor = "factors: {lie: {no: {db.volume.flushes: obeyed}, yes: }}\n"
    plan = make(loaded(tmp_path, text + factor), MACHINE)
    again = plan_json.from_json(plan_json.to_json(plan))
    assert again.cells == plan.cells
    assert [factor.hard for factor in plan.factors] == [True]
    (touched,) = estimate.of(make(loaded(tmp_path, text), MACHINE)).touched
    assert touched.words["volume"] == "1Gi, ext4, flushes ignored"


def test_a_series_distinguishes_volumes_and_keeps_runs_without_one(tmp_path: Path) -> None:
    plain = make(loaded(tmp_path, PLAIN), MACHINE)
    own = make(loaded(tmp_path, with_volume("{flushes: ignored}", PLAIN)), MACHINE)
    assert not [name for name in asked(plain, plain.cells[0]) if "volume" in name]
    assert asked(own, own.cells[0])["targets.db.volume.flushes"] == '"ignored"'


def test_a_series_distinguishes_faults_and_keeps_runs_without_one(tmp_path: Path) -> None:
    plain, struck = (make(loaded(tmp_path, text), MACHINE) for text in (PLAIN, with_kill("5s")))
    later = make(loaded(tmp_path, with_kill("6s")), MACHINE)
    assert not [name for name in asked(plain, plain.cells[0]) if "fault" in name]
    found = {name: v for name, v in asked(struck, struck.cells[0]).items() if "fault" in name}
    assert found == {
        "faults.1.at_s": "5.0",
        "faults.1.do": '"kill"',
        "faults.1.nodes": '["primary"]',
        "faults.1.target": '"db"',
    }
    changed = asked(later, later.cells[0])
    assert differences(asked(struck, struck.cells[0]), changed) == ("faults.1.at_s: 5.0 -> 6.0",)


def test_a_full_volume_is_named(tmp_path: Path) -> None:
    targets = loaded(tmp_path, with_volume("{size: 512Mi}")).cells[0].targets
    error = disk_full.recognised(DynoError("cp: No space left on device"), tmp_path, targets)
    assert error.cause == "a volume is full: it has 512 MiB in all"
    assert "larger `size:`" in error.fix


def test_a_machine_without_volumes_is_not_tested_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(needed, "program", lambda name, places: None)
    with pytest.raises(DynoError, match="programs that are missing: nbdkit, nbdfuse") as caught:
        needed.check(Volume(filesystem="xfs"))
    packages = "nbdkit libnbd-bin fuse3 mount xfsprogs"
    assert caught.value.fix == f"apt-get install --no-install-recommends {packages}"
    loaded(tmp_path, with_volume("{}"))
    validate.check(str(tmp_path / "standing.yaml"), [], as_json=False)
    said = capsys.readouterr().err
    assert "warning: not tested here: target `db`: volumes need programs" in said
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DynoError, match="needs root"):
        needed.check(Volume())


def test_an_optional_target_without_its_volume_drops_its_cells(tmp_path: Path) -> None:
    text = with_volume("{}").replace("mariadb,", "mariadb, optional: true,") + (
        "factors: {disk: {own: , none: {db.volume: null, faults: []}}}\n"
    )
    with_claim = loaded(tmp_path, text + "claims: ['tps[own] < tps[none]']\n")
    plan = make(
        with_claim,
        MACHINE,
        available=lambda target: "needs root; run dyno as root" if target.volume else None,
    )
    assert [cell.levels["disk"] for cell in plan.cells] == ["none"]
    (why,) = plan.untested.values()
    assert "needs root" in why


SEEN = Examined(0.005, kept=True, left=False, direct=False)
LIES = Volume(flushes="ignored")


@pytest.mark.parametrize(
    ("seen", "tries", "last"),
    [
        ([SEEN], 1, SEEN),
        ([replace(SEEN, left=True), replace(SEEN, direct=True), SEEN], 3, SEEN),
        ([replace(SEEN, left=True)] * 3, 3, replace(SEEN, left=True)),
        ([replace(SEEN, kept=False)], 1, replace(SEEN, kept=False)),
    ],
)
def test_a_volume_that_somebody_else_may_have_flushed_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, seen: list[Examined], tries: int, last: Examined
) -> None:
    found = iter(seen)
    volume: Any = None
    monkeypatch.setattr(probe, "_examine", lambda _: next(found))
    assert probe.examine(volume) == last
    assert len(seen) == tries
    assert list(found) == []


def test_a_volume_that_does_what_it_says_needs_no_word() -> None:
    assert probe.judge("db", Volume(), SEEN) == ""
    assert probe.judge("db", LIES, replace(SEEN, kept=False)) == ""
    assert SEEN.facts(LIES)["flushes"] == "ignored"


@pytest.mark.parametrize(
    ("asked", "seen", "what"),
    [
        (Volume(), replace(SEEN, left=True), "not flushed has survived"),
        (Volume(), replace(SEEN, direct=True), "not flushed has survived"),
        (Volume(), replace(SEEN, kept=False), "fsynced has not survived"),
        (LIES, SEEN, "does not ignore them"),
        (Volume(mount_options="nobarrier"), replace(SEEN, direct=True), "has survived"),
    ],
)
def test_a_volume_that_does_something_else_is_refused(
    asked: Volume, seen: Examined, what: str
) -> None:
    with pytest.raises(DynoError, match=what):
        probe.judge("db", asked, seen)


def test_mount_options_that_lie_are_a_finding_and_no_error() -> None:
    said = probe.judge("db", Volume(mount_options="nobarrier"), replace(SEEN, kept=False))
    assert "`nobarrier` a file that was fsynced did not survive a power cut" in said


def test_mount_options_that_keep_more_than_was_asked_for_are_a_remark() -> None:
    said = probe.judge("db", Volume(mount_options="data=journal"), replace(SEEN, left=True))
    assert "`data=journal` a file that was not fsynced survived a power cut" in said


class Recorded:
    """A server and its disk that write down what is done to them."""

    def __init__(self, did: list[str], prefix: str = "") -> None:
        self._did = did
        self._prefix = prefix
        self.is_on = True
        self.process = self

    def alive(self) -> bool:
        return "server kill" not in self._did

    def __getattr__(self, name: str) -> Any:
        def called(*_: object) -> None:
            self._did.append(f"{self._prefix} {name}")
            self.is_on = name == "restore" or (self.is_on and name != "cut")

        return called


def test_nothing_is_acknowledged_once_the_disk_forgets() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")
    node = Node("db", server, "dbdyno", disk=disk)
    fault = Fault(1.0, "power_cut", ("db",), "db")
    FAULT.begin(node, fault)
    assert did == ["server pause", "disk cut", "server kill", "disk release"]
    FAULT.undo(node, fault, "")
    assert did[4:] == ["disk restore", "server start_again"]


def test_a_failed_fsync_ends_with_a_disk_that_obeys_and_a_server_that_runs() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")
    node = Node("db", server, "dbdyno", disk=disk)
    fault = Fault(1.0, "fsync_error", ("db",), "db")
    FAULTS["fsync_error"].begin(node, fault)
    assert FAULTS["fsync_error"].undo(node, fault, "").startswith("the file system went read-only")
    assert did == [
        *("disk fail_flushes", "disk fail_flushes", "disk can_be_written"),
        *("server kill", "disk remount", "server start_again"),
    ]


def test_a_paused_server_that_a_failover_killed_starts_on_a_disk_that_has_power() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")
    node = Node("db", server, "dbdyno", disk=disk, is_fenced=lambda: True)
    fault = Fault(1.0, "pause", ("db",), "db")
    FAULTS["pause"].begin(node, fault)
    node.server.kill()
    disk.cut()
    assert FAULTS["pause"].undo(node, fault, "").startswith("a failover had killed it")
    assert did[3:] == ["server resume", "disk restore", "server start_again"]


def test_the_end_of_a_pause_does_not_end_a_power_cut() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")
    node = Node("db", server, "dbdyno", disk=disk, is_fenced=lambda: True)
    pause, cut = (Fault(1.0, do, ("db",), "db") for do in ("pause", "power_cut"))
    FAULTS["pause"].begin(node, pause)
    FAULT.begin(node, cut)
    assert FAULTS["pause"].undo(node, pause, "") == "another fault keeps the server down"
    assert did[-1] == "server resume"
    FAULT.undo(node, cut, "")
    assert did[-2:] == ["disk restore", "server start_again"]


def test_a_failed_fsync_starts_no_server_that_another_fault_keeps_down() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")
    node = Node("db", server, "dbdyno", disk=disk)
    failing, kill = (Fault(1.0, do, ("db",), "db") for do in ("fsync_error", "kill"))
    FAULTS["fsync_error"].begin(node, failing)
    FAULTS["kill"].begin(node, kill)
    said = FAULTS["fsync_error"].undo(node, failing, "")
    assert said.startswith("another fault keeps the server down")
    assert "server start_again" not in did
    FAULTS["kill"].undo(node, kill, "")
    assert did[-1] == "server start_again"
    assert not node.is_down


def test_a_disk_that_gets_no_flush_cannot_fail_one() -> None:
    did: list[str] = []
    disk: Any = Recorded(did, "disk")
    disk.keeps = False
    node = Node("db", disk, "dbdyno", disk=disk)
    with pytest.raises(DynoError, match="no fsync of `db` can fail"):
        FAULTS["fsync_error"].begin(node, Fault(1.0, "fsync_error", ("db",), "db"))
    assert did == []


def test_a_server_is_killed_even_if_its_disk_does_not_end() -> None:
    did: list[str] = []
    server: Any = Recorded(did, "server")
    disk: Any = Recorded(did, "disk")

    def refuse() -> None:
        raise DynoError("a process of the disk does not die")

    disk.cut = refuse
    with pytest.raises(DynoError, match="does not die"):
        FAULT.begin(Node("db", server, "dbdyno", disk=disk), Fault(1.0, "power_cut", ("db",), "db"))
    assert did == ["server pause", "server kill"]


def test_a_flush_that_fails_says_why(tmp_path: Path) -> None:
    volume = disks.Volume(LOCAL, tmp_path / "db", Volume())
    with pytest.raises(DynoError, match="cannot be flushed: No such file") as caught:
        volume.flush()
    assert caught.value.cause == "the programs that are its disk have ended"
    assert "nbdkit" in caught.value.fix


def test_a_limit_of_the_disk_is_one_of_its_device(tmp_path: Path) -> None:
    text = with_volume("{}").replace(
        "power_cut, back_after: 1s", "limit, disk: {iops: 50, bytes_per_s: 1M}, for: 1s"
    )
    (fault,) = loaded(tmp_path, text).cells[0].faults
    assert (fault.disk_iops, fault.disk_bytes_per_s) == (50, 1_000_000)
    disk: Any = SimpleNamespace(number="7:3")
    node = Node("db", disk, "dbdyno", disk=disk)
    assert list(limit.asked(fault, node)) == [
        ("blkio", "blkio.throttle.read_iops_device", "7:3 50"),
        ("blkio", "blkio.throttle.write_iops_device", "7:3 50"),
        ("blkio", "blkio.throttle.read_bps_device", "7:3 1000000"),
        ("blkio", "blkio.throttle.write_bps_device", "7:3 1000000"),
    ]
    with pytest.raises(DynoError, match="`limit` needs a disk"):
        loaded(tmp_path, text.replace(", volume: {}", ""))


def test_all_nodes_are_struck(tmp_path: Path) -> None:
    roles = {"db": "instance", "db.2": "instance"}
    fault = Fault(1.0, "power_cut", ("all",), "db")
    assert chosen(fault, roles, random.Random(1)) == ["db", "db.2"]
    text = with_volume("{}, instances: 2").replace("power_cut,", "power_cut, node: all,")
    (read,) = loaded(tmp_path, text).cells[0].faults
    assert read.nodes == ("all",)
