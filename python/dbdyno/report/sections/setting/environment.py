"""What the checks of the machine found before the first trial, for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbdyno.plan import external
from dbdyno.plan.types import Plan
from dbdyno.rules import check


@dataclass(frozen=True)
class Checked:
    """Findings by their state; `scope` says whose hosts were not looked at."""

    found: tuple[check.Finding, ...]
    unknown: tuple[check.Finding, ...]
    fine: tuple[check.Finding, ...]
    scope: str


def checked(plan: Plan, environment: Mapping[str, Any]) -> Checked | None:
    """None of runs that were imported, or that an older dbdyno measured: nothing was checked."""
    findings = [check.Finding(**one) for one in environment.get("checks", ())]
    if not findings:
        return None
    by_state = {
        state: tuple(one for one in findings if one.state == state)
        for state in (check.FOUND, check.NOT_KNOWN, check.FINE)
    }
    scope = "; ".join(check.unseen(external.places(plan.cells)))
    return Checked(by_state[check.FOUND], by_state[check.NOT_KNOWN], by_state[check.FINE], scope)
