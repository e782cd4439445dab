"""Several versions of one system, distinguished by their leading numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import versions
from dbdyno.systems.base import Binaries, System, TargetPlan
from dbdyno.systems.process import paths


class Installed:
    """A system with these versions at these prefixes; `broken` ones cannot be used."""

    def __init__(self, versions: dict[str | None, str]) -> None:
        self.versions = versions

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        version = self.versions.get(basedir)
        if version is None or version == "broken":
            raise DynoError(f"nothing in {basedir}")
        return Binaries(version, {"server": Path(basedir or "/usr")})

    def installations(self) -> Sequence[str]:
        return [place for place in self.versions if place is not None]


def find(there: dict[str | None, str], monkeypatch: pytest.MonkeyPatch, **asked: str) -> str:
    monkeypatch.setattr(systems, "load", lambda _: cast("System", Installed(there)))
    return versions.find(TargetPlan(name="db", kind="mariadb", **asked)).version


TWO: dict[str | None, str] = {
    None: "10.11.14-MariaDB",
    "/a": "broken",
    "/b": "11.8.6-MariaDB",
    "/c": "11.8.2-MariaDB",
}


@pytest.mark.parametrize(
    ("version", "wanted", "is_it"),
    [
        ("10.11.14-MariaDB", "10.11", True),
        ("10.11.14-MariaDB", "10", True),
        ("10.11.14-MariaDB", "10.11.14", True),
        ("10.11.14-MariaDB", "10.1", False),
        ("10.11.14-MariaDB", "10.11.1", False),
        ("MySQL 9.7.0", "9", True),
        ("MySQL 9.7.0", "7", False),
        ("PostgreSQL 15.14", "15", True),
        ("PostgreSQL 18beta1", "18", True),
        ("PostgreSQL 15.14", "15.14.0", False),
        ("as found", "1", False),
    ],
)
def test_a_version_is_named_by_whole_leading_numbers(
    version: str, wanted: str, is_it: bool
) -> None:
    assert versions.matches(version, wanted) is is_it


def test_the_first_that_matches_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(TWO, monkeypatch) == "10.11.14-MariaDB"
    assert find(TWO, monkeypatch, version="10.11") == "10.11.14-MariaDB"
    assert find(TWO, monkeypatch, version="11.8") == "11.8.6-MariaDB"
    assert find(TWO, monkeypatch, version="11.8.2") == "11.8.2-MariaDB"


def test_a_basedir_and_a_version_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(TWO, monkeypatch, version="11", basedir="/c") == "11.8.2-MariaDB"
    with pytest.raises(DynoError, match=r"no mariadb 10\.11 found under /c: there is 11\.8\.2"):
        find(TWO, monkeypatch, version="10.11", basedir="/c")
    with pytest.raises(DynoError, match="nothing in /a"):
        find(TWO, monkeypatch, version="10.11", basedir="/a")


def test_what_is_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = "10.11.14-MariaDB, 11.8.6-MariaDB, 11.8.2-MariaDB"
    with pytest.raises(DynoError) as caught:
        find(TWO, monkeypatch, version="12.1")
    assert caught.value.what == f"no mariadb 12.1 found: there is {there}"
    assert "make servers" in caught.value.fix
    with pytest.raises(DynoError) as caught:
        find({None: "broken"}, monkeypatch, version="12.1")
    assert caught.value.what == "no mariadb 12.1 found"


def test_prefixes_hold_a_folder_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mariadb-11.8", "mariadb", "mysql", "mariadbs"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(paths, "prefixes", lambda: [tmp_path, tmp_path / "none"])
    assert paths.in_prefixes("mariadb") == [tmp_path / "mariadb", tmp_path / "mariadb-11.8"]
    assert systems.load("mariadb").installations() == [
        str(tmp_path / "mariadb/usr"),
        str(tmp_path / "mariadb-11.8/usr"),
    ]
    assert systems.load("sqlite").installations() == ()
