"""All ratios that a page may show, each with its one interval.

What a claim is about has the claim's interval (`verdict`). All others are a family of their own:
the k of them, chosen by the plan and not by what was measured, have intervals at 1 - 0.05 / k
(Bonferroni), which hold together with 95 %. So a sentence may pick the largest, the best or a clear
one among them, and is wrong in at most 5 % of runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from dbdyno.analysis.claims.cases import Case, bound_of
from dbdyno.analysis.claims.interim_looks import case_maker, shown
from dbdyno.analysis.estimates.estimate import CONFIDENCE
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.page.same_ratio import turned
from dbdyno.analysis.types import RATIO, ClaimPart, Ratio, Together
from dbdyno.experiment.claims.grammar import CELL, ResolvedPart, Side
from dbdyno.experiment.claims.types import ALPHA
from dbdyno.plan.types import Cell, Factor, Plan

Of = tuple[int, str]  # a cell and a metric
Pair = tuple[Of, Of]  # the left one over the right one


class PageRatios:
    """Ratios by their sides. `pairs`: that the page may show, in any order, some of them twice."""

    def __init__(self, measured: Measured, claimed: Iterable[ClaimPart], pairs: Iterable[Pair]):
        self._claimed: dict[Pair, Ratio] = {}
        for part in claimed:
            if part.kind == RATIO and part.estimate is not None:
                self._claimed.setdefault(_sides(part), part.estimate)
        self._others: dict[Pair, Ratio] = {}
        cases = _cases(measured, (pair for pair in pairs if not self.is_claimed(pair)))
        open_ = sum(case.contrast is not None for case in cases.values())
        self.together = Together(open_, 1 - ALPHA / open_ if open_ else CONFIDENCE)
        for pair, case in cases.items():
            ratio = _ratio(case, self.together.level)
            if ratio is not None:
                self._others[pair] = ratio

    def of(self, left: Of, right: Of) -> Ratio | None:
        """Left over right; None if that cannot be estimated, or only bounded."""
        for known in (self._claimed, self._others):
            if (left, right) in known:
                return _whole(known[left, right])
            if (right, left) in known:
                ratio = _whole(known[right, left])
                return turned(ratio) if ratio else None
        return None

    def is_claimed(self, pair: Pair) -> bool:
        """Whether some claim is about the ratio."""
        return pair in self._claimed or pair[::-1] in self._claimed


def candidates(
    plan: Plan, metrics: Sequence[str], claimed: Iterable[ClaimPart], ranked: Factor | None
) -> Iterator[Pair]:
    """What a page may show of a plan: each cell against its baselines in all `metrics`; the
    cells that claims compare, and those that differ alike, in the same metrics; all pairs of levels
    of a factor that is `ranked`, in the first one."""
    for metric in metrics:
        for factor in plan.factors:
            for _, cell, baseline, _ in plan.neighbours(factor):
                yield (cell.index, metric), (baseline.index, metric)
    for part in claimed:
        if part.kind != RATIO or part.left_cell == part.right_cell:
            continue
        left, right = (plan.cells[at] for at in (part.left_cell, part.right_cell) if at is not None)
        for _, one, other in alike(plan, left, right):
            for metric in dict.fromkeys((part.metric, *metrics)):
                yield (one.index, metric), (other.index, metric)
    if ranked is not None and metrics:
        for one, other in itertools.combinations(plan.cells, 2):
            if differing(one, other).keys() == {ranked.name}:
                yield (one.index, metrics[0]), (other.index, metrics[0])


def alike(plan: Plan, left: Cell, right: Cell) -> Iterator[tuple[dict[str, str], Cell, Cell]]:
    """Pairs of cells that differ as these two do, themselves included, in the order of the cells,
    with the levels that both of a pair share."""
    ours, theirs = differing(left, right), differing(right, left)
    by_levels = {tuple(cell.levels.items()): cell for cell in plan.cells}
    for cell in plan.cells:
        other = by_levels.get(tuple({**cell.levels, **theirs}.items()))
        if other is not None and differing(cell, other) == ours:
            at = {name: value for name, value in cell.levels.items() if name not in ours}
            yield at, cell, other


def differing(cell: Cell, other: Cell) -> dict[str, str]:
    """The first cell's levels of the factors in which the two differ."""
    return {name: level for name, level in cell.levels.items() if other.levels[name] != level}


def _sides(part: ClaimPart) -> Pair:
    assert part.left_cell is not None
    assert part.right_cell is not None
    return (part.left_cell, part.metric), (part.right_cell, part.right_metric)


def _cases(measured: Measured, pairs: Iterable[Pair]) -> dict[Pair, Case]:
    make = case_maker(measured)
    found: dict[Pair, Case] = {}
    for pair in pairs:
        if pair not in found and pair[::-1] not in found:
            left, right = (Side(CELL, metric, "", cell) for cell, metric in pair)
            found[pair] = make(ResolvedPart({}, left, right, ">", 1.0))
    # Counts with a zero among them have a share of trials, which is no ratio.
    return {pair: case for pair, case in found.items() if case.part.kind == RATIO}


def _ratio(case: Case, level: float) -> Ratio | None:
    """A case's ratio with its interval at confidence `level`; without one where it is not
    judged."""
    if case.contrast is None:
        return case.part.estimate
    contrast, _ = shown(case.contrast, level)
    low, high = case.contrast.interval(level)
    p, bound = case.contrast.p, bound_of(contrast)
    return Ratio(contrast.centre, low, high, level, contrast.n, p, bound)


def _whole(ratio: Ratio) -> Ratio | None:
    return None if ratio.bound or not math.isfinite(ratio.ratio) else ratio
