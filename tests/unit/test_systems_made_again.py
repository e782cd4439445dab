"""What a managed server is made again by: the programs that run by now. Nothing starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.faults.drills.base import Steps
from dbdyno.systems import backups
from dbdyno.systems.backups.base import Backup, Site
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.systems.process import managed
from dbdyno.systems.process.account import Account
from dbdyno.systems.process.managed import Command, Make, ManagedSystem, Started


class System(ManagedSystem):
    """Writes down whose data directories it made, and starts nothing."""

    kind, account, initialised = "mariadb", "mysql", "data"

    def __init__(self) -> None:
        self.made: list[tuple[str, Path]] = []

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        self.made.append((binaries.version, directory))

    def configured(self, started: Started, resolved: Resolved) -> tuple[Command, Make]:
        raise AssertionError("nothing starts")

    def _begin(self, started: Started, resolved: Resolved, cpus: Sequence[int]) -> Any:
        return lambda given: given


@pytest.mark.parametrize(("kind", "tool"), [("mariadb", "dump"), ("postgres", "dump")])
def test_a_dump_is_restored_into_a_directory_of_the_programs_that_run_by_now(
    kind: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = SimpleNamespace(pid=1)
    monkeypatch.setattr(managed, "Guarded", lambda **given: process)
    monkeypatch.setattr(managed, "socket_directory", lambda account: tmp_path)
    system, account = System(), Account("mysql", 0, 0, switch=False)
    older, newer = Binaries("10.11.14-MariaDB"), Binaries("11.8.6-MariaDB")
    resolved = Resolved({}, (), ())
    started: Any = system._launch(older, tmp_path, resolved, (), account, 4321)
    server = SimpleNamespace(given=replace(started, binaries=newer))  # as `Managed.use` does
    site = Site(server, "dyno", Steps(), lambda: None)
    found = backups.of(kind, tool)
    found.place(site, Backup(found, tmp_path, 1.0, 1))
    assert system.made == [("11.8.6-MariaDB", tmp_path)]
