"""The comparison that a report leads with: two cells, one metric, and its span elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.headline import headline_metric, main_factor
from dbdyno.analysis.measured import Measured
from dbdyno.analysis.ratios import pairs, plain_ratio
from dbdyno.analysis.types import RATIO, SUPPORTED, ClaimPart, ClaimResult, Ratio
from dbdyno.plan.types import Cell


@dataclass(frozen=True)
class Lead:
    """`left` over `right` in `metric`; what differs and what is common, by factor."""

    metric: str
    left: Cell
    right: Cell
    ratio: Ratio
    small: bool = False
    margin: float = 0.0  # within which the claim calls the two equal

    @property
    def left_levels(self) -> dict[str, str]:
        """The left cell's levels of the factors in which the two differ."""
        return _differing(self.left, self.right)

    @property
    def right_levels(self) -> dict[str, str]:
        """The same of the right cell."""
        return _differing(self.right, self.left)

    @property
    def common(self) -> dict[str, str]:
        """Levels that both share."""
        other = self.right.levels
        return {name: level for name, level in self.left.levels.items() if other[name] == level}


def find_lead(measured: Measured, claims: Sequence[ClaimResult]) -> Lead | None:
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
    leads = []
    for cell in measured.plan.cells:
        if cell.levels[factor.name] == factor.levels[0]:
            continue
        for other in measured.plan.cells:
            if other.levels == {**cell.levels, factor.name: factor.levels[0]}:
                ratio = plain_ratio(pairs(measured, (cell.index, metric), (other.index, metric)))
                if ratio is not None:
                    leads.append(Lead(metric, cell, other, ratio))
    return max(leads, key=_strength, default=None)


def elsewhere(measured: Measured, lead: Lead) -> list[tuple[dict[str, str], Ratio]]:
    """The same contrast at every combination of the other levels, the lead's own included, in the
    order of the cells; those that cannot be estimated are left out."""
    found = []
    for cell in measured.plan.cells:
        if _select(cell, lead.left_levels) != lead.left_levels:
            continue
        for other in measured.plan.cells:
            if other.levels == {**cell.levels, **lead.right_levels}:
                sides = (cell.index, lead.metric), (other.index, lead.metric)
                ratio = plain_ratio(pairs(measured, *sides))
                if ratio is not None:
                    at = {n: v for n, v in cell.levels.items() if n not in lead.left_levels}
                    found.append((at, ratio))
    return found


def _of_part(measured: Measured, part: ClaimPart) -> Lead | None:
    if part.kind != RATIO or part.estimate is None:
        return None
    assert part.left_cell is not None
    assert part.right_cell is not None
    if part.left_cell == part.right_cell:
        return None  # two metrics of one cell: a number, not a comparison of levels
    left, right = measured.cell(part.left_cell), measured.cell(part.right_cell)
    same = plain_ratio(pairs(measured, (left.index, part.metric), (right.index, part.metric)))
    if same is None or not math.isclose(same.ratio, part.estimate.ratio, rel_tol=1e-9):
        return None  # different metrics on the two sides
    margin = part.margin if part.threshold == 1 else 0.0
    small = part.small or (margin > 0 and part.verdict == SUPPORTED)
    return Lead(part.metric, left, right, part.estimate, small, margin)


def clear(ratio: Ratio) -> bool:
    """Whether the interval says which side is larger."""
    low, high = ratio.ci_low, ratio.ci_high
    return low is not None and high is not None and not low <= 1 <= high


def _strength(lead: Lead) -> tuple[bool, float]:
    """The largest clear effect first; among open ones the best known, since the largest of those
    is the one with most noise."""
    ratio = lead.ratio
    if clear(ratio) or not ratio.ci_low or not ratio.ci_high:
        return clear(ratio), abs(math.log(ratio.ratio))
    return False, -math.log(ratio.ci_high / ratio.ci_low)


def _differing(cell: Cell, other: Cell) -> dict[str, str]:
    return {name: level for name, level in cell.levels.items() if other.levels[name] != level}


def _select(cell: Cell, names: dict[str, str]) -> dict[str, str]:
    return {name: cell.levels[name] for name in names}
