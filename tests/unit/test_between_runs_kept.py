"""Runs reduced through the catalogue: the same as without it, and read again once they change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from webbed import make_run, measured

from dbdyno.analysis.between_runs import kept
from dbdyno.analysis.between_runs.kept import Reducer
from dbdyno.cli.runs import past
from dbdyno.errors import DynoError
from dbdyno.share.opened import opened
from dbdyno.store.catalogue import Catalogue
from dbdyno.wording import runs as worded


def alter(run: Path, factor: float) -> None:
    """Makes a run another time as fast."""
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text())
        record["metrics"]["transactions_per_s"] *= factor
        file.write_text(json.dumps(record))


def test_what_is_kept_is_what_was_computed(tmp_path: Path) -> None:
    measured(tmp_path, "a", 100)
    measured(tmp_path, "b", 120)
    make_run(tmp_path, "empty")
    first, left_out = past.read_all(tmp_path)
    second, again = past.read_all(tmp_path)
    assert first == second
    assert left_out == again == []
    assert worded.history(first) == worded.history(second)
    problems = [value.problem for of in first[2].values.values() for value in of.values()]
    assert any(problems), "a message must survive, too"


def test_a_second_time_no_run_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(tmp_path, "a", 100)
    before = past.read_all(tmp_path)

    def refused(path: Path) -> None:
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr(past, "opened", refused)
    assert past.read_all(tmp_path) == before


def test_a_run_that_changed_is_read_again(tmp_path: Path) -> None:
    run = measured(tmp_path, "a", 100)
    ((before,), _) = past.read_all(tmp_path)
    alter(run, 2.0)
    ((after,), _) = past.read_all(tmp_path)
    cell = next(iter(before.values))
    metric = "transactions_per_s"
    ratio = after.values[cell][metric].mean / before.values[cell][metric].mean  # type: ignore[operator]
    assert ratio == pytest.approx(2.0)


def test_each_choice_of_metrics_and_each_version_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(tmp_path, "a", 100)
    ((usual,), _) = past.read_all(tmp_path)
    ((asked,), _) = past.read_all(tmp_path, ["tps"])
    assert asked.metrics == ("transactions_per_s",) != usual.metrics
    monkeypatch.setattr(kept, "__version__", "0.0.0")
    monkeypatch.setattr(kept, "_decoded", lambda *_: pytest.fail("of another version"))
    assert past.read_all(tmp_path)[0] == [usual]


def test_what_is_omitted_is_told_and_not_kept(tmp_path: Path) -> None:
    run = measured(tmp_path, "a", 100)
    (run / "manifest.json").write_text("{}")
    found, left_out = past.read_all(tmp_path)
    assert found == []
    assert [one.what for one in left_out] == ["a"]
    with Reducer(Catalogue(tmp_path), opened) as reducer:
        for _ in range(2):
            with pytest.raises(DynoError, match="manifest"):
                reducer.read("a", run)
