"""Everything that a run starts goes through the host that its context holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from test_execute_local import Silent

from dbdyno import installed, systems
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control
from dbdyno.execute.engine import job
from dbdyno.execute.local import LocalExecution
from dbdyno.experiment import load
from dbdyno.hosts import LOCAL
from dbdyno.hosts.local import LocalHost
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.store.run import Run
from dbdyno.systems.base import Binaries, TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process import guardian
from dbdyno.systems.process.account import Account
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.managed import Command, Make, ManagedSystem, Started

ENGINE = job.find()
ME = Account("me", os.geteuid(), os.getegid(), switch=False)

EXPERIMENT = """
experiment: through-the-host
workload: {kind: kv, sessions: 1, records: 100}
targets: {db: {kind: null}}
factors:
  kind:
    nothing: {}
    embedded: {db.kind: sqlite}
blocks: 1
warmup: 100ms
duration: 300ms
interval: 100ms
hooks: {before_run: "true"}
"""


class Recording(LocalHost):
    """This machine; keeps the words of each command."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []

    def start(self, command: Command, **options: Any) -> Any:
        self.commands.append([str(word) for word in command])
        return super().start(command, **options)

    def run(self, command: Command, **options: Any) -> Any:
        self.commands.append([str(word) for word in command])
        return super().run(command, **options)

    def programs(self) -> list[str]:
        """Names of the programs, or of the script that Python or the shell was given."""
        words = (command[3] if command[1:3] == ["-I", "-S"] else command[0] for command in self)
        return [Path(word).name for word in words]

    def __iter__(self) -> Any:
        return iter(self.commands)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Recording:
    """A host, while the one that is used by default refuses."""

    def refuse(command: Sequence[object], **_: object) -> NoReturn:
        raise AssertionError(f"started past the host: {command}")

    host = Recording()
    for name in ("start", "run", "hold"):
        monkeypatch.setattr(LOCAL, name, refuse)
    monkeypatch.setattr(installed, "find", lambda: ENGINE)
    return host


def test_a_run_starts_everything_through_its_host(tmp_path: Path, only: Recording) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    plan = make(load(file), Machine.read())
    with Run.create(tmp_path / "run", plan, {}) as run:
        silent = Silent()
        context = ExecutionContext(
            run, ENGINE, Control(silent.say), silent, scratch=tmp_path, host=only
        )
        assert LocalExecution(context).execute() == "complete", silent.said
        assert len(run.records()) == 2
    programs = only.programs()
    # The scratch's guardian, a guardian for each copy of a snapshot; SQLite is asked for, loaded
    # and measured by the engine, as is nothing.
    assert programs.count(Path(guardian.__file__).name) == 3
    assert programs.count(ENGINE.name) >= 4
    assert programs.count("sh") == 1
    assert set(programs) == {Path(guardian.__file__).name, ENGINE.name, "sh"}


class Sleeper(ManagedSystem):
    """Its server sleeps."""

    kind = "sleeper"
    account = "nobody"
    initialised = "data"

    def prepare(self, binaries: Binaries, directory: Path, resolved: Any) -> None:
        raise AssertionError("its directory is there")

    def configured(self, started: Started, resolved: Any) -> tuple[Command, Make]:
        self.started = started
        return ["/bin/sleep", "60"], lambda started: started  # type: ignore[arg-type,return-value]


def test_a_managed_server_starts_on_the_host_of_its_programs(
    tmp_path: Path, only: Recording
) -> None:
    binaries = Binaries("1", {"server": Path("/bin/sleep")}, only)
    resolved = systems.load("null").resolve(TargetPlan("db", "null"))
    started: Any = Sleeper()._launch(binaries, tmp_path, resolved, (), ME, 1)
    try:
        assert started.process.alive()
        assert only.programs() == [Path(guardian.__file__).name]
    finally:
        started.process.stop(5.0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("mariadb", ["/opt/bin/server", "--defaults-file={here}/server.cnf"]),
        ("mysql", ["/opt/bin/server", "--defaults-file={here}/server.cnf"]),
        (
            "postgres",
            ["/opt/bin/server", "-D", "{here}/data", "-c", "config_file={here}/server.conf"],
        ),
        ("redis", ["/opt/bin/server", "{here}/server.conf"]),
    ],
)
def test_a_managed_server_is_given_only_files_of_its_directory(
    tmp_path: Path, kind: str, words: list[str]
) -> None:
    (tmp_path / "data").mkdir()
    system: Any = systems.load(kind)
    resolved = system.resolve(TargetPlan("db", kind))
    binaries = Binaries("1", {"server": Path("/opt/bin/server")})
    process = Guarded()
    try:
        started = Started(
            *(process, binaries, tmp_path, ME, tmp_path, 4321, "secret", Certificate.make()),
            log=LogTail(tmp_path / "server.log"),
        )
        command, _ = system.configured(started, resolved)
    finally:
        process.stop(5.0)
    assert [str(word) for word in command] == [word.format(here=tmp_path) for word in words]
    assert not any("secret" in str(word) for word in command)
    configuration = next(tmp_path.glob("server.c*nf")).read_text()
    assert "4321" in configuration
