"""What the blocks of the leading comparison say, where no claim compares anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.between_blocks.look import Uneven, look
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead, clear
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import RATIO, ClaimResult, Ratio


def of_lead(measured: Measured, lead: Lead | None, claims: Sequence[ClaimResult]) -> list[str]:
    """Warnings; none of quick runs, and where claims compare: these have their own.

    The lead may be the largest of several differences: the tests hang on no mean, so that to choose
    by it costs nothing.
    """
    if lead is None or measured.plan.quick or any(_compares(claim) for claim in claims):
        return []
    left, right = ((cell.index, lead.metric) for cell in (lead.left, lead.right))
    found = look({"lead": ratios.pairs(measured, left, right)}).get("lead")
    if found is None:
        return []
    sides = {"left": lead.left_levels, "right": lead.right_levels, "common": lead.common}
    said = found.messages(Message("of_lead", **sides, metric=lead.metric))
    if found.outlier is not None and _hangs(found, lead.ratio):
        now_clear = not clear(lead.ratio)
        said.append(Message("answer_hangs_on", block=found.block, clear=now_clear))
    return list(said)


def _hangs(found: Uneven, ratio: Ratio) -> bool:
    """Whether the ratio without its outlier is clear where it is not, or the other way. Never where
    the interval is that of an unfinished run, which allows for looks."""
    if found.pairs.contrast(1.0).interval(ratio.level) != (ratio.ci_low, ratio.ci_high):
        return False
    low, high = found.without(1.0, ratio.level)
    return clear(replace(ratio, ci_low=low, ci_high=high)) != clear(ratio)


def _compares(claim: ClaimResult) -> bool:
    return any(part.kind == RATIO for part in claim.parts)
