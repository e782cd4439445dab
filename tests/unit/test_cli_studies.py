"""Shipped studies: each is listed once, and a name leads to the command that it belongs to."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dbdyno.cli import studies
from dbdyno.cli.running.command import run
from dbdyno.errors import DynoError


def test_the_list_says_how_to_see_each() -> None:
    listed = CliRunner().invoke(run, ["--list", "--json"], standalone_mode=False)
    commands = {entry["name"]: entry["command"] for entry in json.loads(listed.output)}
    imported = {path.stem for path in studies.imported()}
    assert commands.keys() == {*studies.names(), *imported}
    assert not imported & set(studies.names())  # one name, one study
    assert commands["cost"] == "dyno run cost"
    assert commands["cost-published"] == "dyno import --experiment cost-published"
    plain = CliRunner().invoke(run, ["--list"], standalone_mode=False).output
    assert all(any(line.startswith(f"{name} ") for line in plain.splitlines()) for name in commands)


def test_a_name_of_the_other_command_is_told_so() -> None:
    with pytest.raises(DynoError) as error:
        studies.find("cost-published")
    assert "dyno import --experiment cost-published" in error.value.fix
    with pytest.raises(DynoError) as error:
        studies.find_imported("cost")
    assert "dyno run cost" in error.value.fix
