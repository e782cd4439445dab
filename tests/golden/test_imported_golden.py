"""The report of an imported run, compared with golden files: an article's table of one run a cell,
with prices and with claims that its own figures contradict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from test_report_golden import Html, Markdown, Plain, masked

from dbdyno import __version__
from dbdyno.analysis.types import Findings
from dbdyno.cli import studies
from dbdyno.imports import Told, arrange, collect, plan_of, read_head
from dbdyno.imports import write as write_run
from dbdyno.report import Report
from dbdyno.store.run import Run
from dbdyno.wording.findings import analyse
from fixtures.printed import printed


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Findings]:
    path = studies.find_imported("cost-published")
    head = read_head(path)
    monkeypatch.chdir(path.parent)
    collected = collect([Path("cost-published.csv")], {})
    cells = arrange(collected.results, [])
    plan = plan_of(cells, collected, Told("cost-published", head.model.question, head))
    run = write_run(tmp_path / "RUN", plan, cells, collected, ["dyno", "import"])
    return run, analyse(run.plan, run.records())


def steady(text: str, run: Run) -> str:
    """Without places, moments and versions, which differ."""
    text = text.replace(str(run.path), "RUN").replace(__version__, "VERSION")
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "MOMENT", text)


def test_html(imported: tuple[Run, Findings], snapshot: SnapshotAssertion) -> None:
    body = masked(Report(*imported).html())
    assert steady(body, imported[0]) == snapshot(extension_class=Html)


def test_markdown(imported: tuple[Run, Findings], snapshot: SnapshotAssertion) -> None:
    body = Report(*imported).markdown()
    assert steady(body, imported[0]) == snapshot(extension_class=Markdown)


def test_terminal(imported: tuple[Run, Findings], snapshot: SnapshotAssertion) -> None:
    said = printed(Report(*imported).terminal())
    assert steady(said, imported[0]) == snapshot(extension_class=Plain)
