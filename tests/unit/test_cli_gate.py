"""Verdicts of claims decide the exit code first; what the gate found is reported all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from webbed import measured

from dbdyno.cli.running import trend
from dbdyno.cli.running.finish import conclude
from dbdyno.cli.running.gate import SUSPECTED, Gate
from dbdyno.store.run import Run

REFUTED = "tps[on] > tps[off]"  # the second level is twice as fast
OPEN = "p99[on] > p99[off]"  # which was not measured


def found_worse(_: Any) -> int:
    click.echo("regression: it is slower", err=True)
    return 1


@pytest.mark.parametrize(
    ("claim", "options", "code"),
    [
        (REFUTED, {"strict": True}, 1),
        (OPEN, {"strict": False, "decisive": True}, 2),
        (OPEN, {"strict": True}, 1),
    ],
)
def test_a_gate_within_the_run_is_heard(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    claim: str,
    options: dict[str, bool],
    code: int,
) -> None:
    run = Run.open(measured(tmp_path, "run", claims=(claim,)))
    assert conclude(run, **options, as_json=True, gate=found_worse) == code
    assert "regression: it is slower" in capsys.readouterr().err


@pytest.mark.parametrize(("before", "after"), [(0, SUSPECTED), (1, 1), (2, 2)])
def test_a_gate_by_history_is_heard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: int, after: int
) -> None:
    for nth in range(8):
        measured(tmp_path / "history", f"{nth}", 100 + 0.1 * nth)
    now = Run.open(measured(tmp_path, "now", 50))
    history = tmp_path / "history"
    assert trend.after(now, before, history, None, Gate(0.05), False) == after
    assert "regression suspected in" in capsys.readouterr().err


def test_a_history_that_cannot_judge_says_so_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = Run.open(measured(tmp_path, "now"))
    assert trend.after(now, 1, tmp_path / "nowhere", None, Gate(0.05), False) == 1
    assert "--fail-on-regression is inconclusive" in capsys.readouterr().err
