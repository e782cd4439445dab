"""Experiments that are wrong, given to the real `dyno`: each is refused with its place and a way
out, before anything is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from refusals import refused
from running import Place, place

pytestmark = pytest.mark.live

GOOD = """\
experiment: small
question: Does journal_mode matter?
targets:
  db: {kind: sqlite, durability: os_crash_unsafe}
workload: {kind: oltp, preset: write_only, tables: 1, rows: 1000}
factors:
  journal:
    rollback: {db.config: {journal_mode: DELETE}}
    wal: {db.config: {journal_mode: WAL}}
  sessions: [1, 2]
blocks: 3
warmup: 100ms
duration: 300ms
interval: 100ms
claims: ["tps[wal] > tps[rollback] at each sessions"]
"""

# name: (text to replace, by what, the place, words of the message)
WRONG = {
    "unknown key": ("blocks:", "blokcs:", "11:1", "no key `blokcs`", "did you mean `blocks`?"),
    "unknown option": ("rows:", "rwos:", "5:55", "no key `rwos`", "did you mean `rows`?"),
    "wrong type": ("blocks: 3", "blocks: many", "11:9", "whole number, not `many`"),
    "no unit": ("300ms", "5", "13:11", "such as 5s"),
    "endless": ("300ms", "999d", "13:11", "at most 30 days"),
    "unknown kind": ("kind: sqlite", "kind: oracle", "4:14", "cannot be `oracle`", "mariadb"),
    "empty target": ("{kind: sqlite, durability: os_crash_unsafe}", "", "4:3", "must be a mapping"),
    "one level": ("[1, 2]", "[2]", "10:3", "nothing varies", "at least two levels"),
    "level of no sense": ("[1, 2]", "[0, 2]", "10:14", "at least 1, not `0`", "sessions=0"),
    "factor to nowhere": ("  sessions:", "  db.confg:", "10:3", "does not exist", "`config`?"),
    "level without effect": (": WAL}", ": DELETE}", "9:5", "`wal` of factor `journal` changes"),
    "claim on no cell": (
        "tps[wal]",
        "tps[wall]",
        "15:15",
        "no factor has a level `wall`",
        "`wal`?",
    ),
    "claim on no metric": ("tps[wal]", "tsp[wal]", "15:11", "no metric is called `tsp`", "`tps`?"),
    "claim that is none": ("] > tps", "] tps", "15:20", "a comparison is expected", ">="),
    "misspelt pragma": (
        ": WAL}",
        ": WAL, sinchronous: 1}",
        "9:42",
        "`sinchronous`",
        "`synchronous`?",
    ),
    "contradiction": (": WAL}", ": MEMORY}", "9:23", "contradicts", "in cell journal=wal"),
    "tab": ("  db:", "\tdb:", "4:1", "not YAML", "a tab", "replace the tab by spaces"),
    "twice": ("blocks: 3", "blocks: 3\nblocks: 4", "12:1", "occurs twice", "line 11"),
    "open bracket": ('at each sessions"]', 'at each sessions"', "16:1", "not YAML", "bracket"),
    "second document": ("claims:", "---\nclaims:", "15:1", "second document"),
    "too deep": ("seed: 7", "", "1:1", "nests deeper", ""),
}


@pytest.fixture(scope="module")
def there() -> Iterator[Place]:
    with place() as made:
        yield made


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_place(there: Place, name: str) -> None:
    old, new, where, *words = WRONG[name]
    text = "a: " + "[" * 1500 if name == "too deep" else GOOD.replace(old, new, 1)
    assert text != GOOD
    file = there.experiment(text)
    before = sorted(there.path.rglob("*"))
    said = refused(there.dyno("run", file, "--check"), f"{file}:{where}: ", *words)
    assert said.count("\n") <= 3, said  # what, likely cause, next step
    assert sorted(there.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["1:1", "the file is empty", "experiment: NAME"]),
        (b"# nothing yet\n", ["1:1", "the file is empty"]),
        (bytes(range(128)) * 4, ["1:1", "control character", "UTF-8"]),
        (b"experiment: x\nquestion: caf\xe9\n", ["2:1", "not UTF-8"]),
        (GOOD.encode("utf-16"), ["1:1", "not UTF-8"]),
        (b"- a\n- b\n", ["1:1", "mapping of keys", "experiment: NAME"]),
    ],
    ids=["empty", "comment", "binary", "latin", "utf16", "list"],
)
def test_a_file_that_is_no_experiment_is_refused(
    there: Place, content: bytes, words: list[str]
) -> None:
    file = there.path / "strange.yaml"
    file.write_bytes(content)
    refused(there.dyno("run", file, "--check"), str(file), "next step", *words)


def test_what_is_no_file_is_refused(there: Place) -> None:
    (there.path / "folder").mkdir()
    refused(there.dyno("run", "folder"), "folder is a directory", "--resume")
    refused(there.dyno("run", "no-such.yaml"), "no such file", "quickstart")
    refused(there.dyno("run", "quikstart"), "did you mean quickstart?")
    if os.geteuid() != 0:  # root may read everything
        hidden = there.experiment(GOOD, "hidden.yaml")
        hidden.chmod(0)
        refused(there.dyno("run", hidden), "Permission denied")


def test_set_names_what_it_cannot_set(there: Place) -> None:
    file = there.experiment(GOOD)
    for change, *words in (
        ("workload.rwos=5", "`workload.rwos` does not exist", "`rows`?"),
        ("blocks", "is not `path=value`", "blocks=2"),
        ("blocks=many", "must be a whole number"),
        ("blocks=[", "not YAML"),
    ):
        refused(there.dyno("run", file, "--check", "--set", change), f"--set {change}", *words)


def test_words_of_the_command_line_are_checked(there: Place) -> None:
    done = there.dyno("run", "--chek")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--check" in done.stderr
    done = there.dyno("run")
    assert done.returncode == 2
    assert "name an experiment" in done.stderr


RESUMES = {
    "nothing": (None, "does not exist", "the directory that `dyno run` printed"),
    "other": ("{}", "no schema_version", "another program"),
    "broken": ("{", "is not JSON", "edited or damaged"),
    "newer": ('{"schema_version": 99, "versions": {"dbdyno": "7.1"}}', "schema_version 99", "7.1"),
    "part": ('{"schema_version": 1, "status": "running"}', "is without plan, environment"),
    "bytes": (b"\xff\xfe", "is not JSON"),
}


@pytest.mark.parametrize("name", RESUMES)
def test_only_runs_can_be_gone_on_with(there: Place, name: str) -> None:
    content, *words = RESUMES[name]
    run = there.path / f"run-{name}"
    run.mkdir()
    if content is not None:
        raw = content if isinstance(content, bytes) else content.encode()
        (run / "manifest.json").write_bytes(raw)
    before = sorted(run.iterdir())
    refused(there.dyno("run", "--resume", run), str(run), *words)
    assert sorted(run.iterdir()) == before


def test_a_file_is_no_run_directory(there: Place) -> None:
    file = there.experiment(GOOD)
    before = file.read_text()
    refused(there.dyno("run", "--resume", file), "does not exist", "next step")
    refused(there.dyno("report", file), "is not a bundle", "next step")
    said = refused(there.dyno("run", file, "--dir", file), "cannot make the run directory", "--dir")
    assert "--resume" not in said
    assert file.read_text() == before


def test_a_used_directory_is_left_alone(there: Place) -> None:
    used = there.path / "used"
    used.mkdir()
    (used / "letter.txt").write_text("mine")
    refused(there.dyno("run", there.experiment(GOOD), "--dir", used), "is not empty", "letter.txt")
    assert [path.name for path in used.iterdir()] == ["letter.txt"]


def test_places_are_checked_before_anything_is_made(there: Place, tmp_path: Path) -> None:
    file = there.experiment(GOOD)
    missing = tmp_path / "missing"
    refused(there.dyno("run", file, "--scratch", missing, "--dir", "never"), f"--scratch {missing}")
    there.environment["DYNO_SCRATCH"] = str(missing)
    try:
        refused(there.dyno("run", file, "--dir", "never"), f"DYNO_SCRATCH={missing}", "mkdir -p")
    finally:
        there.environment["DYNO_SCRATCH"] = str(there.scratch)
    assert not (there.path / "never").exists()
