"""Whether a run that ends when all is decided has come so far."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.claims import verdict
from dbdyno.analysis.claims.interim_looks import looking
from dbdyno.analysis.estimates import versions
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord


def decided(
    plan: Plan, records: Sequence[TrialRecord], void: Sequence[TrialRecord] = ()
) -> str | None:
    """Why the run ends with the blocks that are over, in a sentence; None: it goes on."""
    if plan.looks is None:
        return None
    measured = Measured.of(plan, records, void)
    found = looking(measured, verdict.decide(measured, versions.questions(plan)))
    if found is None or not found.decided:
        return None
    return Message("run_ends", sentence=found.sentence)
