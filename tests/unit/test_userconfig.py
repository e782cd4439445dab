"""The user's own settings: what they say, what comes before them, what is wrong in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno import userconfig
from dbdyno.cli.config import config
from dbdyno.cli.serve import serve
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.store.naming import unnamed
from dbdyno.systems.external import credentials
from dbdyno.systems.process.scratch import scratch_root
from dbdyno.web import listening

WHOLE = """\
scratch = "{here}"
runs = "~/measurements"

[passwords."app@db1:3306"]
command = "printf of-all"
[passwords."db1"]
env = "OF_HOST"
[passwords."app@db1"]
file = "~/of-user"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("DYNO_SCRATCH", raising=False)
    return tmp_path


def write(home: Path, text: str) -> Path:
    path = home / ".config" / "dbdyno" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)
    return path


def login(url: str, given: Credentials = Credentials()) -> credentials.Login:  # noqa: B008
    return credentials.find(server_url.parse(url), "mariadb", given, 3306)


def test_without_a_file_all_is_as_ever(home: Path) -> None:
    assert not userconfig.read().is_there
    assert unnamed("x").parent == Path("runs")
    assert login("mysql://app@db1").password == ""


def test_directories_are_used_unless_another_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, WHOLE.format(here=home))
    assert unnamed("x").parent == home / "measurements"
    assert scratch_root() == home
    other = home / "other"
    other.mkdir()
    monkeypatch.setenv("DYNO_SCRATCH", str(other))
    assert scratch_root() == other
    assert scratch_root(home) == home


def test_pages_are_of_the_runs_that_the_file_names(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, WHOLE.format(here=home))
    monkeypatch.chdir(home)
    served = []
    monkeypatch.setattr(listening, "serve", lambda directory, *_, **__: served.append(directory))
    done = CliRunner().invoke(serve, ["--port", "0"])
    assert "measurements is no directory" in str(done.exception)
    for place in ("measurements", "runs"):
        (home / place).mkdir()
    for arguments in ([], ["runs"]):
        done = CliRunner().invoke(serve, [*arguments, "--port", "0"], standalone_mode=False)
        assert done.exception is None, done.output
    assert served == [home / "measurements", home / "runs"]


def test_a_scratch_directory_that_is_not_there_names_the_file(home: Path) -> None:
    path = write(home, 'scratch = "/nowhere/at/all"\n')
    with pytest.raises(DynoError, match="/nowhere/at/all is not a directory") as refused:
        scratch_root()
    assert str(path) in refused.value.what


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("mysql://app@db1", "of-all"),
        ("mysql://app@db1:3306", "of-all"),
        ("mysql://app@db1:3307", "of-user"),
        ("mysql://root@db1", "of-host"),
        ("mysql://app@db2", ""),
    ],
)
def test_the_closest_entry_gives_the_password(
    home: Path, url: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, WHOLE.format(here=home))
    (home / "of-user").write_text("of-user\n")
    (home / "of-user").chmod(0o600)
    monkeypatch.setenv("OF_HOST", "of-host")
    assert login(url).password == password


def test_what_the_experiment_names_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, WHOLE.format(here=home))
    monkeypatch.setenv("OWN", "own")
    assert login("mysql://app@db1", Credentials(env="OWN")).password == "own"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("\nscrach = '/x'\n", 2, "no key `scrach`"),
        ("runs = 'relative'\n", 1, "absolute path"),
        ("runs = 5\n", 1, "absolute path"),
        ("scratch = '/x'\nruns = = 5\n", 2, "not TOML"),
        ("[passwords.db1]\npassword = 'x'\n", 1, "holds a password"),
        ("[passwords.'a b']\nenv = 'x'\n", 1, "is no server"),
        ("runs = '/x'\n[passwords.db1]\n", 2, "one source"),
        ("[passwords.db1]\nenv = 'x'\nfile = 'y'\n", 1, "one source"),
        ("[passwords.db1]\nenv = 3\n", 1, "cannot have `env`"),
        ("passwords = 'x'\n", 1, "must hold servers"),
    ],
)
def test_what_is_wrong_is_named_by_line(home: Path, text: str, line: int, what: str) -> None:
    path = write(home, text)
    with pytest.raises(DynoError, match=what) as refused:
        userconfig.read()
    where = refused.value.where
    assert where is not None and (where.file, where.line) == (path, line)


def test_all_mistakes_are_named(home: Path) -> None:
    write(home, "scrach = '/x'\nruns = 5\n[passwords.db1]\nsecret = 'x'\n")
    with pytest.raises(DynoError) as refused:
        userconfig.read()
    assert [one.where and one.where.line for one in refused.value.each] == [1, 2, 3]


def test_a_file_that_others_may_write_is_refused(home: Path) -> None:
    write(home, "").chmod(0o666)
    with pytest.raises(DynoError, match="others may write"):
        userconfig.read()


def test_the_settings_are_shown_without_passwords(home: Path) -> None:
    path = write(home, WHOLE.format(here=home))
    shown = json.loads(CliRunner().invoke(config, ["--json"]).output)
    assert (shown["file"], shown["exists"]) == (str(path), True)
    assert (shown["scratch"], shown["runs"]) == (str(home), str(home / "measurements"))
    assert shown["passwords"]["app@db1:3306"] == {"command": "printf of-all"}
    text = CliRunner().invoke(config, []).output
    assert f"scratch:  {home}" in text and "password: db1: env OF_HOST" in text


def test_the_place_follows_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "other"))
    assert userconfig.place() == home / "other" / "dbdyno" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert userconfig.place() == Path(os.environ["HOME"]) / ".config" / "dbdyno" / "config.toml"
