"""The section on predictions: rows beside what was measured, in each medium."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.experiment.types import Topology
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.report import Report
from dbdyno.report.sections.load import predictions
from dbdyno.wording.findings import analyse
from fixtures import stalling_run

KILL = Fault(20.0, "kill", ("db.3",), "db")


def clustered(kind: str = "galera", faults: tuple[Fault, ...] = (KILL,)) -> Report:
    """A run whose first cell lost a node of three in each trial; the other cell lost none."""
    run, _ = stalling_run.stalling(Path("RUN"))
    form = Topology(kind, 3)
    cells = tuple(
        replace(
            cell,
            targets=tuple(replace(target, topology=form) for target in cell.targets),
            faults=faults if cell.index == 0 else (),
        )
        for cell in run.plan.cells
    )
    struck = {"do": "kill", "node": "db.3", "at_s": 20.0, "begun_s": 20.0, "in_force_s": 20.0}
    kept = [
        record.replace(faults=(struck,)) if record.cell == 0 and faults else record
        for record in run.kept
    ]
    changed: Any = replace(run, plan=replace(run.plan, cells=cells), kept=kept)
    return Report(changed, analyse(changed.plan, kept, changed.trace))


def test_a_run_of_single_servers_has_no_section() -> None:
    run, findings = stalling_run.stalling(Path("RUN"))
    assert "predictions" not in Report(run, findings).views  # type: ignore[arg-type]


def test_predicted_and_measured_stand_beside_each_other() -> None:
    report = clustered()
    crashed, quiet = report.views["predictions"]
    assert "1G" in crashed.where
    (row,) = crashed.rows
    assert row.what == "longest time without a commit"
    assert row.predicted.startswith("6.0") and row.predicted.endswith(" s")
    assert row.model == "cluster-timeline"
    assert "3 of 3 outside, up to" in row.difference  # that run's own stalls are short
    assert row.difference.endswith("below; the model is off here")
    assert row.known_error == "1 s"
    assert "64M" in quiet.where
    assert not quiet.rows and "no delay between" in quiet.sentences[0]
    page, lines = report.html(), report.markdown()
    assert '<h2 id="predictions">Predictions</h2>' in page
    assert "| longest time without a commit | 6.0" in lines
    (said,) = (str(one) for one in predictions.form((crashed, quiet)))
    assert "1G: longest time without a commit 6.0" in said


def test_cells_without_predictions_are_told_of_together() -> None:
    (view,) = clustered("replicas", ()).views["predictions"]
    assert view.where == "all cells"
    assert not view.rows
    assert list(predictions.form((view,))) == []
    assert "binary log" in " ".join(view.sentences)
