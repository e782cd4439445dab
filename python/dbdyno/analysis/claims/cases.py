"""From the cells that a claim part names to what is judged: a contrast, one number a block, or the
reason why there is none.

`peak(m, f) <= 4` holds if the best level that the claim allows beats the best one that it rules out
(`contrast.Best`). So the noise of a flat top leaves it undecided instead of flipping it.

Counts of what must not happen have contrasts of their own (`counts`), and one trial with any is
enough for a verdict: only a quick run is not judged then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis import single_values
from dbdyno.analysis.claims import counts
from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.contrast import Best, Contrast, Median
from dbdyno.analysis.claims.counts import TrialShare
from dbdyno.analysis.claims.equivalence import Equivalence, Plain
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE
from dbdyno.analysis.estimates.events import Counted
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message, joined
from dbdyno.analysis.types import (
    AGREE,
    ANY,
    CONTRADICT,
    PEAK,
    PEAKS,
    RATIO,
    SHARE,
    UNDECIDED,
    VALUE,
    ClaimPart,
    Ratio,
)
from dbdyno.analysis.void_attempts import rates
from dbdyno.analysis.void_attempts.rates import FailureRates
from dbdyno.experiment.claims import grammar, metrics
from dbdyno.experiment.claims.grammar import CELL, ResolvedPart, Side
from dbdyno.experiment.values.bounds import NEITHER, together


@dataclass(frozen=True)
class Case:
    """A part on its way to a verdict: its contrast, or the reason why there is none."""

    part: ClaimPart
    contrast: Contrast | None
    cells: tuple[int, ...]
    note: str = ""
    sides: tuple[tuple[int, str], ...] = ()  # cells and metrics: of what is compared, or its number


def case_of(measured: Measured, part: ResolvedPart) -> Case:
    """The case of one comparison of a claim."""
    sides = [side for side in (part.left, part.right) if side is not None]
    if all(side.kind == CELL for side in sides):
        case = _ratio(measured, part) if part.right else _value(measured, part)
    elif part.right is None:
        case = _peak(measured, part)
    else:
        case = _peaks(measured, part)
    if measured.plan.quick:
        return _without(case, Message("quick_run"))
    if counts.is_certain(case.contrast):
        return case
    if case.contrast is not None and case.contrast.n < BLOCKS_MIN:
        return _figures(measured, case, _few(measured, case.contrast))
    failures = failures_of(measured, case)
    if case.contrast is not None and failures and failures.differ:
        return _without(case, Message("failures_differ", failures=failures.message()))
    if not measured.plan.paired and case.part.kind in (PEAK, PEAKS):
        return _figures(measured, case, Message("peaks_unpaired"))
    return case


def failures_of(measured: Measured, case: Case) -> FailureRates | None:
    """Failed attempts at the two cells of a ratio; None of other comparisons, or if none was."""
    left, right = case.part.left_cell, case.part.right_cell
    return None if left is None or right is None else rates.of(measured, left, right)


def _few(measured: Measured, contrast: Contrast) -> str:
    unit, a_cell = measured.plan.repeats, not measured.plan.paired
    return Message("too_few", n=contrast.n, unit=unit, a_cell=a_cell, least=BLOCKS_MIN)


def _figures(measured: Measured, case: Case, why: str) -> Case:
    """Not judged; of imported results, what the figures themselves say of the claim stays: more was
    not published."""
    contrast, part = case.contrast, case.part
    if measured.plan.imported is None or contrast is None or part.estimate is None:
        return _without(case, why)
    agrees = grammar.compare(contrast.centre, part.operator, part.threshold, part.margin)
    said = {"kind": part.kind, "centre": contrast.centre, "note": case.note, "agrees": agrees}
    told = _without(case, Message("figures", why=why, **said))
    return replace(told, part=replace(told.part, figures=AGREE if agrees else CONTRADICT))


def _ratio(measured: Measured, part: ResolvedPart) -> Case:
    left, right = part.left, part.right
    assert left.cell is not None
    assert right is not None
    assert right.cell is not None
    cells = (left.cell, right.cell)
    blank = _blank(part, RATIO, left.text, right.text, part.operator, part.threshold)
    blank = replace(blank, left_cell=left.cell, right_cell=right.cell, right_metric=right.metric)
    sides = (left.cell, left.metric), (right.cell, right.metric)
    compared = ratios.pairs(measured, *sides)
    case = Case(blank, None, cells, compared.note, sides)
    if compared.zero and _are_counts(part):
        return _share(case, part, compared)
    if compared.problem:
        return _inestimable(case, compared.problem)
    if not compared.blocks:
        return _nothing(case)
    return _open(case, _held(part, compared.contrast(part.threshold), compared.bound))


def _are_counts(part: ResolvedPart) -> bool:
    sides = [side.metric for side in (part.left, part.right) if side is not None]
    return part.operator != grammar.EQUAL and all(map(metrics.is_count, sides))


def _share(case: Case, part: ResolvedPart, compared: ratios.Pairs) -> Case:
    """Two counts with a zero among them: in how many trials the comparison holds."""
    hits = sum(
        grammar.compare(left, part.operator, part.threshold * right)
        for left, right in zip(compared.left, compared.right, strict=True)
    )
    asked = {"left": case.part.left, "right": case.part.right, "operator": part.operator}
    told = Message("trials_in_which", **asked, factor=part.threshold)
    found = TrialShare(hits, len(compared.left))
    blank = replace(
        case.part, kind=SHARE, left=told, right="", operator=">", threshold=found.threshold
    )
    return _open(replace(case, part=blank, sides=()), found)


def _value(measured: Measured, part: ResolvedPart) -> Case:
    cell, metric = part.left.cell, part.left.metric
    assert cell is not None
    blank = _blank(part, VALUE, part.left.text, "", part.operator, part.threshold)
    blank = replace(blank, left_cell=cell)
    blocks = measured.blocks((cell,))
    problem = ratios.disturbed(measured, (cell,), blocks)
    series = measured.series(cell, metric)
    thin, note = ratios.absent([metric], len(series), len(blocks))
    problem = problem or thin
    bound = measured.bound(cell, metric)
    case = Case(blank, None, (cell,), note, ((cell, metric),))
    if series and not bound and metrics.asks_any(metric, part.operator, part.threshold):
        found = counts.any_of(measured, cell, metric, part.operator, part.threshold)
        if counts.is_certain(found) or not problem:
            return _open(replace(case, part=replace(blank, kind=ANY), sides=()), found)
    if problem:
        return _inestimable(case, problem)
    if not series:
        return _nothing(case)
    if bound == NEITHER:
        return _inestimable(case, Message("only_bound", metric=metric, bound=bound))
    contrast = single_values.contrast(measured, cell, metric, part.threshold)
    return _open(case, _held(part, contrast, bound))


def _held(part: ResolvedPart, contrast: Plain, bound: str) -> Contrast:
    """The contrast as the claim asks for it and as its values allow."""
    known = Bounded(contrast, bound) if bound and not isinstance(contrast, Counted) else contrast
    return Equivalence(known, part.margin) if part.operator == grammar.EQUAL else known


def _peak(measured: Measured, part: ResolvedPart) -> Case:
    """`peak(m, f) <= 4`: the best level allowed against the best one ruled out."""
    points = part.left.points
    inside = [c for v, c in points if grammar.compare(v, part.operator, part.threshold)]
    outside = [cell for _, cell in points if cell not in inside]
    cells = (*inside, *outside)
    metric = part.left.metric
    levels = {"operator": part.operator, "threshold": part.threshold}
    allowed, others = Message("best_allowed", metric=metric, **levels), Message("best_other")
    blank = _blank(part, PEAK, allowed, others, ">", 1.0)
    if not inside or not outside:
        reason = Message("one_sided_levels", **levels, inside=bool(inside))
        return _without(Case(blank, None, cells), reason)
    blocks, series, problem, note = level_series(measured, metric, cells)
    zero = [cell for cell in cells for block in blocks if series[cell][block] <= 0]
    if zero and not problem:
        problem = Message("zero_at_levels", metric=metric, levels=len(set(zero)))
    seen = [_argmax(points, series, block) for block in blocks]
    case = Case(blank, None, cells, joined(Message("highest_at", levels=seen), note))
    if problem:
        return _inestimable(case, problem)
    if not blocks:
        return _nothing(case)
    logs = {cell: tuple(math.log(series[cell][block]) for block in blocks) for cell in cells}
    best = Best(tuple(logs[cell] for cell in inside), tuple(logs[cell] for cell in outside))
    return _open(case, best)


def _peaks(measured: Measured, part: ResolvedPart) -> Case:
    """A ratio with the level of a peak on a side: steps, so the median and its sign test."""
    assert part.right is not None
    blank = _blank(part, PEAKS, part.left.text, part.right.text, part.operator, part.threshold)
    cells = tuple(dict.fromkeys((*_cells(part.left), *_cells(part.right))))
    whole = set(measured.blocks(cells))
    problem, notes, values = "", [], []
    for side in (part.left, part.right):
        used, series, trouble, note = level_series(measured, side.metric, _cells(side))
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
        problem = Message("zero_side")
    case = Case(blank, None, cells, joined(*notes))
    if problem:
        return _inestimable(case, problem)
    quotients = tuple(left / right for left, right in pairs)
    return _open(case, Median(quotients, part.threshold)) if quotients else _nothing(case)


def level_series(
    measured: Measured, metric: str, cells: Sequence[int], *, one_sided: bool = False
) -> tuple[tuple[int, ...], dict[int, dict[int, float]], str, str]:
    """Blocks in which all of `cells` have the metric, the values, a problem, a note. Values known
    on one side only are a problem unless `one_sided` ones are wanted."""
    blocks = measured.blocks(cells)
    series = {cell: measured.series(cell, metric) for cell in cells}
    used = tuple(block for block in blocks if all(block in series[cell] for cell in cells))
    thin, note = ratios.absent([metric], len(used), len(blocks))
    found = together(measured.bound(cell, metric) for cell in cells)
    if found and not (one_sided and found != NEITHER):
        thin = thin or Message("bound_at_level", metric=metric, bound=found)
    return used, series, ratios.disturbed(measured, cells, blocks) or thin, note


def _argmax(
    points: Sequence[tuple[float, int]], series: dict[int, dict[int, float]], block: int
) -> float:
    return max(points, key=lambda point: series[point[1]][block])[0]


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
        margin=part.margin,
    )


def _open(case: Case, contrast: Contrast) -> Case:
    """Ready to be judged; the estimate so far has no interval."""
    bound = bound_of(contrast)
    centre = Ratio(contrast.centre, None, None, CONFIDENCE, contrast.n, None, bound)
    return replace(case, contrast=contrast, part=replace(case.part, estimate=centre))


def bound_of(contrast: Contrast) -> str:
    """AT_LEAST or AT_MOST of a contrast made of bounds, else empty."""
    known = contrast.inner if isinstance(contrast, Equivalence) else contrast
    return known.bound if isinstance(known, Bounded) else ""


def _nothing(case: Case) -> Case:
    return _without(case, case.note or Message("no_common_block"))


def _inestimable(case: Case, problem: str) -> Case:
    return _without(case, Message("not_estimable", problem=problem))


def _without(case: Case, why: str) -> Case:
    """Not judged; a point estimate, if there is one, stays to be shown."""
    return replace(case, contrast=None, part=replace(case.part, why=why))
