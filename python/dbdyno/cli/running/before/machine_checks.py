"""Findings of the checks of this machine, reported before the first trial."""

from __future__ import annotations

from dbdyno.plan import external
from dbdyno.rules import check
from dbdyno.store.run import Run


def checked(run: Run) -> list[str]:
    """The findings that the run's latest environment holds, a line each."""
    found = [check.Finding(**one) for one in run.latest_environment.get("checks", ())]
    return check.lines(found, external.places(run.plan.cells))
