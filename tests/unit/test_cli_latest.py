"""`status` and `report` without a run mean the latest one; `status --watch` ends with its run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judging import CACHE, QUERY_CACHE, records
from plans import plan as make_plan

from dbdyno.cli.runs import latest, watch
from dbdyno.cli.runs.report import report
from dbdyno.cli.runs.status import status
from dbdyno.errors import DynoError
from dbdyno.store.manifest import COMPLETE, RUNNING
from dbdyno.store.run import Run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def made(path: Path, changed_s: int) -> Path:
    """A complete run whose state changed then."""
    with Run.create(path, make_plan(blocks=3), {}) as run:
        run.set_status(COMPLETE)
    os.utime(path / "manifest.json", (changed_s, changed_s))
    return path


def test_the_latest_run_is_the_one_whose_state_changed_last() -> None:
    made(Path("runs/a"), 300)
    newest = made(Path("runs/deep/b"), 500)
    made(Path("runs/c"), 400)
    assert latest.chosen(None, Path("runs")).path == newest
    assert latest.chosen(Path("named"), Path("runs")).path == Path("named")
    assert latest.chosen(None, Path("runs/c")).path == Path("runs/c")
    assert not Path("runs/c/.dbdyno-catalogue.sqlite").exists()


@pytest.mark.parametrize("command", [status, report])
def test_where_there_is_no_run_the_next_step_is_said(command: Any) -> None:
    for there in ("runs", "."):
        done = CliRunner().invoke(command, ["--dir", there])
        assert isinstance(done.exception, DynoError)
        assert f"there is no run below {there}" in str(done.exception)


def test_the_run_that_was_taken_is_named() -> None:
    made(Path("runs/a"), 300)
    done = CliRunner().invoke(status, [])
    assert done.stderr == "run directory: runs/a\n"
    assert done.stdout.startswith("test: complete\n0 of 6 trials done")
    facts = CliRunner().invoke(status, ["--json", "--dir", "runs"])
    assert json.loads(facts.stdout)["experiment"] == "test"
    drawn = CliRunner().invoke(report, ["--json"], standalone_mode=False)
    assert Path("runs/a/report.html").is_file()
    assert "run directory: runs/a\n" in drawn.stderr


def test_what_else_is_under_way_is_named() -> None:
    with Run.create(Path("runs/under-way"), make_plan(), {}):
        os.utime("runs/under-way/manifest.json", (100, 100))
        made(Path("runs/a"), 300)
        done = CliRunner().invoke(status, [])
    assert done.stderr == "run directory: runs/a\nalso under way: runs/under-way\n"


def test_a_directory_of_runs_is_listed_the_newest_first() -> None:
    made(Path("runs/deep/a"), 300)
    with Run.create(Path("runs/under-way"), make_plan(), {}):
        broken = Path("runs/broken")
        broken.mkdir()
        (broken / "manifest.json").write_text("{}")
        done = CliRunner().invoke(status, ["runs"], standalone_mode=False)
        facts = json.loads(CliRunner().invoke(status, ["runs", "--json"]).stdout)
    assert done.exception is None, done.output
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "under-way  running      0 of 6 trials",
        "deep/a     complete     0 of 6 trials",
    ]
    assert lines[2].startswith("broken     unreadable   ")
    assert [one["name"] for one in facts] == ["under-way", "deep/a", "broken"]
    assert Path("runs/.dbdyno-catalogue.sqlite").is_file()


def test_a_directory_without_runs_is_said_to_be_one_and_only_one_run_is_watched() -> None:
    Path("empty").mkdir()
    refused = CliRunner().invoke(status, ["empty"], standalone_mode=False)
    assert "there is no run below empty" in str(refused.exception)
    done = CliRunner().invoke(status, ["empty", "--watch"])
    assert "one run" in done.output


def test_watching_shows_each_trial_that_is_over_and_ends_with_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = make_plan(CACHE, blocks=1)
    trials = records(plan, QUERY_CACHE, noise=0.0)
    with Run.create(Path("run"), plan, {}) as run:
        run.set_status(RUNNING)
        steps = iter(range(len(trials) + 1))

        def next_look(_: float) -> None:
            if (step := next(steps)) < len(trials):
                run.begin(trials[step].id)
                run.complete(trials[step])
            else:
                run.set_status(COMPLETE)

        monkeypatch.setattr(watch.time, "sleep", next_look)
        done = CliRunner().invoke(status, ["run", "--watch"], standalone_mode=False)
    assert done.exception is None, done.output
    assert done.return_value == 0
    shown = done.stdout
    assert [f"{n} of 6 trials done" in shown for n in range(7)] == [True] * 7
    assert "cache on, 1 session" in shown
    assert "so far, not judged" in shown
    assert "tps[off] / tps[on] at 16 sessions  2.90x" in shown


def test_people_watch_and_programs_read_json() -> None:
    done = CliRunner().invoke(status, ["--watch", "--json"])
    assert done.exit_code == 2
    assert "give one" in done.output
