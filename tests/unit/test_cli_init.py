"""`dyno init`: every file that it writes loads, and it overwrites none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.cli import starter
from dbdyno.cli.init import init
from dbdyno.cli.running.before.validate import check
from dbdyno.cli.schema import path as schema_path
from dbdyno.cli.schema import schema
from dbdyno.errors import DynoError
from dbdyno.experiment import json_schema, load


@pytest.mark.parametrize(
    ("kind", "workload"),
    [(kind, each) for kind in starter.KINDS for each in starter.workloads_of(kind)],
)
def test_every_combination_passes_the_check(
    kind: str, workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("My first one.yaml")
    done = CliRunner().invoke(init, [str(file), "--kind", kind, "--workload", workload])
    assert done.exit_code == 0, done.output
    assert check(str(file), (), as_json=False) == 0
    loaded = load(file)
    assert loaded.name == "my-first-one"
    assert loaded.question and loaded.claims and len(loaded.cells) > 1
    group = loaded.cells[0].groups[0]
    assert group.kind == workload
    target = loaded.cells[0].targets[0]
    assert (target.url is not None) is (kind == "url")
    assert kind in (target.kind, "url")
    first, *lines = file.read_text().splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert first == f"# yaml-language-server: $schema={schema_path()}"


def test_the_schema_is_printed_whole_or_by_its_place() -> None:
    printed = CliRunner().invoke(schema, [])
    assert json.loads(printed.output) == json_schema()
    place = CliRunner().invoke(schema, ["--path"]).output
    assert Path(place.removesuffix("\n")).read_text() == printed.output


def test_what_is_commented_out_loads_too(tmp_path: Path) -> None:
    """Following a comment's advice gives a valid file."""
    for kind in ("mariadb", "postgres", "mysql"):
        text = starter.text("x", "x.yaml", kind, "oltp")
        for advice in ("# config:", "# distribution:", "# author: Ann", "# memory:", "#   small:"):
            assert advice in text, advice
            text = text.replace(advice, advice.removeprefix("# ").replace("#   small", "  small"))
        text = text.replace("#   large:", "  large:")
        text = text.replace("tps[sessions=1]\n", "tps[sessions=1] at each memory\n")
        loaded = load(text)
        assert loaded.about.author == "Ann Example"
        assert len(loaded.factors) == 2
        assert loaded.cells[0].targets[0].config


def test_a_kind_without_sql_gets_a_workload_that_it_can_do(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    done = CliRunner().invoke(init, [str(file), "--kind", "redis"])
    assert done.exit_code == 0, done.output
    assert load(file).cells[0].groups[0].kind == "kv"
    assert "isolation" not in file.read_text()
    refused = CliRunner().invoke(init, ["b", "--kind", "redis", "--workload", "oltp"])
    assert refused.exit_code == 2 and "no workload oltp" in refused.output


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    done = CliRunner().invoke(init, [str(tmp_path / "mine")])
    assert isinstance(done.exception, DynoError)
    assert "already exists" in str(done.exception)
    assert file.read_text() == "mine"


def test_a_name_gets_its_ending(tmp_path: Path) -> None:
    done = CliRunner().invoke(init, [str(tmp_path / "a"), "--json"])
    assert json.loads(done.stdout)["file"] == str(tmp_path / "a.yaml")
    assert (tmp_path / "a.yaml").is_file()


@pytest.mark.parametrize("name", ["---", "no/such/place"])
def test_a_bad_name_is_said(name: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(init, [str(tmp_path / name)])
    assert done.exit_code != 0
    assert not list(tmp_path.iterdir())
