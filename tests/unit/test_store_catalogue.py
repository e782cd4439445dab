"""The catalogue of runs: up to date with their files, never the truth, never somebody else's."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import plans
import pytest

from dbdyno.errors import DynoError
from dbdyno.store import catalogue
from dbdyno.store.catalogue import Catalogue, Wanted
from dbdyno.store.run import Run


def made(directory: Path, name: str, status: str = "complete") -> tuple[str, Path]:
    with Run.create(directory / name, plans.plan(), {"cores": 4}) as run:
        if status != "running":
            run.set_status(status)
    return name, directory / name


@contextlib.contextmanager
def itself(path: Path) -> Iterator[Path]:
    yield path


def names(found: Catalogue, wanted: Wanted | None = None) -> list[str]:
    return sorted(line.name for line in found.search(wanted or Wanted())[0])


def test_runs_are_read_once_and_again_when_they_change(tmp_path: Path) -> None:
    places = [made(tmp_path, "a"), made(tmp_path, "b")]
    found = Catalogue(tmp_path)
    assert found.refresh(places, itself) == 2
    assert found.refresh(places, itself) == 0
    with Run.resume(tmp_path / "b") as run:
        run.set_status("failed")
    assert found.refresh(places, itself) == 1
    assert names(found, Wanted(status="failed")) == ["b"]
    assert found.refresh(places[:1], itself) == 0
    assert names(found) == ["a"]


def test_a_second_catalogue_finds_what_the_first_has_read(tmp_path: Path) -> None:
    places = [made(tmp_path, "a")]
    first = Catalogue(tmp_path)
    first.refresh(places, itself)
    first.close()
    assert (tmp_path / catalogue.FILE).stat().st_mode & 0o777 == 0o600
    second = Catalogue(tmp_path)
    assert names(second) == ["a"]
    assert second.refresh(places, itself) == 0


@pytest.mark.parametrize("spoilt", ["text", "version", "link", "open"])
def test_a_catalogue_that_cannot_be_used_is_made_again(tmp_path: Path, spoilt: str) -> None:
    places = [made(tmp_path, "a")]
    first = Catalogue(tmp_path)
    first.refresh(places, itself)
    first.close()
    file = tmp_path / catalogue.FILE
    if spoilt == "text":
        file.write_text("no database, " * 500)
    elif spoilt == "version":
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA user_version = 999")
    elif spoilt == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.chmod(0o666)
    second = Catalogue(tmp_path)
    assert names(second) == []
    assert second.refresh(places, itself) == 1
    assert file.is_file() and not file.is_symlink()


def test_without_a_place_to_write_it_is_in_memory(tmp_path: Path) -> None:
    found = Catalogue(tmp_path, on_disk=False)
    found.refresh([made(tmp_path, "a")], itself)
    assert names(found) == ["a"]
    assert not (tmp_path / catalogue.FILE).exists()


def test_what_is_looked_for_is_text_and_no_pattern(tmp_path: Path) -> None:
    found = Catalogue(tmp_path)
    found.refresh([made(tmp_path, "plain"), made(tmp_path, "100%_off")], itself)
    assert names(found, Wanted(words="%")) == ["100%_off"]
    assert names(found, Wanted(words="l_in")) == []
    assert names(found, Wanted(words="PLAIN")) == ["plain"]
    assert names(found, Wanted(words="'; DROP TABLE runs; --")) == []
    assert names(found) == ["100%_off", "plain"]


def test_filters_and_pages(tmp_path: Path) -> None:
    found = Catalogue(tmp_path)
    found.refresh([made(tmp_path, f"r{i}") for i in range(5)], itself)
    lines, total = found.search(Wanted(), first=2, most=2)
    assert (len(lines), total) == (2, 5)
    began = lines[0].created_unix_s
    assert found.search(Wanted(from_unix_s=began - 60, until_unix_s=began + 60))[1] == 5
    assert found.search(Wanted(until_unix_s=began - 60))[1] == 0
    system = lines[0].systems.split(", ")[0]
    assert found.search(Wanted(system=system))[1] == 5
    assert found.search(Wanted(system=system[:-1]))[1] == 0
    assert found.search(Wanted(verdict="refuted"))[1] == 0
    name, count, last = found.experiments()[0]
    assert (name, count) == (plans.plan().name, 5) and last >= began - 60


def test_verdicts_and_the_answer_come_from_the_result(tmp_path: Path) -> None:
    name, path = made(tmp_path, "a")
    claims = [{"verdict": one} for one in ("refuted", "supported", "supported", "not tested here")]
    (path / "result.json").write_text(json.dumps({"answer": "WAL is faster.", "claims": claims}))
    found = Catalogue(tmp_path)
    found.refresh([(name, path)], itself)
    line = found.run(catalogue.identity(name))
    assert line is not None and line.answer == "WAL is faster."
    assert line.counted == {"refuted": 1, "supported": 2, "untested": 1}
    assert found.search(Wanted(verdict="refuted"))[1] == 1
    assert "path" not in catalogue.as_json(line)


def test_a_run_that_was_killed_is_interrupted(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "a", plans.plan(), {})
    found = Catalogue(tmp_path)
    found.refresh([("a", tmp_path / "a")], itself)
    assert found.search(Wanted())[0][0].status == "running"
    os.close(run._lock._descriptor)  # type: ignore[union-attr,arg-type] # as the kernel does
    found.refresh([("a", tmp_path / "a")], itself)
    assert found.search(Wanted())[0][0].status == "interrupted"


@pytest.mark.parametrize(
    "text", ["", "{}", '{"schema_version": 1}', "[" * 100_000, '{"schema_version": 99}']
)
def test_a_damaged_run_is_a_line_with_its_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "manifest.json").write_text(text)
    found = Catalogue(tmp_path)
    found.refresh([("a", tmp_path / "a")], itself)
    line = found.search(Wanted())[0][0]
    assert line.status == "unreadable" and line.problem


def test_what_may_not_be_opened_is_a_line_with_the_reason(tmp_path: Path) -> None:
    @contextlib.contextmanager
    def refused(path: Path) -> Iterator[Path]:
        raise DynoError("another account's")
        yield path

    found = Catalogue(tmp_path)
    found.refresh([made(tmp_path, "a")], refused)
    assert found.search(Wanted())[0][0].problem == "another account's"


def test_what_was_computed_is_kept_until_the_run_changes(tmp_path: Path) -> None:
    name, path = made(tmp_path, "a")
    found = Catalogue(tmp_path)
    found.refresh([(name, path)], itself)
    stamp = Catalogue.stamp(path)
    assert found.kept(name, "sum", stamp) is None
    found.keep([(name, "sum", stamp, "42")])
    assert found.kept(name, "sum", stamp) == "42"
    assert found.kept(name, "product", stamp) is None
    trial = path / "trials" / "b01-t001"
    trial.mkdir()
    (trial / "trial.json").write_text("{}")
    assert found.kept(name, "sum", Catalogue.stamp(path)) is None
    found.refresh([], itself)
    assert found.kept(name, "sum", stamp) is None


def test_the_latest_run_is_the_one_whose_state_changed_last(tmp_path: Path) -> None:
    places = [made(tmp_path, name) for name in ("a", "b", "c")]
    for (_, path), when in zip(places, (300, 500, 400), strict=True):
        os.utime(path / "manifest.json", (when, when))
    (tmp_path / "z.zip").write_bytes(b"a bundle has no state")
    found = Catalogue(tmp_path)
    assert found.latest() is None
    found.refresh([*places, ("z.zip", tmp_path / "z.zip")], itself)
    latest = found.latest()
    assert latest is not None and latest.name == "b"


def test_a_catalogue_of_a_run_itself_is_in_memory(tmp_path: Path) -> None:
    _, path = made(tmp_path, "a")
    found = Catalogue(path)
    found.refresh([("a", path)], itself)
    assert names(found) == ["a"]
    assert not (path / catalogue.FILE).exists()
