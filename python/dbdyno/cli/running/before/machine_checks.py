"""Findings of the checks of this machine, reported before the first trial."""

from __future__ import annotations

from dbdyno.plan import external
from dbdyno.rules import machine as machine_checks
from dbdyno.store.run import Run


def checked(run: Run) -> list[str]:
    """The findings that the run's latest environment holds, a line each."""
    found = [machine_checks.Finding(**one) for one in run.latest_environment.get("checks", ())]
    return machine_checks.lines(found, external.places(run.plan.cells))
