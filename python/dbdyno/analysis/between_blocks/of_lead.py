"""What the blocks of the leading comparison say, where no claim compares anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.between_blocks.look import Uneven, look
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead, clear
from dbdyno.analysis.types import RATIO, ClaimResult, Ratio
from dbdyno.plan import level_text


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
    plan = measured.plan
    names = [level_text.levels(plan, levels) for levels in (lead.left_levels, lead.right_levels)]
    at = f", at {level_text.levels(plan, lead.common)}" if lead.common else ""
    said = found.sentences(f" of {names[0]} to {names[1]} in {lead.metric}{at}")
    if found.outlier is not None and (now := _without(found, lead.ratio)):
        said.append(f"the answer hangs on {found.block}: without it the ratio {now}")
    return said


def _without(found: Uneven, ratio: Ratio) -> str:
    """What becomes of the ratio without its outlier, if that differs. Nothing where the interval is
    that of an unfinished run, which allows for looks."""
    if found.pairs.contrast(1.0).interval(ratio.level) != (ratio.ci_low, ratio.ci_high):
        return ""
    low, high = found.without(1.0, ratio.level)
    rest = replace(ratio, ci_low=low, ci_high=high)
    if clear(rest) == clear(ratio):
        return ""
    return "is clear" if clear(rest) else "is not clear"


def _compares(claim: ClaimResult) -> bool:
    return any(part.kind == RATIO for part in claim.parts)
