"""Tables of a run: their contents, as CSV and as Parquet, in files and on standard output."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import plans
import pytest
from click.testing import CliRunner
from test_share_exposition import INTERVAL, LATENCY, READY

from dbdyno.cli.runs.export import export
from dbdyno.errors import DynoError
from dbdyno.experiment.claims.units import unit_of
from dbdyno.share import csvfile, parquet, tables
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run

SAMPLE = {
    "t_s": 1.0,
    "length_s": 1.0,
    "source": "status",
    "values": {"bytes_per_s": 7, "on": True, "note": "x"},
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Two cells, one block; a comma in a level."""
    made = Run.create(tmp_path / "run", plans.plan({"cache": ("on, warm", "off")}, blocks=1), {})
    for trial in made.plan.trials:
        directory = made.begin(trial.id)
        lines = "".join(json.dumps(event) + "\n" for event in (READY, INTERVAL))
        (directory / "events.ndjson").write_text(lines)
        (directory / "metrics.ndjson").write_text(json.dumps(SAMPLE) + "\n")
        metrics = {"transactions_per_s": 0.1 + 0.2, "response_ms_p99": 35.0, "cpu.user": 0.5}
        made.complete(
            TrialRecord(
                trial.id,
                1,
                trial.cell,
                "complete",
                5.5,
                metrics,
                bounds={"response_ms_p99": ">="},
            )
        )
    made.set_status("complete")
    made.close()
    return Run.open(made.path)


def rows(run: Run, table: str) -> list[dict[str, str]]:
    out = io.StringIO()
    count = csvfile.write(run, tables.TABLES[table], out)
    found = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert len(found) == count
    return found


def test_trials_hold_every_metric_exactly(run: Run) -> None:
    found = rows(run, "trials")
    assert len(found) == 6
    assert found[0] == {
        "experiment": run.plan.name,
        "trial": "b01-t001",
        "block": "1",
        "position": "1",
        "cell": "0",
        "status": "complete",
        "level.cache": "on, warm",
        "started_unix_s": "5.5",
        "group": "",
        "metric": "transactions_per_s",
        "unit": "1/s",
        "value": "0.30000000000000004",
        "bound": "",
    }
    assert [row["bound"] for row in found[:3]] == ["", ">=", ""]


def test_intervals_have_units_in_their_names_and_the_wall_clock(run: Run) -> None:
    first = rows(run, "intervals")[0]
    assert first["unix_s"] == "1000000001.0"
    assert first["service_ns_p95"] == str(LATENCY["p95_ns"])
    assert first["service_ns_p99"] == ""
    assert (first["due"], first["backlog"], first["response_ns_max"]) == ("12", "2", "5000000")
    assert first["generator_busy_max"] == "0.5"


def test_samples_are_numbers_with_units(run: Run) -> None:
    found = rows(run, "samples")
    assert [(row["name"], row["value"], row["unit"]) for row in found] == [
        ("bytes_per_s", "7.0", "bytes/s")
    ] * 2


def test_parquet_holds_the_same_with_units(run: Run, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow.parquet")
    for name, table in tables.TABLES.items():
        path = tmp_path / f"{name}.parquet"
        with path.open("wb") as file:
            count = parquet.write(run, table, file)
        read = arrow.read_table(path)
        assert read.num_rows == count
        assert read.column_names == [column.name for column in table.columns(run.plan)]
        assert [tuple(row.values()) for row in read.to_pylist()] == list(table.of(run))
        for column in table.columns(run.plan):
            told = read.schema.field(column.name).metadata
            assert told == {b"about": column.about.encode(), b"unit": column.unit.encode()}


def test_without_pyarrow_the_message_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = CliRunner().invoke(export, [str(run.path), "--parquet", str(tmp_path / "out")])
    assert isinstance(done.exception, DynoError)
    assert "pip install 'dbdyno[parquet]'" in str(done.exception)
    assert not (tmp_path / "out").exists()


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(export, [str(each) for each in arguments])


def test_a_directory_gets_a_file_for_each_table(run: Run, tmp_path: Path) -> None:
    done = invoke(run.path, "--csv", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == sorted(tables.TABLES)
    assert {each["table"]: each["rows"] for each in json.loads(done.stdout)} == {
        "trials": 6,
        "intervals": 2,
        "samples": 2,
    }


def test_a_file_or_standard_output_gets_one_table(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "one.csv"
    assert invoke(run.path, "--csv", file, "--table", "samples").exit_code == 0
    assert file.read_text().startswith("experiment,trial")
    shown = invoke(run.path, "--csv", "-")
    assert len(list(csv.DictReader(io.StringIO(shown.stdout)))) == 6
    assert invoke(run.path, "--openmetrics", "-").stdout.endswith("# EOF\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--csv", "-", "--openmetrics", "-"),
        ("--csv", "-", "--json"),
        ("--csv", "x.csv", "--table", "trials", "--table", "samples"),
        ("--openmetrics", "-", "--table", "trials"),
        ("--csv", "x", "--table", "nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(
    run: Run, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(run.path, *arguments)
    assert done.exit_code == 2
    assert "Usage" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_place_that_cannot_be_written_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "x", tmp_path / "file" / "x.csv"):
        done = invoke(run.path, "--csv", place)
        assert isinstance(done.exception, DynoError), place
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("transactions_per_s", "1/s"),
        ("service_ms_p99", "ms"),
        ("disk.read_bytes_per_s", "bytes/s"),
        ("memory.dirty_bytes_max", "bytes"),
        ("generator.lag_ms", "ms"),
        ("cpu.user", ""),
    ],
)
def test_units(name: str, unit: str) -> None:
    assert unit_of(name) == unit


def test_a_spreadsheet_runs_nothing_that_others_wrote(tmp_path: Path) -> None:
    evil = ("=HYPERLINK(1)", "+1+cmd", "@x", "-2+3", "-5", "plain")
    made = Run.create(tmp_path / "evil", plans.plan({"cache": evil}, blocks=1), {})
    for trial in made.plan.trials:
        made.begin(trial.id)
        metrics = {"transactions_per_s": 1.0}
        made.complete(TrialRecord(trial.id, 1, trial.cell, "complete", 5.5, metrics))
    made.set_status("complete")
    made.close()
    found = {row["level.cache"] for row in rows(Run.open(made.path), "trials")}
    assert found == {"'=HYPERLINK(1)", "'+1+cmd", "'@x", "'-2+3", "-5", "plain"}
