"""`dyno run --against`: two versions in the same blocks, with a real SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from running import Place, has, place, result

pytestmark = pytest.mark.live

NEW = """
experiment: journal
question: Is the new version as fast?
targets:
  db: {kind: sqlite, durability: none, setup: {sql: [rows.sql]}, config: {journal_mode: WAL}}
workload:
  kind: mix
  params: {id: {uniform: [1, 100]}}
  statements: {up: {sql: "UPDATE t SET n = n + 1 WHERE id = :id"}}
factors:
  sessions: [1, 2]
blocks: 3
warmup: 50ms
duration: 60s
interval: 100ms
matters: 5%
claims: ["tps[sessions=2] > 0.01 * tps[sessions=1]"]
"""
OLD = NEW.replace("WAL", "DELETE")
ROWS = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);\n" + "".join(
    f"INSERT INTO t VALUES ({number}, 0);\n" for number in range(1, 101)
)
ENOUGH = has(5)  # transactions of a trial
VERDICTS = {"better", "worse", "no difference that matters", "undecided"}


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        (made.path / "files").mkdir()
        (made.path / "files" / "rows.sql").write_text(ROWS)
        made.experiment(NEW, "files/new.yaml")
        made.experiment(OLD, "files/old.yaml")
        yield made


def test_two_files_run_in_the_same_blocks_and_are_judged(there: Place) -> None:
    words = ("run", "files/new.yaml", "--against", "files/old.yaml", "--dir", "out")
    done = there.dyno_until(ENOUGH, *words)
    assert done.returncode == 0, done.stderr
    assert "differs: db.config.journal_mode: DELETE -> WAL" in done.stderr
    found = result(there.path / "out")
    versions = found["versions"]
    assert versions["verdict"] in VERDICTS
    assert [part["at"] for part in versions["comparisons"]] == [
        {"sessions": "1"},
        {"sessions": "2"},
    ]
    assert all(part["n"] == 3 for part in versions["comparisons"])
    assert [claim["text"] for claim in found["claims"]] == [
        "tps[sessions=2] > 0.01 * tps[sessions=1] at version=new"
    ]
    assert versions["verdict"] in done.stdout.splitlines()[2]
    page = (there.path / "out" / "report.html").read_text()
    assert page.index('id="versions"') < page.index('id="answer"')
    assert "mode: DELETE → WAL" in (there.path / "out" / "report.md").read_text()
    assert there.until_clean() == []


def test_a_run_is_a_base_with_its_settings_and_its_files(there: Place) -> None:
    """From elsewhere, and as a bundle: paths are those of the experiment that was run."""
    arguments = ("--set", "db.config.journal_mode=DELETE", "--quick", "--dir", "before")
    assert there.dyno_until(ENOUGH, "run", "files/new.yaml", *arguments).returncode == 0
    bundled = there.dyno("report", "before", "--bundle", "before.dyno")
    assert bundled.returncode == 0, bundled.stderr
    unasked = there.dyno("run", "files/new.yaml", "--against", "before.dyno", "--dry-run")
    assert unasked.returncode == 2  # a bundle's SQL is somebody else's
    for base, trust in (("before", ()), ("before.dyno", ("--trust",))):
        shown = there.dyno("run", "files/new.yaml", "--against", base, "--dry-run", *trust)
        assert shown.returncode == 0, shown.stderr
        assert "differs: db.config.journal_mode: DELETE -> WAL" in shown.stdout
        assert f"base is the run {base}" in shown.stdout
    (there.path / "files" / "rows.sql").write_text(ROWS + "-- changed\n")
    shown = there.dyno("run", "files/new.yaml", "--against", "before", "--dry-run")
    assert "rows.sql has changed" in shown.stdout


def test_an_interrupted_run_goes_on_with_both_versions(there: Place) -> None:
    words = ("run", "files/new.yaml", "--against", "files/old.yaml", "--quick", "--dir", "out")
    start = there.dyno_until(ENOUGH, *words)
    assert start.returncode == 0, start.stderr
    (there.path / "files" / "old.yaml").unlink()  # the plan is frozen
    trials = sorted((there.path / "out" / "trials").glob("*/trial.json"))
    trials[-1].unlink()
    done = there.dyno_until(ENOUGH, "run", "--resume", "out", "--mix-environments")
    assert done.returncode == 0, done.stderr
    assert result(there.path / "out")["versions"]["factor"] == "version"


def test_a_gate_fails_on_what_is_worse(there: Place) -> None:
    """The new version waits before each statement, and there are blocks enough, so that no noise
    hides what it costs."""
    slow = OLD.replace("  kind: mix\n", "  kind: mix\n  think: {mean: 60ms, per: operation}\n")
    slow = slow.replace("blocks: 3\n", "blocks: 6\n")
    there.experiment(slow, "files/slow.yaml")
    done = there.dyno_until(
        ENOUGH,
        *("run", "files/slow.yaml", "--against", "files/new.yaml", "--dir", "out"),
        *("--fail-on-regression=20%", "--json"),
    )
    assert done.returncode == 1, done.stderr
    assert "regression: The new version is worse by more than 20 %" in done.stderr
    found = json.loads(done.stdout)["versions"]
    assert (found["verdict"], found["matters"]) == ("worse", 0.2)
