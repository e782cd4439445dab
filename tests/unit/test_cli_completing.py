"""What a Tab offers: studies and files, runs, models, keys."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from dbdyno import models
from dbdyno.cli import studies
from dbdyno.cli.main import dyno
from dbdyno.experiment import load


def offered(*words: str) -> list[str]:
    """What is offered for the last of the words."""
    complete = ShellComplete(dyno, {}, "dyno", "_DYNO_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_experiments_are_studies_files_and_directories(there: Path) -> None:
    (there / "quick.yaml").write_text("")
    (there / "quick.txt").write_text("")
    (there / "quests").mkdir()
    (there / "quests" / "one.yml").write_text("")
    for command in ("run", "plan"):
        found = offered(command, "qu")
        assert {"quickstart", "quick.yaml", "quests/"} <= set(found)
        assert "quick.txt" not in found
        assert offered(command, "quests/") == ["quests/one.yml"]
    assert set(studies.names()) <= set(offered("run", ""))


def test_runs_are_offered_newest_first(there: Path) -> None:
    for age, name in enumerate(("new", "old", "deep/er")):
        directory = there / "runs" / name
        directory.mkdir(parents=True)
        (directory / "manifest.json").write_text("{}")
        os.utime(directory, (1e9 - age, 1e9 - age))
    (there / "runs" / "none").mkdir()
    (there / "one.dyno").write_text("")
    expected = ["runs/new", "runs/old", "runs/deep/er"]
    for words in (("status",), ("report",), ("export",), ("compare", "x"), ("run", "--resume")):
        assert offered(*words, "ru") == expected, words
    assert offered("pool", "runs/o") == ["runs/old"]
    assert offered("report", "one") == ["one.dyno"]


def test_runs_are_looked_for_where_the_user_keeps_them(there: Path) -> None:
    own = there / "own"
    (own / "mine").mkdir(parents=True)
    (own / "mine" / "manifest.json").write_text("{}")
    settings = there / "config" / "dbdyno" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'runs = "{own}"\n')
    settings.chmod(0o600)
    assert offered("status", "") == [str(own / "mine")]
    settings.write_text("runs = 5\n")  # a Tab is no place for errors
    assert str(own / "mine") not in offered("status", "")


def test_models_are_all_models() -> None:
    assert offered("model", "") == models.names()
    assert offered("model", "galera-") == [
        name for name in models.names() if name.startswith("galera-")
    ]


def test_keys_are_taken_by_set() -> None:
    found = offered("run", "quickstart", "--set", "")
    assert {"duration=", "workload.rows=", "needs.cores=", "blocks="} <= set(found)
    assert offered("run", "quickstart", "--set", "dur") == ["duration="]
    assert offered("run", "quickstart", "--set", "duration=") == []
    for key in ("duration=2s", "workload.rows=500", "needs.cores=1", "blocks=4"):
        assert key.partition("=")[0] + "=" in found
        load(studies.find("quickstart"), [key])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dyno run quicks", "quickstart"),
        ("dyno model c", "cost"),
        ("dyno run x --set du", "duration="),
    ],
)
def test_no_offer_imports_anything_heavy(words: str, expected: str) -> None:
    script = """
import sys
from dbdyno.cli import entry
sys.argv = ["dyno"]
try:
    entry.main()
except SystemExit:
    heavy = {"numpy", "scipy", "pydantic", "rich", "ruamel.yaml"} & set(sys.modules)
    print(f"heavy: {sorted(heavy)}")
"""
    completion = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **completion, "_DYNO_COMPLETE": "bash_complete"},
    )
    assert f"plain,{expected}" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_the_shells_get_a_script() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; sys.argv = ['dyno']; from dbdyno.cli import entry; entry.main()",
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "_DYNO_COMPLETE": f"{shell}_source"},
        )
        assert done.stdout.strip(), shell
