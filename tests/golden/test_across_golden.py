"""What `dyno compare` and `dyno history` print, compared with golden files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from test_report_golden import Plain

from dbdyno.analysis import between_runs
from dbdyno.analysis.between_runs import Reduced
from dbdyno.report.between_runs.comparison import compared_text
from dbdyno.report.between_runs.history import history_text
from dbdyno.wording import runs as worded_runs
from fixtures.printed import printed
from fixtures.synthetic import STARTED_UNIX_S, SyntheticRun, engines

LEVELS = (
    *(1.0, 1.02, 0.99, 1.01, 0.985, 1.0, 1.01, 0.995, 1.0, 1.015, 0.99, 1.005),
    *(0.9, 0.91, 0.895, 0.905, 0.9, 0.91, 0.9, 0.895, 0.905),
)
UPGRADED = 12  # from this run on


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    return engines(tmp_path)[0]


@pytest.fixture
def runs(run: SyntheticRun, monkeypatch: pytest.MonkeyPatch) -> list[Reduced]:
    """A history of the synthetic experiment, a run a day, slower since an upgrade."""
    monkeypatch.setenv("TZ", "UTC")
    found = []
    for day, level in enumerate(LEVELS):
        kernel = "6.8.0" if day >= UPGRADED else "6.1.0"
        records = [
            replace(
                record,
                metrics={
                    name: value / level if "_ms_" in name else value * level
                    for name, value in record.metrics.items()
                },
            )
            for record in run.kept
        ]
        manifest = {
            "created_unix_s": STARTED_UNIX_S + day * 86_400,
            "environment": {**run.environment, "kernel": kernel},
        }
        found.append(
            between_runs.reduce(run.plan, records, manifest, f"runs/day{day + 1}", "complete")
        )
    return found


def test_two_runs(run: SyntheticRun, runs: list[Reduced], snapshot: SnapshotAssertion) -> None:
    compared = worded_runs.compare(runs[0], runs[1])
    shown = printed(compared_text(compared, run.plan), width=110)
    assert shown == snapshot(extension_class=Plain)


def test_a_run_and_its_predecessors(
    run: SyntheticRun, runs: list[Reduced], snapshot: SnapshotAssertion
) -> None:
    compared = worded_runs.judge(runs[UPGRADED], runs)
    assert compared is not None
    shown = printed(compared_text(compared, run.plan), width=110)
    assert shown == snapshot(extension_class=Plain)


def test_history(runs: list[Reduced], snapshot: SnapshotAssertion) -> None:
    assert printed(history_text(worded_runs.history(runs))) == snapshot(extension_class=Plain)
