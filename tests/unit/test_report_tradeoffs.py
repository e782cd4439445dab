"""Trade-offs in the report: the section, its chart, and nothing if there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dbdyno.analysis.types import TradeOff, TradePoint
from dbdyno.report import Report
from fixtures import reports, synthetic


def test_a_trade_off_is_drawn_and_listed() -> None:
    run, findings = synthetic.engines(Path("RUN"))
    cells = [cell.index for cell in findings.cells][:3]
    metrics = tuple(list(findings.cells[0].metrics)[:2])
    points = (
        TradePoint(cells[0], None),
        TradePoint(cells[1], None),
        TradePoint(cells[2], cells[0]),
    )
    found = replace(
        findings, tradeoff=TradeOff((metrics[0], metrics[1]), points, True, "2 of 3 cells.")
    )
    report = Report(run, found)
    page = report.html()
    for body in (page, report.markdown()):
        assert "Trade-offs" in body and "2 of 3 cells." in body
        assert body.count("not shown to be beaten") == 2
        assert "beaten by " in body
    assert 'id="tradeoffs"' in page and "<svg" in report.views["tradeoffs"].figure.wide
    assert "Trade-offs" not in reports.report("engines").markdown()
