"""Verdicts on the rows of a comparison, where a history shows how far separate runs differ.

A run that is worse is first *suspected*: one disturbed run would do. It is *worse* once the run
before it was suspected as well and both are worse than what came before the two. All contrasts of a
run (rows, each against the last runs and against the reference) share one error budget (`budget`)
by Holm's procedure: rows over all cells one half, single cells the other. What moves a whole run is
seen there although there are many cells, in which each alone would drown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.between_runs.comparability import Key
from dbdyno.analysis.between_runs.level import Past, Shift, past
from dbdyno.analysis.between_runs.run_summary import Reduced
from dbdyno.analysis.between_runs.types import (
    BETTER,
    HIGHER,
    LOWER,
    NOT_CLEAR,
    SUSPECTED,
    WORSE,
    Row,
)
from dbdyno.analysis.claims.contrast import Interval
from dbdyno.analysis.claims.holm import Adjusted, holm
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import Ratio
from dbdyno.analysis.within_trial import changepoints
from dbdyno.experiment.claims import known_metrics, metrics

ALPHA = 0.05
RUNS = 6  # before a run whose error budget is `ALPHA`; with more of them it shrinks
NIGHTS = 30  # of a month, with a run each
# Of the suspicions that chance raises, a second run confirms at most so many where neighbours are
# correlated by up to 0.5: docs/proof.md, row `gate`.
CONFIRMED = 0.5

_Of = tuple[int, bool]  # a case's index, and whether it is compared with the reference


@dataclass(frozen=True)
class Case:
    """A row with the cells that it is of."""

    row: Row
    cells: tuple[Key, ...]

    def log(self, run: Reduced) -> float:
        """The mean over cells of the logarithm of the metric, which all of them have."""
        means = [run.value(cell, self.row.metric).mean for cell in self.cells]
        return math.fsum(math.log(mean) for mean in means if mean) / len(self.cells)

    def missing(self, run: Reduced) -> str:
        """Why `log` of a run has no value; empty if it can."""
        for value in (run.value(cell, self.row.metric) for cell in self.cells):
            if value.problem or not value.mean:
                return value.problem or "zero"
        return ""


@dataclass(frozen=True)
class _Look:
    """One run against those before it."""

    shifts: Mapping[_Of, Shift]
    adjusted: Mapping[_Of, Adjusted]
    pasts: Mapping[int, Past]
    problems: Mapping[int, str]

    def worse(self, of: _Of, metric: str, matters: float) -> bool:
        """Whether it is clearly worse, by more than what matters."""
        if of not in self.shifts:
            return False
        verdict = direction(metric, self.shifts[of].centre, self.adjusted[of].interval)
        return verdict == SUSPECTED and not small(self.shifts[of].centre, matters)


def budget(runs: int) -> float:
    """The error budget of a run that is judged by so many before it: 5 % by six, and the less the
    more there are. Over n nights chance then raises a number of suspicions that grows with log n,
    while what can be seen stays about the same: the spread is known the better."""
    return min(ALPHA, ALPHA * RUNS / max(runs, 1))


def a_month(runs: int) -> tuple[float, float]:
    """Suspected and confirmed a month of nightly runs, at most, by chance: the half of the budget
    that is on the worse side, and `CONFIRMED` of it."""
    suspected = NIGHTS * budget(runs) / 2
    return suspected, CONFIRMED * suspected


def judged(
    cases: Sequence[Case],
    before: Sequence[Reduced],
    b: Reduced,
    reference: Sequence[Reduced],
    matters: float,
) -> list[Row]:
    """The rows of B with verdicts where the spread of their runs `before` it is known. `reference`:
    runs that the user named; none: the first ones of the best stretch."""
    known, earlier = _known(cases, before, matters), _known(cases, before[:-1], matters)
    alpha = budget(len(before))
    now = _look(cases, known, b, reference, alpha)
    then = _look(cases, earlier, before[-1], reference, alpha)
    both = _look(cases, earlier, b, reference, alpha, lag=2)
    rows = []
    for index, case in enumerate(cases):
        if index in now.problems:
            rows.append(replace(case.row, problem=now.problems[index]))
            continue
        metric = case.row.metric
        confirmed = any(
            then.worse((index, fixed), metric, matters)
            and both.worse((index, fixed), metric, matters)
            for fixed in (False, True)
        )
        rows.append(_row(case.row, index, now, matters, confirmed))
    return rows


def small(centre: float, matters: float) -> bool:
    """Whether a ratio is within what matters."""
    return 1 / (1 + matters) <= centre <= 1 + matters


def direction(metric: str, centre: float, ends: Interval) -> str:
    """What one run alone says: an interval that excludes 1 on the worse side is a suspicion."""
    low, high = ends
    if not ((low is not None and low > 1) or (high is not None and high < 1)):
        return NOT_CLEAR
    better = metrics.info(metric).direction
    if better == known_metrics.NEITHER:
        return HIGHER if centre > 1 else LOWER
    return BETTER if (centre > 1) == (better == known_metrics.HIGHER) else SUSPECTED


def _known(cases: Sequence[Case], before: Sequence[Reduced], matters: float) -> list[Past | str]:
    """What the earlier runs say of each case, or why they say nothing."""
    found: list[Past | str] = []
    for case in cases:
        if problem := _problem(case, before):
            found.append(problem)
            continue
        logs = [case.log(run) for run in before]
        found.append(past(logs, changepoints.P / len(cases), math.log1p(matters)))
    return found


def _look(
    cases: Sequence[Case],
    known: Sequence[Past | str],
    run: Reduced,
    reference: Sequence[Reduced],
    alpha: float,
    lag: int = 1,
) -> _Look:
    shifts: dict[_Of, Shift] = {}
    pasts: dict[int, Past] = {}
    problems: dict[int, str] = {}
    for index, (case, before) in enumerate(zip(cases, known, strict=True)):
        why = before if isinstance(before, str) else case.missing(run)
        if why or isinstance(before, str):
            problems[index] = why
            continue
        now = case.log(run)
        last = before.last(now, lag)
        if last is None or last.error == 0.0:
            problems[index] = Message("no_spread_before")
            continue
        pasts[index], shifts[index, False] = before, last
        shift = before.against(_reference(case, before, reference), now)
        if shift and shift.error:
            shifts[index, True] = shift
    return _Look(shifts, _adjusted(cases, shifts, alpha), pasts, problems)


def _reference(case: Case, before: Past, named: Sequence[Reduced]) -> Sequence[float]:
    """Logarithms of the reference: of the runs that were named, else of the best stretch."""
    if named:
        return [case.log(run) for run in named if not case.missing(run)]
    return before.reference(metrics.info(case.row.metric).direction)


def _adjusted(
    cases: Sequence[Case], shifts: Mapping[_Of, Shift], alpha: float
) -> dict[_Of, Adjusted]:
    whole = [of for of in shifts if cases[of[0]].row.cells > 1]
    single = [of for of in shifts if cases[of[0]].row.cells == 1]
    share = alpha / 2 if any(case.row.cells > 1 for case in cases) else alpha
    found: dict[_Of, Adjusted] = {}
    for family in (whole, single):
        contrasts = [shifts[of] for of in family]
        found |= zip(family, holm(contrasts, lambda _, ends: _clear(ends), share), strict=True)
    return found


def _clear(ends: Interval) -> bool:
    low, high = ends
    return (low is not None and low > 1) or (high is not None and high < 1)


def _problem(case: Case, before: Sequence[Reduced]) -> str:
    """Why a row is not judged. A run of the history whose value is unusable (an outage, a zero)
    makes the spread unknown: without it, it would seem too small."""
    if case.row.problem:
        return case.row.problem
    for run in before:
        if why := case.missing(run):
            return Message("unusable_in", run=run.name, why=why)
    return ""


def _row(row: Row, index: int, now: _Look, matters: float, confirmed: bool) -> Row:
    ratios = {
        fixed: _ratio(now.shifts[index, fixed], now.adjusted[index, fixed])
        for fixed in (False, True)
        if (index, fixed) in now.shifts
    }
    said = {
        fixed: direction(row.metric, one.ratio, (one.ci_low, one.ci_high))
        for fixed, one in ratios.items()
    }
    verdict, of = NOT_CLEAR, False
    for wanted in (SUSPECTED, BETTER, HIGHER, LOWER):
        told = [fixed for fixed, one in said.items() if one == wanted]
        if told:
            verdict = wanted
            of = max(told, key=lambda fixed: abs(math.log(ratios[fixed].ratio)))
            break
    if confirmed:
        verdict = WORSE
    last = now.shifts[index, False]
    return replace(
        row,
        spread=math.expm1(now.pasts[index].spread),
        estimate=ratios[False],
        reference=ratios.get(True),
        verdict=verdict,
        small=not confirmed and verdict != NOT_CLEAR and small(ratios[of].ratio, matters),
        seen=math.expm1(last.seen(now.adjusted[index, False].level)),
    )


def _ratio(shift: Shift, adjusted: Adjusted) -> Ratio:
    low, high = adjusted.interval
    return Ratio(shift.centre, low, high, adjusted.level, shift.n, adjusted.p)
