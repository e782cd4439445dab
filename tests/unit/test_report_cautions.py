"""What a report says so that it cannot be missed: shared CPUs, warnings, missing numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbdyno.plan.types import Plan
from dbdyno.report import Report
from dbdyno.report.sections.setting import tested
from dbdyno.systems.base import TargetPlan
from fixtures import synthetic
from fixtures.printed import printed

ENGINES, ENGINE_FINDINGS = synthetic.engines(Path("."))


def on_shared_cpus(*targets: TargetPlan) -> Plan:
    """The engines' plan on CPUs that all share, each cell with `targets`, if there are any."""
    plan = replace(ENGINES.plan, generator_cpus=(), server_cpus=())
    cells = tuple(replace(cell, targets=targets or cell.targets) for cell in plan.cells)
    return replace(plan, cells=cells)


def test_shared_cpus_are_said_with_the_answer_and_nowhere_else() -> None:
    assert tested.shared(ENGINES.plan) == ""
    plan = on_shared_cpus()
    said = tested.shared(plan)  # of twelve cells, four have SQLite
    assert "shared all CPUs in 8 of 12 cells" in said
    report = Report(replace(ENGINES, plan=plan), ENGINE_FINDINGS)
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
