"""What became of transactions of several writers, in sentences."""

from __future__ import annotations

from dbdyno.models.cluster.conflicts.transaction import Outcome
from dbdyno.models.kinds import KINDS
from dbdyno.wording.models import words


def sentences(found: Outcome, alone: Outcome) -> list[str]:
    """How many attempts fail, and how much longer a transaction takes than with a single writer."""
    more = found.mean_s - alone.mean_s
    return [
        f"{found.victims:,} of {found.attempts:,} attempts fail ({found.victim_share:.1%}):"
        f" {found.aborts_at_apply:,} at apply, {found.certification_failures:,} in certification.",
        f"A transaction takes {length(found.mean_s)} on average, {length(abs(more))}"
        f" {'more' if more >= 0 else 'less'} than with a single writer.",
    ]


def length(value: float) -> str:
    """A duration with its unit."""
    return words.shown(KINDS["duration"], value)
