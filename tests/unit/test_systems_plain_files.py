"""Plain files as a target: how they are opened, what they lie on, what has no meaning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.hosts import LOCAL
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process.scratch import mount_of, mounted

SYSTEM = systems.load("files")


def plan(**target: Any) -> TargetPlan:
    return TargetPlan(name="db", kind="files", **target)


def start(directory: Path, **target: Any) -> Server:
    """An in-process server on `directory`."""
    resolved = SYSTEM.resolve(plan(**target))
    binaries = SYSTEM.find(None)
    SYSTEM.prepare(binaries, directory, resolved)
    return SYSTEM.start(binaries, directory, resolved, cpus=[])


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ({}, {}),
        ({"durability": "full"}, {"sync": "dsync"}),
        ({"durability": "none"}, {"sync": "none"}),
        ({"options": {"method": "mmap"}}, {"method": "mmap"}),
        (
            {"durability": "full", "options": {"sync": "dsync", "direct": True}},
            {"sync": "dsync", "direct": True},
        ),
    ],
)
def test_the_engine_is_told_how_files_are_opened(
    tmp_path: Path, target: dict[str, Any], options: dict[str, Any]
) -> None:
    server = start(tmp_path, **target)
    told = server.engine_target(plan(**target), SYSTEM.resolve(plan(**target)), "dbdyno")
    assert told["options"] == options
    assert told["address"] == {"file": str(tmp_path / "dbdyno")}


def test_the_storage_below_is_described(tmp_path: Path) -> None:
    found = start(tmp_path, durability="full").settings()
    assert found["sync"] == "dsync"
    assert (found["direct"], found["method"]) == ("OFF", "pread")
    assert (found["filesystem"], found["device"]) == mounted(tmp_path)
    assert "rw" in found["mount_options"].split(",")
    assert found["direct_io"] in ("yes", "no")
    assert list(tmp_path.iterdir()) == []
    assert mount_of(Path("/proc")).kind == "proc"


def test_a_schema_is_a_directory_of_our_own(tmp_path: Path) -> None:
    server = start(tmp_path)
    server.create_schema("test")
    assert server.schemas() == ["test"]
    assert (tmp_path / "test").stat().st_mode & 0o777 == 0o700
    with pytest.raises(DynoError, match="exists already"):
        server.create_schema("test")
    with pytest.raises(DynoError, match="cannot be a schema"):
        server.create_schema("../escape")
    assert server.alive()
    assert server.stop()


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ({"config": {"direct": True}}, "`config`"),
        ({"isolation": "serializable"}, "`isolation`"),
        ({"memory_bytes": 1 << 30}, "`memory`"),
        ({"session": ("SET x = 1",)}, "`session`"),
        ({"transport": "socket"}, "`transport: socket`"),
        ({"durability": "full", "options": {"sync": "none"}}, "contradicts `durability: full`"),
        ({"durability": "full", "options": {"method": "mmap"}}, "contradicts `method: mmap`"),
    ],
)
def test_what_has_no_meaning_is_refused(target: dict[str, Any], what: str) -> None:
    with pytest.raises(DynoError) as caught:
        SYSTEM.resolve(plan(**target))
    assert what in caught.value.what
    assert caught.value.fix


def test_files_answer_no_statements(tmp_path: Path) -> None:
    server = start(tmp_path)
    for asked in (
        lambda: server.run("test", ["SELECT 1"]),
        lambda: server.explain("test", "SELECT 1"),
        lambda: server.importer("test", LOCAL),
        lambda: SYSTEM.place_template(SYSTEM.find(None), tmp_path, tmp_path, lambda *_: None),
    ):
        with pytest.raises(DynoError, match="no statements"):
            asked()
    with pytest.raises(DynoError, match="basedir"):
        SYSTEM.find("/usr")
    assert server.counters() == server.cycles({}) == server.sessions_by_state() == {}


def test_direct_io_is_asked_of_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refusing(path: Any, flags: int, *more: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(DynoError) as caught:
        start(tmp_path, options={"direct": True})
    assert "has no direct I/O" in caught.value.what
    assert start(tmp_path).settings()["direct_io"] == "no"


FILE = """\
experiment: e
targets: {{fs: {{kind: {kind}{more}}}}}
duration: 1s
workload: {{kind: {workload}}}
"""


@pytest.mark.parametrize(
    ("kind", "workload", "needed", "able"),
    [
        ("files", "oltp", "needs `sql`, and target `fs` (plain files)", "sqlite, mariadb"),
        ("files", "kv", "needs `key_value`, and target `fs`", "sqlite, mariadb"),
        ("mysql", "io", "needs `io`, and target `fs` (MySQL)", "files, null, or"),
    ],
)
def test_a_workload_that_does_not_fit_is_pointed_at(
    kind: str, workload: str, needed: str, able: str
) -> None:
    with pytest.raises(DynoError) as caught:
        load(FILE.format(kind=kind, more="", workload=workload))
    assert needed in caught.value.what
    assert able in caught.value.fix
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (4, 18)


def test_a_setup_of_tables_means_nothing_to_files() -> None:
    with pytest.raises(DynoError) as caught:
        load(FILE.format(kind="files", more=", setup: {after: [SELECT 1]}", workload="io"))
    assert "there are no tables in plain files, so `setup` means nothing" in caught.value.what
