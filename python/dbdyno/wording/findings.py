"""A run judged and worded: `analysis.analyse`, its messages as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbdyno.analysis import findings
from dbdyno.analysis.types import Findings
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord
from dbdyno.wording.catalogue import worded


def analyse(plan: Plan, records: Sequence[TrialRecord], *more: Any, **named: Any) -> Findings:
    """`analysis.findings.analyse`, for people."""
    return worded(findings.analyse(plan, records, *more, **named), plan)
