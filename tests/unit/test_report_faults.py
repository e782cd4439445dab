"""The section on faults: sentences, rows and the marks on a trial's throughput."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno.audit.findings import Audit
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.report import Report
from dbdyno.report.sections.load import faults
from dbdyno.wording.within_trial import faults_text
from fixtures import stalling_run

KILL = Fault(10.0, "kill", ("primary",), "db", 1.0)


def struck(outages_s: tuple[float, ...], **more: Any) -> Report:
    """A run whose first cell had a server killed in each trial."""
    run, findings = stalling_run.stalling(Path("RUN"))
    cells = (replace(run.plan.cells[0], faults=(KILL,)), *run.plan.cells[1:])
    seconds = iter(outages_s)
    kept = []
    for record in run.kept:
        if record.cell == 0:
            outage_s = next(seconds)
            metrics = {"outage_s": outage_s, "failover_s": outage_s + 0.05, "brownout_s": 2.0}
            fault = {
                "do": "kill",
                "node": "db",
                "at_s": 10.0,
                "begun_s": 10.0 + record.block / 100,
                "in_force_s": 10.1,
                "undone_s": 11.6,
                **more,
            }
            record = record.replace(metrics={**record.metrics, **metrics}, faults=(fault,))
        kept.append(record)
    changed = replace(run, plan=replace(run.plan, cells=cells), kept=kept)
    return Report(changed, findings)  # type: ignore[arg-type]


def test_a_run_without_faults_has_no_section() -> None:
    run, findings = stalling_run.stalling(Path("RUN"))
    assert "faults" not in Report(run, findings).views  # type: ignore[arg-type]


def test_a_cell_with_faults_has_sentences_rows_and_a_chart() -> None:
    report = struck((1.2, 1.5, 1.9))
    view = report.views["faults"]
    (cell,) = view.cells
    assert cell.where == "binlog 1G"
    assert cell.sentences == (
        "No commit for 1.50 s (median of 3 trials: 1.20 to 1.90 s). The first commit came 1.55 s"
        " after the fault (median of 3 trials: 1.25 to 1.95 s). Throughput was below 80 % of that"
        " before for 2.00 s, the outage included.",
    )
    assert cell.rows == (faults.Row("kill", "db", "10.0 s", "1.50 s", 3, ""),)
    assert cell.figure is not None
    assert cell.figure.title == "A trial at binlog 1G, block 2"  # the one in the middle
    drawn = str(cell.figure.wide)
    assert "kill db" in drawn
    assert "started again" in drawn
    assert "kill db at 10.0 s; started again at 11.6 s" in drawn  # for screen readers
    page, text = report.html(), report.markdown()
    assert '<h2 id="faults">Faults</h2>' in page
    assert "| kill | db | 10.0 s | 1.50 s | 3 |" in text
    assert any("Faults at binlog 1G: No commit" in str(one) for one in faults.form(view))


def test_a_problem_is_shown_as_text() -> None:
    report = struck((1.0, 1.0, 1.0), problem="<b>gone</b>")
    assert report.views["faults"].cells[0].rows[0].problem == "<b>gone</b>"
    assert "<b>gone</b>" not in report.html()


def test_the_steps_of_a_drill_are_bars_and_rows() -> None:
    steps = [
        {"step": "copy", "begun_s": 10.0, "ended_s": 10.5},
        {"step": "start", "begun_s": 10.5, "ended_s": 12.0},
        {"step": "check", "begun_s": 12.0},  # it did not end
    ]
    report = struck((1.2, 1.5, 1.9), do="restore", steps=steps)
    run: Any = report.run
    kept = [
        record.replace(metrics={**record.metrics, "rto_s": 2.0, "audit.lost": 3.0})
        if record.faults
        else record
        for record in run.kept
    ]
    report = Report(replace(run, kept=kept), report.findings)
    [cell] = report.views["faults"].cells
    assert [(row.drill, row.step, row.seconds, row.trials) for row in cell.steps] == [
        ("restore", "copy", "0.500 s", 3),
        ("restore", "start", "1.50 s", 3),
    ]
    assert cell.sentences[:2] == (
        "RTO: the server was restored and open to clients after 2.00 s.",
        "RPO: 3 acknowledged transactions were lost.",
    )
    drawn = str(cell.figure.wide)
    assert "restore: copy, 0.500 s" in drawn
    assert "restore: start, 1.50 s from 10.5 to 12.0 s" in drawn  # for screen readers
    assert "| restore | db | start | 1.50 s | 3 |" in report.markdown()
    assert '<th scope="row">restore</th><td>db</td><td>start</td>' in report.html()


@pytest.mark.parametrize(
    ("metric", "values", "trials", "cut", "said"),
    [
        ("outage_s", [0.1, 0.1], 2, 0, "A commit in each 100 ms."),
        ("outage_s", [3.0], 1, 1, "No commit for at least 3.00 s."),
        ("failover_s", [], 3, 0, "No outage followed a fault."),
        (
            *("failover_s", [1.0], 3, 0),
            "The first commit came 1.00 s after the fault; no outage in 2 trials.",
        ),
        ("promotion_s", [1.0], 1, 0, "Another node had taken over 1.00 s after the fault."),
        (
            *("promotion_s", [1.0], 2, 0),
            "Another node had taken over 1.00 s after the fault; none did in 1 trial.",
        ),
        (
            *("brownout_s", [0.0], 1, 0),
            "Throughput was back at 80 % of that before within the second.",
        ),
        ("brownout_s", [], 1, 0, ""),
    ],
)
def test_what_clients_saw(
    metric: str, values: list[float], trials: int, cut: int, said: str
) -> None:
    assert faults_text.effect(metric, values, trials, cut) == said


def audited(lost: int) -> Audit:
    return Audit(100, 0, 0, lost, 0, 0, 0, 0, 0, ())


def test_faults_with_audits_are_answered_at_the_head() -> None:
    report = struck((1.2, 1.5, 1.9))
    run = report.run
    roles = (
        {"t_s": 11.25, "node": "db.2", "change": "promoted", "said": "it had 7"},
        {"t_s": 11.5, "node": "db", "change": "returned", "said": "follows db.2"},
    )
    kept = [
        record.replace(
            audit={"db": audited(3 if record.block == 2 else 0)},
            metrics={**record.metrics, "transactions_per_s_before": 50.0},
            roles=roles,
        )
        if record.faults
        else record
        for record in run.kept  # type: ignore[attr-defined]
    ]
    changed: Any = replace(run, kept=kept)  # type: ignore[type-var]
    report = Report(changed, report.findings)
    view = report.views["survival"]
    assert view.sentences == ("Acknowledged transactions were lost: 3 (in 1 of 3 trials) at 1G.",)
    [row] = view.rows
    assert (row.where, row.lost, row.outage, row.tps, row.keeps) == (
        *("1G", "3 (in 1 of 3 trials)", "1.50 s (worst 1.90)", "50.0"),
        False,
    )
    [cell] = report.views["faults"].cells
    assert cell.changes[0] == faults.Change("11.2 s", "db.2", "promoted", "it had 7")
    page, text = report.html(), report.markdown()
    for one in (page, text):
        assert "What was kept, and what it costs" in one
        assert "change of roles" in one
    assert page.index('id="survival"') < page.index('id="claims"')
