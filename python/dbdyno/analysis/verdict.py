"""Claims to verdicts.

Each part of a claim becomes a contrast (one number a block); all contrasts of all claims share one
error budget (`holm`); a verdict is read off the adjusted interval. Never judged: a quick run, fewer
than 3 blocks, a zero or an outage in a cell that is compared.

`peak(m, f) <= 4` holds if the best level that the claim allows beats the best one that it rules out
(`contrast.Best`). So the noise of a flat top leaves it undecided instead of flipping it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis import describe, power, ratios
from dbdyno.analysis.contrast import (
    Best,
    Bounded,
    Contrast,
    Interval,
    LogRatio,
    Mean,
    Median,
    Welch,
)
from dbdyno.analysis.estimate import BLOCKS_MIN, CONFIDENCE
from dbdyno.analysis.holm import Adjusted, holm
from dbdyno.analysis.measured import Measured
from dbdyno.analysis.types import (
    AGREE,
    AT_LEAST,
    CONTRADICT,
    NOT_TESTED,
    PEAK,
    PEAKS,
    RATIO,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    ClaimPart,
    ClaimResult,
    Ratio,
)
from dbdyno.plan.claims import scope
from dbdyno.spec import claims as grammar
from dbdyno.spec.claims import CELL, MissingCell, ResolvedPart, Side

UNBLOCKED = (
    "unblocked: nothing says that these runs were passes over all cells, so what changed between"
    " the runs of one cell and those of another is in the difference"
)
NO_PEAKS = "where it peaks is not judged of runs that are not passes over all levels"
QUICK = "a quick run is a smoke test and is never judged"


@dataclass(frozen=True)
class _Case:
    """A part on its way to a verdict: its contrast, or the reason why there is none."""

    part: ClaimPart
    contrast: Contrast | None
    cells: tuple[int, ...]
    note: str = ""


def read(interval: Interval, operator: str, threshold: float) -> str:
    """The verdict that an interval gives: supported if all of it meets `operator threshold`,
    refuted if none of it does, else undecided. A missing bound is infinite."""
    low = -math.inf if interval[0] is None else interval[0]
    high = math.inf if interval[1] is None else interval[1]
    meets = [grammar.compare(bound, operator, threshold) for bound in (low, high)]
    if all(meets):
        return SUPPORTED
    return UNDECIDED if any(meets) else REFUTED


def judge(measured: Measured) -> tuple[ClaimResult, ...]:
    """All claims of the plan, in its order."""
    plan = measured.plan
    resolved: list[tuple[str, list[_Case], str]] = []  # text, cases, why not tested
    for text in plan.claims:
        if text in plan.untested:
            resolved.append((text, [], plan.untested[text]))
            continue
        try:
            parts = _resolve(measured, text)
        except MissingCell as error:
            resolved.append((text, [], _missing(measured, error)))
            continue
        resolved.append((text, [_case(measured, part) for part in parts], ""))
    cases = [case for _, group, _ in resolved for case in group]
    judged = iter(_verdicts(cases, plan.matters))
    return tuple(
        _claim(measured, text, [next(judged) for _ in group], group, untested)
        for text, group, untested in resolved
    )


def _resolve(measured: Measured, text: str) -> tuple[ResolvedPart, ...]:
    plan, names = measured.plan, scope(measured.plan)
    claim = grammar.parse(text)
    return grammar.resolve(claim, plan.factors, plan.cells, names)


def _missing(measured: Measured, error: MissingCell) -> str:
    reasons = [f"{skipped.what}: {skipped.why}" for skipped in measured.plan.skipped]
    return "; ".join([error.what, *reasons])


# -- one part: from cells to a contrast ----------------------------------------------------------


def _case(measured: Measured, part: ResolvedPart) -> _Case:
    sides = [side for side in (part.left, part.right) if side is not None]
    if all(side.kind == CELL for side in sides):
        case = _ratio(measured, part) if part.right else _value(measured, part)
    elif part.right is None:
        case = _peak(measured, part)
    else:
        case = _peaks(measured, part)
    if measured.plan.quick:
        return _without(case, QUICK)
    if case.contrast is not None and case.contrast.n < BLOCKS_MIN:
        return _figures(measured, case, _few(measured, case.contrast))
    if not measured.plan.paired and case.part.kind in (PEAK, PEAKS):
        return _figures(measured, case, NO_PEAKS)
    return case


def _few(measured: Measured, contrast: Contrast) -> str:
    counted = describe.counted(contrast.n, measured.plan.repeats)
    cell = "" if measured.plan.paired else " a cell"
    is_ = "is" if contrast.n == 1 else "are"
    return f"{counted}{cell} {is_} too few to judge ({BLOCKS_MIN} at least)"


def _figures(measured: Measured, case: _Case, why: str) -> _Case:
    """Not judged; of imported results, what the figures themselves say of the claim stays: whoever
    published them had no more."""
    contrast, part = case.contrast, case.part
    if measured.plan.imported is None or contrast is None or part.estimate is None:
        return _without(case, why)
    agrees = grammar.compare(contrast.centre, part.operator, part.threshold)
    if part.kind == PEAK:
        said = f"are {case.note.partition('; ')[0]}"
    else:
        times = "x" if part.kind == RATIO else ""
        said = f"say {describe.number(contrast.centre)}{times}"
    verb = "agrees with" if agrees else "contradicts"
    told = _without(case, f"{why}; the figures themselves {said}, which {verb} it")
    return replace(told, part=replace(told.part, figures=AGREE if agrees else CONTRADICT))


def _ratio(measured: Measured, part: ResolvedPart) -> _Case:
    left, right = part.left, part.right
    assert left.cell is not None
    assert right is not None
    assert right.cell is not None
    cells = (left.cell, right.cell)
    blank = _blank(part, RATIO, left.text, right.text, part.operator, part.threshold)
    blank = replace(blank, left_cell=left.cell, right_cell=right.cell)
    compared = ratios.pairs(measured, (left.cell, left.metric), (right.cell, right.metric))
    case = _Case(blank, None, cells, compared.note)
    if compared.problem:
        return _without(case, f"not estimable: {compared.problem}")
    if not compared.blocks:
        return _nothing(case)
    return _open(case, _bounded(compared.contrast(part.threshold), compared.bound))


def _value(measured: Measured, part: ResolvedPart) -> _Case:
    cell, metric = part.left.cell, part.left.metric
    assert cell is not None
    blank = _blank(part, VALUE, part.left.text, "", part.operator, part.threshold)
    blank = replace(blank, left_cell=cell)
    blocks = measured.blocks((cell,))
    problem = ratios.disturbed(measured, (cell,), blocks)
    series = measured.series(cell, metric)
    thin, note = ratios.absent([metric], len(series), len(blocks))
    problem = problem or thin
    case = _Case(blank, None, (cell,), note)
    if problem:
        return _without(case, f"not estimable: {problem}")
    if not series:
        return _nothing(case)
    bound = AT_LEAST if measured.bounded(cell, metric) else ""
    return _open(case, _bounded(Mean(tuple(series.values()), part.threshold), bound))


def _bounded(contrast: LogRatio | Welch | Mean, bound: str) -> Contrast:
    return Bounded(contrast, bound) if bound else contrast


def _peak(measured: Measured, part: ResolvedPart) -> _Case:
    """`peak(m, f) <= 4`: the best level allowed against the best one ruled out."""
    points = part.left.points
    inside = [c for v, c in points if grammar.compare(v, part.operator, part.threshold)]
    outside = [cell for _, cell in points if cell not in inside]
    cells = (*inside, *outside)
    metric, levels = part.left.metric, f"{part.operator} {part.threshold:g}"
    texts = (f"best {metric} at levels {levels}", "best at the other levels")
    blank = _blank(part, PEAK, *texts, ">", 1.0)
    if not inside or not outside:
        which = "only" if inside else "no"
        reason = f"{which} levels {levels} were tested, so there is nothing to compare"
        return _without(_Case(blank, None, cells), reason)
    blocks, series, problem, note = _levels(measured, metric, cells)
    zero = [cell for cell in cells for block in blocks if series[cell][block] <= 0]
    if zero and not problem:
        problem = f"{metric} is zero in some block of {describe.counted(len(set(zero)), 'level')}"
    seen = [_argmax(points, series, block) for block in blocks]
    case = _Case(blank, None, cells, "; ".join(filter(None, [_seen(seen), note])))
    if problem:
        return _without(case, f"not estimable: {problem}")
    if not blocks:
        return _nothing(case)
    logs = {cell: tuple(math.log(series[cell][block]) for block in blocks) for cell in cells}
    best = Best(tuple(logs[cell] for cell in inside), tuple(logs[cell] for cell in outside))
    return _open(case, best)


def _peaks(measured: Measured, part: ResolvedPart) -> _Case:
    """A ratio with the level of a peak on a side: steps, so the median and its sign test."""
    assert part.right is not None
    blank = _blank(part, PEAKS, part.left.text, part.right.text, part.operator, part.threshold)
    cells = tuple(dict.fromkeys((*_cells(part.left), *_cells(part.right))))
    whole = set(measured.blocks(cells))
    problem, notes, values = "", [], []
    for side in (part.left, part.right):
        used, series, trouble, note = _levels(measured, side.metric, _cells(side))
        whole &= set(used)
        problem = problem or trouble
        notes.append(note)
        values.append(
            {
                block: _argmax(side.points, series, block)
                if side.points
                else series[_cells(side)[0]][block]
                for block in used
            }
        )
    pairs = [(values[0][block], values[1][block]) for block in sorted(whole)]
    if not problem and any(value <= 0 for pair in pairs for value in pair):
        problem = "one side is zero in a block"
    case = _Case(blank, None, cells, "; ".join(filter(None, notes)))
    if problem:
        return _without(case, f"not estimable: {problem}")
    quotients = tuple(left / right for left, right in pairs)
    return _open(case, Median(quotients, part.threshold)) if quotients else _nothing(case)


def _levels(
    measured: Measured, metric: str, cells: Sequence[int]
) -> tuple[tuple[int, ...], dict[int, dict[int, float]], str, str]:
    """Blocks in which all of `cells` have the metric, the values, a problem, a note."""
    blocks = measured.blocks(cells)
    series = {cell: measured.series(cell, metric) for cell in cells}
    used = tuple(block for block in blocks if all(block in series[cell] for cell in cells))
    thin, note = ratios.absent([metric], len(used), len(blocks))
    if any(measured.bounded(cell, metric) for cell in cells):
        thin = thin or f"{metric} is only a lower bound at some level"
    return used, series, ratios.disturbed(measured, cells, blocks) or thin, note


def _argmax(
    points: Sequence[tuple[float, int]], series: dict[int, dict[int, float]], block: int
) -> float:
    return max(points, key=lambda point: series[point[1]][block])[0]


def _seen(levels: Sequence[float]) -> str:
    """Where the peak was, over blocks."""
    if len(levels) == 1:
        return f"highest at {levels[0]:g}"
    found = [f"{value:g} in {levels.count(value)}" for value in sorted(set(levels))]
    return f"highest at {describe.listed(found)} of {describe.counted(len(levels), 'block')}"


def _cells(side: Side) -> tuple[int, ...]:
    return (side.cell,) if side.cell is not None else tuple(cell for _, cell in side.points)


def _blank(
    part: ResolvedPart, kind: str, left: str, right: str, operator: str, threshold: float
) -> ClaimPart:
    return ClaimPart(
        at=dict(part.at),
        left=left,
        right=right,
        operator=operator,
        threshold=threshold,
        estimate=None,
        verdict=UNDECIDED,
        small=False,
        blocks_needed=None,
        why="",
        kind=kind,
        metric=part.left.metric,
    )


def _open(case: _Case, contrast: Contrast) -> _Case:
    """Ready to be judged; the estimate so far has no interval."""
    bound = _bound_of(contrast)
    centre = Ratio(contrast.centre, None, None, CONFIDENCE, contrast.n, None, bound)
    return replace(case, contrast=contrast, part=replace(case.part, estimate=centre))


def _bound_of(contrast: Contrast) -> str:
    return contrast.bound if isinstance(contrast, Bounded) else ""


def _nothing(case: _Case) -> _Case:
    return _without(case, case.note or "no block has both sides of the comparison")


def _without(case: _Case, why: str) -> _Case:
    """Not judged; a point estimate, where there is one, stays to be shown."""
    return replace(case, contrast=None, part=replace(case.part, why=why))


# -- all parts: one error budget -----------------------------------------------------------------


def _verdicts(cases: Sequence[_Case], matters: float) -> list[ClaimPart]:
    open_cases = [case for case in cases if case.contrast is not None]
    contrasts = [case.contrast for case in open_cases if case.contrast is not None]

    def decides(index: int, interval: Interval) -> bool:
        part = open_cases[index].part
        return read(interval, part.operator, part.threshold) != UNDECIDED

    adjusted = iter(holm(contrasts, decides))
    return [
        case.part
        if case.contrast is None
        else _judged(case, case.contrast, next(adjusted), matters)
        for case in cases
    ]


def _judged(case: _Case, contrast: Contrast, adjusted: Adjusted, matters: float) -> ClaimPart:
    part = case.part
    estimate = Ratio(
        ratio=contrast.centre,
        ci_low=adjusted.interval[0],
        ci_high=adjusted.interval[1],
        level=adjusted.level,
        n=contrast.n,
        p=adjusted.p,
        bound=_bound_of(contrast),
    )
    verdict = read(adjusted.interval, part.operator, part.threshold)
    needed = None
    if verdict == UNDECIDED:
        needed = power.blocks_needed(contrast, 1 - adjusted.level)
    small = verdict == SUPPORTED and _small(part, contrast.centre, matters)
    part = replace(part, estimate=estimate, verdict=verdict, small=small, blocks_needed=needed)
    return replace(part, why=_why(part, case, contrast))


def _small(part: ClaimPart, centre: float, matters: float) -> bool:
    """Whether a supported claim asserts an effect (away from 1), and that effect is below
    `matters`. A claim that something is *no more than* a bit worse asserts none."""
    if part.kind != RATIO:
        return False
    if part.operator in (">", ">="):
        return part.threshold >= 1 and centre < 1 + matters
    return part.threshold <= 1 and centre > 1 / (1 + matters)


def _why(part: ClaimPart, case: _Case, contrast: Contrast) -> str:
    """What decided a part or kept it open, with its numbers."""
    shown, against = _shown(part), f"{part.operator} {part.threshold:g}"
    if part.kind == PEAK:
        shown, against = f"the best of the levels claimed is {shown} the best of the others", "1x"
    words = {SUPPORTED: "the whole interval meets", REFUTED: "no value in the interval meets"}
    if part.kind == PEAK:
        words = {SUPPORTED: "the whole interval is above", REFUTED: "the whole interval is below"}
    if part.verdict != UNDECIDED:
        text = f"{shown}: {words[part.verdict]} {against}"
        if part.small:
            text += "; real but too small to matter"
        return "; ".join(filter(None, [text, case.note]))
    more = "" if isinstance(contrast, Welch) else _more(part)
    said = [_unknown(part), more, _reach(part, contrast), case.note]
    return "; ".join(filter(None, said))


def _unknown(part: ClaimPart) -> str:
    """What fits the measurements of an undecided part, beside what the claim asks for."""
    estimate = part.estimate
    assert estimate is not None
    low, high, asked = estimate.ci_low, estimate.ci_high, f"{part.operator} {part.threshold:g}"
    if low is None or high is None:
        shown = _shown(part)
        return f"not known: it is {shown}, and the claim asks for {asked}"
    if part.kind == PEAK:
        ends = f"{describe.bound(low)}x to {describe.bound(high)}x"
        return f"not known: the best of the levels claimed may be {ends} the best of the others"
    if part.kind == RATIO:
        fits = f"any ratio from {describe.bound(low)}x to {describe.bound(high)}x"
    else:
        fits = f"any value from {describe.number(low)} to {describe.number(high)}"
    return f"not known: {fits} fits what was measured, and the claim asks for {asked}"


def _more(part: ClaimPart) -> str:
    """What it would probably take to decide an undecided part."""
    if part.estimate and part.estimate.bound:
        return (
            "some arrivals had no answer by the end, so this is a bound only: a lower rate or a"
            " longer `drain` would give a value"
        )
    if part.blocks_needed is None:
        return "" if part.kind == PEAKS else "more blocks would probably not decide it"
    assert part.estimate is not None
    blocks = describe.counted(part.blocks_needed, "more block")
    if part.blocks_needed > 10 * part.estimate.n:
        return (
            f"it would take about {blocks} like these: longer trials on a quieter machine are the"
            " better way"
        )
    return f"about {blocks} would probably decide it"


def _reach(part: ClaimPart, contrast: Contrast) -> str:
    """The smallest effect that the run had a good chance (80 %) to show."""
    if not isinstance(contrast, LogRatio) or contrast.threshold <= 0:
        return ""
    assert part.estimate is not None
    seen = power.detectable(contrast.logs, 1 - part.estimate.level)
    if seen > math.log(1000):
        return f"with this much noise {contrast.n} blocks show next to nothing"
    ends = [describe.bound(contrast.threshold * math.exp(side)) for side in (seen, -seen)]
    return (
        f"with this much noise {contrast.n} blocks can show only ratios above {ends[0]}x or below"
        f" {ends[1]}x"
    )


def _end(value: float, times: bool) -> str:
    return f"{describe.ratio(value)}x" if times else describe.number(value)


def _shown(part: ClaimPart) -> str:
    """An estimate with its interval: `2.92x (2.85-2.99)`, `0.33 (0.25 to 0.41)`."""
    estimate = part.estimate
    assert estimate is not None
    low, high = estimate.ci_low, estimate.ci_high
    times = part.kind in (RATIO, PEAK)
    centre = f"{describe.ratio(estimate.ratio)}x" if times else describe.number(estimate.ratio)
    if estimate.bound:
        end = low if estimate.bound == AT_LEAST else high
        sure = (
            ""
            if end is None
            else f" ({estimate.level:.1%} sure of {estimate.bound} {_end(end, times)})"
        )
        return f"{estimate.bound} {centre}{sure}"
    if low is None or high is None:
        return f"{centre} (no interval at {estimate.level:.1%} from {estimate.n} blocks)"
    if times:
        return f"{centre} ({describe.interval(low, high)})"
    return f"{centre} ({describe.number(low)} to {describe.number(high)})"


# -- a claim from its parts ----------------------------------------------------------------------


def _claim(
    measured: Measured,
    text: str,
    parts: Sequence[ClaimPart],
    cases: Sequence[_Case],
    untested: str,
) -> ClaimResult:
    if not cases:
        return ClaimResult(text, NOT_TESTED, (), untested, ())
    cells = [cell for case in cases for cell in case.cells]
    verdicts = [part.verdict for part in parts]
    if REFUTED in verdicts:
        verdict = REFUTED
    elif all(one == SUPPORTED for one in verdicts):
        verdict = SUPPORTED
    else:
        verdict = UNDECIDED
    why = _summary(measured, parts, verdict)
    warnings = measured.warnings(cells)
    if not measured.plan.paired and verdict in (SUPPORTED, REFUTED):
        warnings = (UNBLOCKED, *warnings)
    return ClaimResult(text, verdict, tuple(parts), why, warnings, _figures_of(parts, verdict))


def _figures_of(parts: Sequence[ClaimPart], verdict: str) -> str:
    """What the figures of all parts say of a claim that stays open."""
    said = [part.figures for part in parts]
    if verdict != UNDECIDED:
        return ""
    if CONTRADICT in said:
        return CONTRADICT
    return AGREE if all(one == AGREE for one in said) else ""


def _published(measured: Measured, parts: Sequence[ClaimPart]) -> str:
    """How figures that are too few to judge stand to a claim of several parts."""
    against = [part for part in parts if part.figures == CONTRADICT]
    few = parts[0].why.partition("; ")[0]
    if not against:
        return f"{few}; the figures themselves agree with it in all {len(parts)} comparisons"
    at = describe.levels(measured.plan, against[0].at)
    said = against[0].why.partition("; ")[2].removeprefix("the figures themselves ")
    said = said.partition(", which ")[0]
    more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return (
        f"{few}; the figures themselves contradict it in {len(against)} of {len(parts)}"
        f" comparisons: at {at} they {said}{more}"
    )


def _summary(measured: Measured, parts: Sequence[ClaimPart], verdict: str) -> str:
    """One sentence for the claim: its only part's, or how its parts stand and the first that
    decided."""
    if len(parts) == 1:
        return parts[0].why
    if len({part.why for part in parts}) == 1:
        return parts[0].why
    if verdict == UNDECIDED and all(part.figures for part in parts):
        return _published(measured, parts)
    which = [part for part in parts if part.verdict == verdict]
    if verdict == UNDECIDED:  # the one that is nearest to an answer
        which.sort(key=lambda part: (part.blocks_needed is None, part.blocks_needed or 0))
    at = describe.levels(measured.plan, which[0].at)
    if verdict == SUPPORTED:
        small = sum(part.small for part in parts)
        extra = f"; {small} of them real but too small to matter" if small else ""
        every = "both" if len(parts) == 2 else f"all {len(parts)}"
        return f"{every} comparisons support it{extra}"
    if verdict == REFUTED:
        refute = "refutes" if len(which) == 1 else "refute"
        return f"{len(which)} of {len(parts)} comparisons {refute} it; at {at}: {which[0].why}"
    known = len(parts) - len(which)
    how = f"{known} of {len(parts)} comparisons {'is' if known == 1 else 'are'} decided"
    if not known:
        none = "neither" if len(parts) == 2 else "none"
        how = f"{none} of the {len(parts)} comparisons is decided"
    stuck = [part for part in which if part.estimate is None]
    if stuck:  # whatever the others come to, this one keeps the claim open
        at = describe.levels(measured.plan, stuck[0].at)
        return f"{how}; at {at}, {stuck[0].why}"
    why = which[0].why
    if why.startswith("not known: "):  # its interval stands beside it, with those of the others
        why = why.partition("; ")[2] or why
    return f"{how}; nearest to an answer, at {at}: {why}"
