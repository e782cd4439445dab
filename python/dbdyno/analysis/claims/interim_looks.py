"""Interim looks at claims after each block, so that the run can end once all are decided.

A part's contrast at each look so far becomes one contrast, `Looked`: its p is the smallest family
level at which some look has crossed its boundary (`spending`), its interval that of a look, at the
nominal level which the family level leaves to it. Such intervals of all looks together cover with
the family's confidence (repeated confidence intervals, Jennison and Turnbull 1989, "Interim
analyses: the repeated confidence interval approach"), so whichever look is shown, and for whatever
reason the run ended, the statements hold. Holm's procedure takes these p and intervals as any
others (group-sequential Holm procedure: Ye, Li, Liu, Yao 2013).

A run of fixed blocks has one look, at its end. One that is not finished has had as many as whole
blocks from the fourth on, since its user may have looked after each of them.

Looks are at whole blocks. A part's share of the planned information is its number of values over
the most blocks that were planned; a run that ends for another reason than its verdicts (`max`, or a
budget) spends at its last look whatever is left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.claims import alpha_spending
from dbdyno.analysis.claims.alpha_spending import Boundary
from dbdyno.analysis.claims.cases import Case, case_of
from dbdyno.analysis.claims.contrast import (
    Around,
    Best,
    Contrast,
    Interval,
    LogRatio,
    Median,
    Welch,
)
from dbdyno.analysis.claims.counts import AnyCount, TrialShare
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.estimates.events import Counted
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.types import UNDECIDED, ClaimPart, Looking
from dbdyno.analysis.void_attempts import readings
from dbdyno.analysis.void_attempts.readings import Both
from dbdyno.experiment.claims.grammar import ResolvedPart
from dbdyno.experiment.types import Looks as PlannedLooks

LEVEL_MIN = 1e-12  # for how small an effect a look may show: below, none
# What all looks at an unfinished run of fixed blocks may spend, as a part of its error budget. A
# run that gets to its last block is judged with all of the budget; the two together err in at most
# 5.4 % of runs (4 to 20 blocks, looked at after each).
UNFINISHED = 0.25
LOOK_MIN = 4  # values of a part before its first look, except for the last look
_NOT_T = (Median, Welch, Counted, SkewedMean, TrialShare)  # no t statistics


@dataclass(frozen=True)
class Looked:
    """A contrast at the looks so far, in their order; at least one."""

    looks: tuple[Contrast, ...]
    boundaries: tuple[Boundary, ...]

    @property
    def n(self) -> int:
        return self.looks[-1].n

    @property
    def threshold(self) -> float:
        return self.looks[-1].threshold

    @property
    def centre(self) -> float:
        return self.looks[-1].centre

    @property
    def p(self) -> float:
        """Repeated p-value: never rises from look to look."""
        return min(self._ps)

    def interval(self, confidence: float) -> Interval:
        return self._interval(self._shown(1 - confidence), 1 - confidence)

    def shown(self, confidence: float) -> tuple[Contrast, float]:
        """The contrast that `interval` is of, and its nominal level."""
        at = self._shown(1 - confidence)
        return self.looks[at], self.boundaries[at].level(1 - confidence)

    def _shown(self, alpha: float) -> int:
        """The last look, unless an earlier one decides what that does not, or decides otherwise:
        what was decided stays so."""
        last = len(self.looks) - 1
        first = next((at for at in range(last) if self._ps[at] <= alpha), None)
        if first is None:
            return last
        if self._ps[last] > alpha:
            return first
        intervals = self._interval(first, alpha), self._interval(last, alpha)
        return last if _meet(*intervals) else first

    @functools.cached_property
    def _ps(self) -> tuple[float, ...]:
        """The family level at which each look decides; those of a `Best` are of its boundary
        already, since its pairs are compared with it one by one."""
        pairs = zip(self.looks, self.boundaries, strict=True)
        return tuple(
            one.p if isinstance(one, Best) else boundary.family_p(one.p) for one, boundary in pairs
        )

    def _interval(self, at: int, alpha: float) -> Interval:
        contrast = self.looks[at]
        if isinstance(contrast, Best):
            return contrast.interval(1 - alpha)
        level = self.boundaries[at].level(alpha)
        return contrast.interval(1 - level) if level else (None, None)


def _meet(one: Interval, other: Interval) -> bool:
    """Whether two intervals have a value in common."""
    return all(
        low is None or high is None or low <= high
        for low, high in ((one[0], other[1]), (other[0], one[1]))
    )


class Looks:
    """The looks at a run so far."""

    def __init__(self, measured: Measured) -> None:
        plan = measured.plan
        looks = plan.looks or PlannedLooks(LOOK_MIN, plan.blocks)
        self._looks = looks
        self._part = 1.0 if plan.looks else UNFINISHED
        self._measured = measured
        self._whole = whole(measured)
        self._last = self._whole == plan.blocks and looks.decided_at is None
        first = min(looks.first, self._whole) if self._last else looks.first
        self.blocks = tuple(range(max(first, 1), self._whole + 1))  # after which a look happened
        self._until = [measured.until(block) for block in self.blocks]

    def case_of(self, part: ResolvedPart) -> Case:
        """The case of one comparison, its contrast that of all looks."""
        so_far = case_of(self._measured, part)
        if isinstance(so_far.contrast, AnyCount):  # whose looks add no chance to err
            return so_far
        if not self.blocks:
            return _without(so_far, Message("not_yet", first=self._looks.first))
        cases = [case_of(until, part) for until in self._until]
        now = cases[-1]
        if now.contrast is None:
            return now
        found: dict[int, tuple[Contrast, float]] = {}  # by number of values: a void trial adds none
        for block, case in zip(self.blocks, cases, strict=True):
            last = self._last and block == self._whole
            if case.contrast and case.contrast.n >= (BLOCKS_MIN if last else LOOK_MIN):
                n = case.contrast.n
                share = 1.0 if last else n / self._looks.max
                found[_values(case.contrast)] = (case.contrast, share)
        if not found:
            few = Message("few_for_look", n=now.contrast.n, least=LOOK_MIN)
            return _without(now, few)
        return replace(now, contrast=_looked(found, self._part))


def _values(contrast: Contrast) -> int:
    """Values whose t statistic has as many degrees of freedom as the contrast's: each adds one, a
    covariate takes one.
    """
    while isinstance(contrast, Around):
        contrast = contrast.inner
    return contrast.fit.freedom + 1 if isinstance(contrast, LogRatio) else contrast.n


def _looked(found: dict[int, tuple[Contrast, float]], part: float) -> Looked:
    contrasts = tuple(contrast for contrast, _ in found.values())
    shares = tuple(share for _, share in found.values())
    boundaries = (
        alpha_spending.any_boundaries(shares)
        if any(isinstance(one, _NOT_T) for one in contrasts)
        else alpha_spending.t_boundaries(tuple(found), shares)
    )
    boundaries = tuple(replace(one, part=part) for one in boundaries)
    pairs = zip(contrasts, boundaries, strict=True)
    held = (replace(one, look=look) if isinstance(one, Best) else one for one, look in pairs)
    return Looked(tuple(held), boundaries)


def case_maker(measured: Measured) -> Callable[[ResolvedPart], Case]:
    """What makes cases of a run: in both readings, if attempts were void though measured."""
    if measured.attempted is None:
        return _maker(measured)
    return readings.maker(measured, _maker(measured), _maker(measured.attempted))


def _maker(measured: Measured) -> Callable[[ResolvedPart], Case]:
    """Of one reading: over its looks, if its plan has some or if it is not finished."""
    if measured.plan.looks is None and not unfinished(measured):
        return functools.partial(case_of, measured)
    return Looks(measured).case_of


def unfinished(measured: Measured) -> bool:
    """Whether a run of fixed blocks has ended, so far, before its last one. A budget that ends a
    run cuts its plan, and does not hang on what was measured."""
    plan = measured.plan
    return plan.looks is None and not plan.quick and plan.paired and whole(measured) < plan.blocks


def shown(contrast: Contrast, confidence: float) -> tuple[Contrast, float]:
    """What an interval at `confidence` is of, and the nominal level of its test: of a contrast at
    several looks, the one at a look; of two readings, the one of what was kept."""
    if isinstance(contrast, Both):
        return shown(contrast.inner, confidence)
    if isinstance(contrast, Looked):
        at, level = contrast.shown(confidence)
        return at, max(level, LEVEL_MIN)
    return contrast, 1 - confidence


def whole(measured: Measured) -> int:
    """Blocks from the first on that are over."""
    number = 0
    while number + 1 in measured.whole:
        number += 1
    return number


def _without(case: Case, why: str) -> Case:
    if case.contrast is None:
        return case
    return replace(case, contrast=None, part=replace(case.part, why=why))


def looking(measured: Measured, parts: Sequence[ClaimPart]) -> Looking | None:
    """How far a run got whose blocks end when all `parts` are decided."""
    looks = measured.plan.looks
    if looks is None:
        return None
    taken, after = len(Looks(measured).blocks), whole(measured)
    # What has no estimate (a zero, an outage) will have none after more blocks.
    judged = [part for part in parts if part.estimate is not None]
    open_ = sum(part.verdict == UNDECIDED for part in judged)
    counts = {"taken": taken, "after": after, "open_": open_, "judged": len(judged)}
    sentence = Message("looking", most=looks.max, **counts)
    return Looking(looks.first, looks.max, taken, after, taken > 0 and open_ == 0, sentence)
