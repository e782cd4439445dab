"""The comparison that a report leads with: two cells, one metric, and its span elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.headline import headline_metric, main_factor
from dbdyno.analysis.page.ratios import PageRatios, alike, differing
from dbdyno.analysis.types import RATIO, SUPPORTED, UNDECIDED, ClaimPart, ClaimResult, Ratio
from dbdyno.plan.types import Cell


@dataclass(frozen=True)
class Lead:
    """`left` over `right` in `metric`; what differs and what is common, by factor. `others`: the
    ratios that it was chosen from, itself included; none where a claim chose it."""

    metric: str
    left: Cell
    right: Cell
    ratio: Ratio
    small: bool = False
    margin: float = 0.0  # within which the claim calls the two equal
    open: bool = False  # the claim is undecided
    others: tuple[Ratio, ...] = ()

    @property
    def left_levels(self) -> dict[str, str]:
        """The left cell's levels of the factors in which the two differ."""
        return differing(self.left, self.right)

    @property
    def right_levels(self) -> dict[str, str]:
        """The same of the right cell."""
        return differing(self.right, self.left)

    @property
    def common(self) -> dict[str, str]:
        """Levels that both share."""
        other = self.right.levels
        return {name: level for name, level in self.left.levels.items() if other[name] == level}


def find_lead(measured: Measured, claims: Sequence[ClaimResult], ratios: PageRatios) -> Lead | None:
    """The strongest comparison of the first claim that compares one metric of two cells; without
    such a claim, the main factor's level that differs most from its first level. None if nothing
    can be compared."""
    for claim in claims:
        found = [lead for part in claim.parts if (lead := _of_part(measured, part))]
        if found:
            return max(found, key=_strength)
    factor = main_factor(measured.plan, claims)
    if factor is None:
        return None
    metric = headline_metric(measured, claims)
    pairs = [(cell, other) for _, cell, other, _ in measured.plan.neighbours(factor)]
    known = [
        (cell, other, ratio)
        for cell, other in pairs
        if (ratio := ratios.of((cell.index, metric), (other.index, metric))) is not None
    ]
    others = tuple(ratio for _, _, ratio in known)
    leads = [Lead(metric, cell, other, ratio, others=others) for cell, other, ratio in known]
    return max(leads, key=_size, default=None)


def elsewhere(
    measured: Measured, lead: Lead, ratios: PageRatios
) -> list[tuple[dict[str, str], Ratio]]:
    """The same contrast at every combination of the other levels, the lead's own included, in the
    order of the cells; those that cannot be estimated are omitted."""
    return [
        (at, ratio)
        for at, cell, other in alike(measured.plan, lead.left, lead.right)
        if (ratio := ratios.of((cell.index, lead.metric), (other.index, lead.metric))) is not None
    ]


def _of_part(measured: Measured, part: ClaimPart) -> Lead | None:
    if part.kind != RATIO or part.estimate is None or part.metric != part.right_metric:
        return None
    assert part.left_cell is not None
    assert part.right_cell is not None
    if part.estimate.bound or part.left_cell == part.right_cell:
        return None  # two metrics of one cell: a number, not a comparison of levels
    left, right = measured.cell(part.left_cell), measured.cell(part.right_cell)
    margin = part.margin if part.threshold == 1 else 0.0
    small = part.small or (margin > 0 and part.verdict == SUPPORTED)
    open_ = part.verdict == UNDECIDED
    return Lead(part.metric, left, right, part.estimate, small, margin, open_)


def clear(ratio: Ratio) -> bool:
    """Whether the interval says which side is larger."""
    low, high = ratio.ci_low, ratio.ci_high
    return low is not None and high is not None and not low <= 1 <= high


def _size(lead: Lead) -> tuple[bool, float]:
    """The largest clear difference first, then the largest."""
    return clear(lead.ratio), abs(math.log(lead.ratio.ratio))


def _strength(lead: Lead) -> tuple[bool, float]:
    """The largest clear effect first; among open ones the best known, since the largest of those
    is the one with most noise."""
    ratio = lead.ratio
    if clear(ratio) or not ratio.ci_low or not ratio.ci_high:
        return _size(lead)
    return False, -math.log(ratio.ci_high / ratio.ci_low)
