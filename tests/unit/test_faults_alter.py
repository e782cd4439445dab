"""Tables that are changed by a program: how it is called, and what happens where it is missing."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest
from test_experiment_load import ONE, load

from dbdyno.cli.running.before import validate
from dbdyno.errors import DynoError
from dbdyno.execute.faulting.trial_faults import impossible
from dbdyno.experiment import faults as written
from dbdyno.experiment.types import Target
from dbdyno.experiment.values.faults import Fault
from dbdyno.kinds import KINDS
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.systems.mysql import online_change

MACHINE = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
PT_OSC = "pt-online-schema-change"
TARGET = Target("db", "mariadb")
LEVELS = """\
factors:
  how:
    copy: {faults: [{at: 1s, do: sql, sql: ALTER TABLE a ADD b INT}]}
    program: {faults: [{at: 1s, do: alter, table: a, change: ADD b INT}]}
claims: ["sql_s[program] > sql_s[copy]"]
"""
OPTIONAL = ONE.replace("{kind: mariadb}", "{kind: mariadb, optional: true}")


def test_every_tool_of_a_kind_is_known_and_may_be_written() -> None:
    of_kinds = {tool for kind in KINDS.values() for tool in kind.schema_changes}
    may_be_written = written.Alter.model_fields["tool"].annotation
    assert of_kinds == set(online_change.TOOLS) == set(typing.get_args(may_be_written))


def test_a_program_gets_its_login_by_a_file_and_no_settings_of_the_machine() -> None:
    words = online_change.TOOLS[PT_OSC].words(Path("/s/alter.cnf"), "db", "a", "ADD b INT")
    assert list(words[:2]) == ["--config", "/dev/null"]  # must come first
    assert "--defaults-file=/s/alter.cnf" in words
    assert "--alter=ADD b INT" in words
    assert words[-1] == "D=db,t=a"
    assert not [word for word in words if "password" in word or "user" in word]


@pytest.fixture
def without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_change, "program", lambda name, places: None)


@pytest.mark.usefixtures("without_it")
def test_a_machine_without_the_program_says_what_installs_it() -> None:
    error = impossible(Fault(1.0, "alter", ("db",), "db", tool=PT_OSC), TARGET)
    assert error is not None
    assert PT_OSC in error.what
    assert error.fix.endswith("percona-toolkit")
    assert impossible(Fault(1.0, "kill", ("db",), "db"), TARGET) is None


@pytest.mark.usefixtures("without_it")
def test_cells_of_an_optional_target_are_skipped_where_the_program_is_missing() -> None:
    plan = make(load(OPTIONAL + LEVELS), MACHINE, impossible=impossible)
    assert [cell.levels["how"] for cell in plan.cells] == ["copy"]
    [skipped] = plan.skipped
    assert (skipped.what, skipped.why) == ("how=program", f"there is no `{PT_OSC}`")
    assert "percona-toolkit" in skipped.fix
    assert list(plan.untested.values()) == [f"how=program was skipped: there is no `{PT_OSC}`"]


@pytest.mark.usefixtures("without_it")
def test_a_target_that_is_not_optional_keeps_its_cells_and_is_refused_by_the_run() -> None:
    plan = make(load(ONE + LEVELS), MACHINE, impossible=impossible)
    assert [cell.levels["how"] for cell in plan.cells] == ["copy", "program"]
    assert plan.skipped == ()


@pytest.mark.usefixtures("without_it")
def test_a_check_says_that_it_is_not_tested_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "altered.yaml"
    file.write_text(OPTIONAL + LEVELS)
    assert validate.check(str(file), [], as_json=False) == 0
    said = capsys.readouterr().err
    assert f"warning: not tested here: fault `alter`: there is no `{PT_OSC}`" in said


def test_a_program_that_says_nothing_of_success_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Site:
        database = "db"

        def program(self, *names: str, package: str) -> Path:
            return Path("/usr/bin") / names[0]

        def run(self, command: object) -> str:
            return "`db`.`a` was not altered."

    site: typing.Any = Site()
    monkeypatch.setattr(online_change.sessions, "options", lambda site, name: Path("/s/a.cnf"))
    with pytest.raises(DynoError, match="ended without a change of `a`") as caught:
        online_change.alter(site, PT_OSC, "a", "ADD b INT")
    assert "was not altered" in caught.value.cause
