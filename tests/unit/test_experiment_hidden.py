"""Commands that print passwords are in no run directory, and a run that goes on has them again."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dbdyno.cli.running.before.password_commands import revealed
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.file.hidden import HIDDEN, without_commands
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.store.manifest import EXPERIMENT_FILE
from dbdyno.store.run import Run
from dbdyno.store.text.scrub import scrub
from dbdyno.systems.external import credentials

MACHINE = Machine(8, 16 << 30, "6.1", "CPU", tuple(range(8)))
SECRET = "hunter2"
TEXT = f"""experiment: x
targets:
  db:
    url: mysql://app@db1/shop
    password_command: "echo {SECRET}"  # mine
    data: {{existing: shop}}
workload: {{kind: oltp, preset: point_select}}
factors: {{sessions: [1, 2]}}
"""


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"t: {{password_command: pass {SECRET}, b: 1}}\n",
        f"t:\n  password_command: |\n    echo {SECRET}\n    true\n  url: x\n",
        f"password_command: >-\n  echo\n  {SECRET}\nb: 2\n",
        f't: {{password_command: "echo \\" {SECRET}}}", url: y}}\n',
        f"f: {{on: {{db.password_command: &q 'echo {SECRET}'}}, y: *q}}\nz: 1\n",
        f"t: {{password_command: &p echo {SECRET}, q: 2}}\nu: {{password_command: *p}}\n",
        f"factors: {{db.password_command: [echo {SECRET}, echo {SECRET}2]}}\n",
    ],
)
def test_the_text_is_hidden_and_the_rest_stays(text: str) -> None:
    hidden = without_commands(text)
    assert SECRET not in hidden and HIDDEN in hidden

    def without(value: object) -> object:
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if "password_command" not in k and k != "y"}
            return {key: without(child) for key, child in kept.items()}
        return value

    read = YAML(typ="safe", pure=True).load
    assert without(read(hidden)) == without(read(text))
    assert without_commands("a: 1\n# nothing of the kind\n") == "a: 1\n# nothing of the kind\n"


def test_a_run_directory_holds_none_and_a_resumed_run_has_it_again(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(TEXT)
    plan = make(load(file), MACHINE)
    run = Run.create(tmp_path / "run", plan, {})
    command = ["dyno", "run", "x", "--set", f"db.password_command=echo {SECRET}"]
    run.set_status("running", command=command, **{EXPERIMENT_FILE: str(file)})
    run.amend("a note")
    assert run.plan.cells[0].targets[0].credentials.command == f"echo {SECRET}"
    run.close()
    for stored in (tmp_path / "run").rglob("*"):
        assert not stored.is_file() or SECRET not in stored.read_text()
    opened = Run.open(tmp_path / "run")
    hidden = opened.plan.cells[0].targets[0].credentials
    assert hidden.command == HIDDEN and "mine" in opened.plan.spec_text
    assert revealed(opened).cells[1].targets[0].credentials.command == f"echo {SECRET}"
    file.unlink()
    assert revealed(opened) == opened.plan
    with pytest.raises(DynoError, match="not kept in run directories"):
        credentials._from_command(HIDDEN)


def test_overrides_are_hidden_where_they_are_kept() -> None:
    said = ["--set=db.password_command=echo a; echo b", "readers.sessions=8"]
    assert scrub(said) == [f"--set=db.password_command={HIDDEN}", "readers.sessions=8"]
