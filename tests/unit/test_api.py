"""`import dbdyno`: stored runs as frames, histograms and verdicts."""

from __future__ import annotations

import builtins
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from test_share_tables import run as stored_run

import dbdyno
from dbdyno.share import bundle
from dbdyno.store.metrics.histogram import Histogram, Tagged, log_line
from dbdyno.store.run import Run

stored = stored_run  # the fixture: two cells, one block, an interval and a sample each


@pytest.fixture
def run(stored: Run) -> dbdyno.Run:
    lines = [
        Tagged("app", float(second), 1.0, Histogram.of([1_000_000 * (second + 1)] * 10))
        for second in range(2)
    ]
    log = stored.path / "trials" / "b01-t001" / "latency.hlog"
    log.write_text("".join(log_line(line) + "\n" for line in lines))
    return dbdyno.open(str(stored.path))


FRAMES: dict[str, Callable[[dbdyno.Run], dbdyno.Frame]] = {
    "trials": lambda run: run.trials(),
    "series": lambda run: run.series(),
    "samples": lambda run: run.samples(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_says_the_same_as_lists_and_as_arrow(run: dbdyno.Run, name: str) -> None:
    frame = FRAMES[name](run)
    lists = frame.to_dict()
    assert list(lists) == frame.columns
    assert len(lists["trial"]) > 0
    table = pyarrow.table(frame)
    assert table.to_pydict() == lists
    assert next(iter(frame.rows())) == {column: values[0] for column, values in lists.items()}


def test_arrow_has_units_and_types_even_of_a_table_without_rows(run: dbdyno.Run) -> None:
    schema = pyarrow.table(run.series()).schema
    assert schema.field("t_s").metadata[b"unit"] == b"s"
    assert schema.field("transactions").type == pyarrow.int64()
    empty = dbdyno.Frame("none", run.series().described, lambda: iter(()))
    assert pyarrow.table(empty).num_rows == 0
    assert pyarrow.table(empty).schema == schema
    assert set(empty.to_dict()) == set(empty.columns)


def test_one_trial_is_a_part_of_all(run: dbdyno.Run) -> None:
    first, second = run.trial_ids
    parts = [run.series(trial).to_dict()["trial"] for trial in (first, second)]
    assert parts[0] == [first] * len(parts[0])
    assert parts[0] + parts[1] == run.series().to_dict()["trial"]
    for ask in (run.series, run.samples, run.histograms):
        with pytest.raises(dbdyno.DynoError, match="no trial b01-t009") as refused:
            ask("b01-t009")
        assert "b01-t001" in refused.value.fix


def test_histograms_hold_all_intervals_of_a_trial(run: dbdyno.Run) -> None:
    found = run.histograms("b01-t001")
    assert list(found) == ["app"]
    assert found["app"].count == 20
    assert found["app"].quantile_ns(0.5) == pytest.approx(1_000_000, rel=0.01)
    assert found["app"].quantile_ns(1) == pytest.approx(2_000_000, rel=0.01)
    assert run.histograms("b01-t002") == {}


def test_verdicts_are_those_of_the_result(run: dbdyno.Run) -> None:
    assert run.status == "complete"
    assert run.levels == {"cache": ["on, warm", "off"]}
    result = run.result()
    assert result["experiment"] == run.name
    assert run.verdicts() == result["claims"]


def test_a_bundle_reads_as_its_run_and_leaves_nothing(
    run: dbdyno.Run, stored: Run, tmp_path: Path
) -> None:
    packed = tmp_path / "run.zip"
    bundle.pack(stored, packed)
    opened = dbdyno.open(packed)
    assert opened.trials().to_dict() == run.trials().to_dict()
    place = opened._stored.path
    assert place.is_dir()
    opened.close()
    assert not place.exists()


def test_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(dbdyno.DynoError):
        dbdyno.open(tmp_path / "nowhere")


def test_without_pyarrow_only_arrow_is_refused(
    run: dbdyno.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    assert run.trials().to_dict()["trial"]
    with pytest.raises(dbdyno.DynoError, match="needs pyarrow") as refused:
        run.trials().__arrow_c_stream__()
    assert "dbdyno[parquet]" in refused.value.fix and "to_dict" in refused.value.fix


def test_the_import_loads_nothing_and_offers_what_the_types_say() -> None:
    script = "import sys, dbdyno; print([n for n in sys.modules if n.startswith('dbdyno.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout == "[]\n"
    stub = Path(dbdyno.__file__).with_suffix(".pyi").read_text()
    offered = importlib.import_module("dbdyno.api").__all__
    assert all(f"import {name} as {name}\n" in stub for name in offered)
    assert set(offered) <= set(dir(dbdyno))
    assert (Path(dbdyno.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="nothing"):
        dbdyno.nothing  # type: ignore[attr-defined] # noqa: B018
