"""Two versions that ran in the same blocks: is the new one better, worse, or as good?

One question a group and cell: new over base in what the group is about (its throughput, the
response time of an open loop, the highest rate of a search), held against the two ends of what
`matters`. That is the claim `new ~= base within MATTERS`, and it is judged as one, in the claims'
own error budget. All of the interval beyond an end: better or worse, by more than matters. All of
it between them: no difference that matters. Else undecided; a version that may be worse is not one
that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.claims.verdict_text import edges_of
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.headline import group_metric
from dbdyno.analysis.headlines.summary_text import metric_words
from dbdyno.analysis.types import (
    BETTER,
    REFUTED,
    SAME,
    SUPPORTED,
    UNDECIDED,
    WORSE,
    ClaimPart,
    Versions,
)
from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.grammar import CELL, EQUAL, ResolvedPart, Side
from dbdyno.plan import level_text
from dbdyno.plan.two_versions.differences import paired_cells
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers

_TAKEN = (WORSE, UNDECIDED, BETTER, SAME)  # the first of them that a part has is the whole's


def questions(plan: Plan) -> tuple[ResolvedPart, ...]:
    """What is judged of a plan with two versions: a comparison for each group of each pair of
    cells. None of another plan."""
    against = plan.against
    if against is None:
        return ()
    found = []
    for base, new in paired_cells(plan):
        at = {name: level for name, level in new.levels.items() if name != against.factor}
        for group in new.groups:
            metric = group_metric(plan, group.name)
            left, right = (
                Side(CELL, metric, f"{metrics.short(metric)}[{level}]", cell.index)
                for level, cell in ((against.new, new), (against.base, base))
            )
            found.append(ResolvedPart(at, left, right, EQUAL, 1.0, against.matters))
    return tuple(found)


def versions(measured: Measured, parts: Sequence[ClaimPart]) -> Versions | None:
    """What came of `questions`: `parts` are their verdicts. None of a plan without versions."""
    against = measured.plan.against
    if against is None:
        return None
    told = tuple(_told(part) for part in parts)
    verdict = next((one for one in _TAKEN if any(p.verdict == one for p in told)), UNDECIDED)
    return Versions(
        factor=against.factor,
        base=against.base,
        new=against.new,
        source=against.source,
        verdict=verdict,
        matters=against.matters,
        sentence=_sentence(measured.plan, told, verdict, against.matters),
        parts=told,
    )


def _told(part: ClaimPart) -> ClaimPart:
    """The part with its verdict in words of versions."""
    if part.verdict == SUPPORTED:
        return replace(part, verdict=SAME, why=f"all of the interval is {_equal(part.margin)}")
    if part.verdict == REFUTED:
        assert part.estimate is not None
        more = part.estimate.ratio > 1
        better = more != (metrics.info(part.metric).direction == metrics.LOWER)
        verdict = BETTER if better else WORSE
        side = "above" if more else "below"
        why = f"all of the interval is {side} what is {_equal(part.margin)}"
        return replace(part, verdict=verdict, why=why)
    return part


def _equal(margin: float) -> str:
    return f"within {numbers.percent(margin)} of equal" if margin else "equal"


def _sentence(plan: Plan, parts: Sequence[ClaimPart], verdict: str, matters: float) -> str:
    """One sentence for all comparisons: the verdict, and the comparison that shows it most."""
    chosen = [part for part in parts if part.verdict == verdict]
    known = [part for part in chosen if part.estimate is not None and part.estimate.ci_low]
    if not chosen:
        return "The new version was not compared: none of its cells has a counterpart that ran."
    if verdict == SAME:
        many = "" if len(parts) == 1 else f" in any of {len(parts)} comparisons"
        return f"The new version shows no difference that matters{many}: {_size(plan, chosen[0])}."
    of = "" if len(parts) == 1 else f" in {len(chosen)} of {len(parts)} comparisons"
    if verdict == UNDECIDED:
        if not known:
            return f"The new version was not judged{of}: {chosen[0].why}."
        widest = max(known, key=_width)
        return f"It is not known whether the new version is worse{of}: {_size(plan, widest)}."
    beyond = f" by more than {numbers.percent(matters)}" if matters else ""
    most = max(chosen, key=_effect)
    return f"The new version is {verdict}{beyond}{of}: {_size(plan, most)}."


def _size(plan: Plan, part: ClaimPart) -> str:
    """`throughput 0.91x (0.89-0.93) that of the base, at sync full`."""
    assert part.estimate is not None
    noun, _ = metric_words(part.metric, plan)
    one, edges = part.estimate, edges_of(part)
    at = f", at {level_text.levels(plan, part.at)}" if part.at else ""
    if part.verdict == UNDECIDED:  # what is not known is not told by its middle
        fits = numbers.interval(one.ci_low, one.ci_high, *edges)
        return f"{noun} may be {fits} times that of the base{at}"
    ends = numbers.interval(one.ci_low, one.ci_high, *edges)
    size = f"{numbers.ratio(one.ratio, *edges)}x ({ends})"
    return f"{noun} is {size} that of the base{at}"


def _width(part: ClaimPart) -> float:
    assert part.estimate is not None
    low, high = part.estimate.ci_low, part.estimate.ci_high
    return math.inf if not low or high is None else math.log(high / low)


def _effect(part: ClaimPart) -> float:
    ratio = part.estimate.ratio if part.estimate else 0.0
    return abs(math.log(ratio)) if ratio > 0 else math.inf
