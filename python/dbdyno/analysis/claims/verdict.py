"""Claims to verdicts.

Each part of a claim becomes a contrast (one number a block); what is asked of one ratio is judged
together (`page.same_ratio`), all ratios of all claims share one error budget (`holm`), and a
verdict is read off the adjusted interval. Never judged: a quick run, fewer than 3 blocks, a zero or
an outage in a cell that is compared; counts of what must not happen are (`counts`).

`cases` finds the contrast of a part, `wording/verdicts/` says in words what came of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis import between_blocks
from dbdyno.analysis.between_blocks import Uneven
from dbdyno.analysis.claims import crosscheck, power
from dbdyno.analysis.claims.cases import Case, bound_of, failures_of
from dbdyno.analysis.claims.contrast import Contrast, Interval, Welch
from dbdyno.analysis.claims.counts import AnyCount, TrialShare, is_certain, is_safe
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.claims.holm import Adjusted, holm
from dbdyno.analysis.claims.interim_looks import case_maker, shown
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.events import Counted
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.analysis.page.same_ratio import grouped
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.types import (
    AGREE,
    CONTRADICT,
    NOT_TESTED,
    RATIO,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    Check,
    ClaimPart,
    ClaimResult,
    Ratio,
)
from dbdyno.analysis.void_attempts import readings
from dbdyno.analysis.void_attempts.readings import Both
from dbdyno.experiment.claims import grammar
from dbdyno.experiment.claims.grammar import MissingCell, ResolvedPart
from dbdyno.plan.claims import scope
from dbdyno.plan.types import Plan

UNBLOCKED = Message("unblocked")


def read(interval: Interval, operator: str, threshold: float, margin: float = 0.0) -> str:
    """The verdict that an interval gives: supported if all of it meets `operator threshold` (of
    `~=`: within `margin`), refuted if none of it does, else undecided. A missing bound is infinite.
    """
    low = -math.inf if interval[0] is None else interval[0]
    high = math.inf if interval[1] is None else interval[1]
    if operator == grammar.EQUAL:
        below, above = grammar.within(threshold, margin)
        if below <= low and high <= above:
            return SUPPORTED
        return REFUTED if high < below or above < low else UNDECIDED
    meets = [grammar.compare(bound, operator, threshold) for bound in (low, high)]
    if all(meets):
        return SUPPORTED
    return UNDECIDED if any(meets) else REFUTED


def judge(
    measured: Measured, further: Sequence[ResolvedPart] = ()
) -> tuple[tuple[ClaimResult, ...], tuple[ClaimPart, ...]]:
    """All claims of the plan, in its order, and `further` comparisons that share their error
    budget."""
    resolved, cases = _posed(measured, further)
    decided = dict(zip(map(id, cases), _decided(cases), strict=True))
    asked = [case for _, group, _ in resolved for case in group]
    uneven = _uneven(measured, [case for case in asked if decided[id(case)]])
    claims = tuple(
        _claim(measured, text, [(case, decided[id(case)]) for case in group], untested, uneven)
        for text, group, untested in resolved
    )
    rest = [(case, decided[id(case)]) for case in cases[len(asked) :]]
    return claims, tuple(_told(case, one, measured.plan) for case, one in rest)


def decide(measured: Measured, further: Sequence[ResolvedPart] = ()) -> tuple[ClaimPart, ...]:
    """The parts of all claims, then `further`, with estimates and verdicts as `judge` gives them,
    without texts: what a look needs."""
    _, cases = _posed(measured, further)
    return tuple(
        case.part if decided is None else decided.part
        for case, decided in zip(cases, _decided(cases), strict=True)
    )


def _posed(
    measured: Measured, further: Sequence[ResolvedPart]
) -> tuple[list[tuple[str, list[Case], str]], list[Case]]:
    """Each claim's text, cases, and why it is not tested; the cases of all, and of `further`."""
    plan, case_of = measured.plan, case_maker(measured)
    resolved: list[tuple[str, list[Case], str]] = []
    for text in plan.claims:
        if text in plan.untested:
            resolved.append((text, [], plan.untested[text]))
            continue
        try:
            parts = _resolve(measured, text)
        except MissingCell as error:
            resolved.append((text, [], _missing(measured, error)))
            continue
        resolved.append((text, [case_of(part) for part in parts], ""))
    cases = [case for _, group, _ in resolved for case in group]
    return resolved, [*cases, *(case_of(part) for part in further)]


def _resolve(measured: Measured, text: str) -> tuple[ResolvedPart, ...]:
    plan, names = measured.plan, scope(measured.plan)
    claim = grammar.parse(text)
    return grammar.resolve(claim, plan.factors, plan.cells, names)


def _missing(measured: Measured, error: MissingCell) -> str:
    skipped = [(one.what, one.why) for one in measured.plan.skipped]
    return Message("missing_cell", what=error.what, skipped=skipped)


@dataclass(frozen=True)
class _Judged:
    """What came of a case that has a contrast."""

    part: ClaimPart  # with estimate and verdict
    contrast: Contrast  # that the estimate is of; of two readings, the one further from a decision
    nominal: float  # level of its test
    alpha: float  # level of the family that its test got


def _decided(cases: Sequence[Case]) -> list[_Judged | None]:
    """What came of each case; None of those without a contrast."""
    safe = [case for case in cases if is_safe(case.part)]
    judged = _family(safe) | _family([case for case in cases if not is_safe(case.part)])
    return [judged.get(id(case)) for case in cases]


def _family(cases: Sequence[Case]) -> dict[int, _Judged]:
    """What came of cases that share an error budget, by their ids."""
    groups = grouped(cases, lambda case, found: _answer(case.part, found) != UNDECIDED)
    adjusted = holm(groups, lambda at, found: groups[at].all_decided(found))
    return {
        id(case): _part(case, group.of(case, found.interval), found)
        for group, found in zip(groups, adjusted, strict=True)
        for case in group.cases
    }


def _answer(part: ClaimPart, interval: Interval) -> str:
    return read(interval, part.operator, part.threshold, part.margin)


def _part(case: Case, interval: Interval, adjusted: Adjusted) -> _Judged:
    assert case.contrast is not None
    contrast, _ = shown(case.contrast, adjusted.level)
    estimate = Ratio(
        ratio=contrast.centre,
        ci_low=interval[0],
        ci_high=interval[1],
        level=adjusted.level,
        n=contrast.n,
        p=None if is_certain(contrast) else case.contrast.p,
        bound=bound_of(contrast),
    )
    answer = _answer(case.part, interval)
    part = replace(case.part, estimate=estimate, verdict=answer)
    tested = case.contrast.least_sure if isinstance(case.contrast, Both) else case.contrast
    return _Judged(part, *shown(tested, adjusted.level), adjusted.alpha)


def _uneven(measured: Measured, cases: Sequence[Case]) -> dict[Hashable, Uneven]:
    """Unusual blocks of the ratios that were judged."""
    sides = [case.sides for case in cases if case.part.kind == RATIO]
    return between_blocks.look({one: ratios.pairs(measured, *one) for one in sides})


def _told(case: Case, judged: _Judged | None, plan: Plan) -> ClaimPart:
    """A part with all texts on its verdict."""
    if judged is None:
        return case.part
    part, contrast, level = judged.part, judged.contrast, judged.nominal
    assert part.estimate is not None
    open_ = part.verdict == UNDECIDED
    # Readings that contradict each other: neither more blocks nor another method would help.
    torn = open_ and isinstance(case.contrast, Both) and case.contrast.torn(judged.alpha)
    checks = () if torn else _checks(judged, plan.seed)
    told = replace(
        part,
        small=part.verdict == SUPPORTED and _small(part, part.estimate.ratio, plan.matters),
        blocks_needed=power.blocks_needed(contrast, judged.alpha) if open_ and not torn else None,
        detectable=power.reach(contrast, level),
        checks=checks,
    )
    return replace(told, why=_why(told, case, contrast, level))


def _why(part: ClaimPart, case: Case, contrast: Contrast, nominal: float) -> Message:
    """What decided a part or kept it open."""
    if isinstance(contrast, AnyCount):
        confidence = 1 - nominal
        return Message(
            "any_seen",
            part=part,
            seen=contrast.seen,
            n=contrast.n,
            share=contrast.share_most(confidence),
            rate=contrast.rate_most(confidence),
            of=contrast.of,
            note=case.note,
        )
    if isinstance(contrast, TrialShare):
        return Message("trials_counted", part=part, hits=contrast.hits, note=case.note)
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    rare = None
    if isinstance(inner, SkewedMean) and inner.seen < 2 and part.verdict == UNDECIDED:
        assert part.estimate is not None
        rare = (inner.seen, inner.n, inner.share_most(part.estimate.level))
    return Message(
        "verdict",
        part=part,
        note=case.note,
        paired=not isinstance(inner, Welch),
        counted=isinstance(inner, Counted),
        rare=rare,
    )


def _checks(judged: _Judged, seed: int) -> tuple[Check, ...]:
    part = judged.part
    level, verdict = 1 - judged.nominal, part.verdict
    return crosscheck.checks(
        judged.contrast, level, verdict, lambda found: _answer(part, found), seed
    )


def _small(part: ClaimPart, centre: float, matters: float) -> bool:
    """Whether a supported claim asserts an effect (away from 1), and that effect is below
    `matters`. A claim that something is *no more than* a bit worse, or equal, asserts none."""
    if part.kind != RATIO or part.operator == grammar.EQUAL:
        return False
    if part.operator in (">", ">="):
        return part.threshold >= 1 and centre < 1 + matters
    return part.threshold <= 1 and centre > 1 / (1 + matters)


def _claim(
    measured: Measured,
    text: str,
    asked: Sequence[tuple[Case, _Judged | None]],
    untested: str,
    uneven: Mapping[Hashable, Uneven],
) -> ClaimResult:
    say = measured.plan.claim_words.get(text, "")
    if not asked:
        return ClaimResult(text, NOT_TESTED, (), untested, (), say=say)
    cases = [case for case, _ in asked]
    parts = [_told(case, judged, measured.plan) for case, judged in asked]
    cells = [cell for case in cases for cell in case.cells]
    verdict = combined([part.verdict for part in parts])
    blocks = between_blocks.of_claim(
        uneven, [_read_again(*one) for one in asked], verdict, combined
    )
    warnings = (*blocks, *_void(measured, cases), *measured.warnings(cells))
    if not measured.plan.paired and verdict in (SUPPORTED, REFUTED):
        warnings = (UNBLOCKED, *warnings)
    return ClaimResult(
        text,
        verdict,
        tuple(parts),
        Message("claim", parts=parts, verdict=verdict),
        warnings,
        _figures_of(parts, verdict),
        tuple(blocks),
        say,
    )


def _void(measured: Measured, cases: Sequence[Case]) -> tuple[str, ...]:
    """Messages on void attempts at the cells of a claim, by comparison."""
    failures = [found.message() for case in cases if (found := failures_of(measured, case))]
    both = [said for case in cases if (said := readings.message(measured, case.cells))]
    return tuple(dict.fromkeys((*failures, *both)))


def combined(verdicts: Sequence[str]) -> str:
    """A claim's verdict from those of its parts."""
    if REFUTED in verdicts:
        return REFUTED
    return SUPPORTED if all(one == SUPPORTED for one in verdicts) else UNDECIDED


def _read_again(case: Case, judged: _Judged | None) -> between_blocks.Judged | ClaimPart:
    """A part as the checks of its blocks need it. What is open with the values of void attempts or
    without them stays so."""
    if judged is None:
        return case.part
    stays = isinstance(case.contrast, Both) and judged.part.verdict == UNDECIDED
    read_part = (lambda _: UNDECIDED) if stays else functools.partial(_answer, case.part)
    return between_blocks.Judged(judged.part, case.sides, 1 - judged.nominal, read_part)


def _figures_of(parts: Sequence[ClaimPart], verdict: str) -> str:
    """What the figures of all parts say of a claim that stays open."""
    said = [part.figures for part in parts]
    if verdict != UNDECIDED:
        return ""
    if CONTRADICT in said:
        return CONTRADICT
    return AGREE if all(one == AGREE for one in said) else ""
