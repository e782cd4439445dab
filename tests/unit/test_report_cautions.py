"""What a report says so that it cannot be missed: shared CPUs, warnings, missing numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.analysis.estimates.measured import kind
from dbdyno.analysis.types import CellResult, Findings
from dbdyno.plan.types import Plan
from dbdyno.report import Report
from dbdyno.report.context import Context
from dbdyno.report.sections.load import results
from dbdyno.report.sections.setting import tested
from dbdyno.systems.base import TargetPlan
from fixtures import reports, synthetic
from fixtures.printed import printed


def engines() -> synthetic.SyntheticRun:
    return synthetic.engines(Path("."))[0]


def engine_findings() -> Findings:
    return synthetic.engines(Path("."))[1]


def on_shared_cpus(*targets: TargetPlan) -> Plan:
    """The engines' plan on CPUs that all share, each cell with `targets`, if there are any."""
    plan = replace(engines().plan, generator_cpus=(), server_cpus=())
    cells = tuple(replace(cell, targets=targets or cell.targets) for cell in plan.cells)
    return replace(plan, cells=cells)


def test_shared_cpus_are_said_with_the_answer_and_nowhere_else() -> None:
    assert tested.shared(engines().plan) == ""
    plan = on_shared_cpus()
    said = tested.shared(plan)  # of twelve cells, four have SQLite
    assert "shared all CPUs in 8 of 12 cells" in said
    report = Report(replace(engines(), plan=plan), engine_findings())
    answer = report.html().partition('id="answer"')[2]
    assert answer.partition("</p>")[2].lstrip().startswith(f'<p class="note" id="shared">{said}')
    assert report.markdown().count(said) == report.brief().count(said) == 1
    assert said in printed(report.terminal()).replace("\n", " ")


def test_a_server_elsewhere_shares_no_cpus() -> None:
    def shared(url: str) -> str:
        return tested.shared(on_shared_cpus(TargetPlan("db", "mariadb", url=url)))

    assert shared("mysql://user@db1.example.com/test") == ""
    assert "shared all CPUs:" in shared("mysql://user@127.0.0.1/test")
    assert tested.shared(on_shared_cpus(TargetPlan("db", "sqlite"))) == ""


def without(cells: tuple[CellResult, ...], metric: str, first: int) -> tuple[CellResult, ...]:
    """Cells of which the first do not have a metric."""
    return tuple(
        replace(c, metrics={n: e for n, e in c.metrics.items() if n != metric}) if i < first else c
        for i, c in enumerate(cells)
    )


def table_of(run: synthetic.SyntheticRun, findings: Findings) -> results.CellTable:
    """The first one of the results, without the rest of a report."""
    return results.view(Context(run, findings)).tables[0]  # type: ignore[arg-type]


def rows_of(run: synthetic.SyntheticRun, findings: Findings) -> list[list[str]]:
    return [[value.mean for value in row.values] for row in table_of(run, findings).rows]


def test_a_missing_number_says_why() -> None:
    cells = without(engine_findings().cells, "service_ms_p99", 2)
    cells = without(cells, "errors_per_s", 2)
    cells = (replace(cells[0], trials=0), *cells[1:])
    slow = [
        one.replace(measured_s=1.0, metrics={**one.metrics, "transactions_per_s": rate})
        if one.cell == 1
        else one
        for one, rate in zip(engines().kept, itertools.cycle((900.0, 999.0)))
    ]
    findings = replace(engine_findings(), cells=cells)
    rows = rows_of(replace(engines(), kept=slow), findings)
    assert "no trial" in rows[0]
    assert "not measured" in rows[1] and "too few operations" in rows[1]
    fast = replace(engines(), kept=[one.replace(measured_s=20.0) for one in engines().kept])
    for run in (engines(), fast):  # lengths that are not known, and trials with enough operations
        assert "too few operations" not in rows_of(run, findings)[1]
    report = Report(engines(), findings)
    assert '<td class="num missing">not measured</td>' in report.html()
    assert "| not measured |" in report.markdown()


def test_a_closed_loop_has_no_response_time_among_open_ones() -> None:
    run, findings = synthetic.open_loop(Path("."))
    cells = without(findings.cells, "response_ms_p95", 1)
    groups = (replace(run.plan.cells[0].groups[0], arrivals=None),)
    plan = replace(run.plan, cells=(replace(run.plan.cells[0], groups=groups), *run.plan.cells[1:]))
    rows = rows_of(replace(run, plan=plan), replace(findings, cells=cells))
    assert "closed loop" in rows[0]


def test_what_is_the_same_in_all_cells_is_said_once() -> None:
    report = reports.report("engines")
    machine = report.views["counters"][-1]
    assert not machine.columns and [value for _, value in machine.alike] == ["0.100"]
    for text in (reports.page("engines"), report.markdown()):
        assert text.count("CPU stolen %") == 1
    cells = tuple(replace(c, warnings=("alike", f"own {c.index}")) for c in engine_findings().cells)
    table = table_of(engines(), replace(engine_findings(), cells=cells))
    assert table.warnings == ("alike",)
    assert [row.warnings for row in table.rows][:2] == [("own 0",), ("own 1",)]


@pytest.mark.parametrize("name", ["engines", "cache_run", "hostile", "open_loop"])
def test_each_warning_leads_to_the_list_that_has_it(name: str) -> None:
    report = reports.report(name)
    listed = {kind(text.partition(" [")[0]) for text, _ in report.views["warnings"].warnings}
    table = report.views["results"].tables[0]
    shown = [*table.warnings, *(text for row in table.rows for text in row.warnings)]
    assert {kind(text.partition(" [")[0]) for text in shown} <= listed
    for page in (reports.page(name), report.brief()):
        before = page.partition("<script")[0].split("⚠")[:-1]
        assert all(part.rstrip().rpartition("<")[2].startswith('a href="#warn') for part in before)
