"""Two versions that ran in the same blocks: is the new one better, worse, or as good?

One question a group and cell: new over base in what the group is about (its throughput, the
response time of an open loop, the highest rate of a search), compared with the two ends of what
`matters`. That is the claim `new ~= base within MATTERS`, and it is judged as one, in the claims'
own error budget. All of the interval beyond an end: better or worse, by more than matters. All of
it between them: no difference that matters. Else undecided; a version that may be worse is not one
that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.headline import group_metric
from dbdyno.analysis.message import Message
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
from dbdyno.experiment.claims import known_metrics, metrics
from dbdyno.experiment.claims.grammar import CELL, EQUAL, ResolvedPart, Side
from dbdyno.plan.two_versions.differences import paired_cells
from dbdyno.plan.types import Plan

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
    found = Versions(
        factor=against.factor,
        base=against.base,
        new=against.new,
        source=against.source,
        verdict=verdict,
        matters=against.matters,
        parts=told,
    )
    return replace(found, sentence=Message("versions", found=found))


def _told(part: ClaimPart) -> ClaimPart:
    """The part with its verdict in words of versions."""
    if part.verdict == SUPPORTED:
        return replace(part, verdict=SAME, why=Message("equal_to_base", margin=part.margin))
    if part.verdict == REFUTED:
        assert part.estimate is not None
        more = part.estimate.ratio > 1
        better = more != (metrics.info(part.metric).direction == known_metrics.LOWER)
        verdict = BETTER if better else WORSE
        why = Message("beyond_base", above=more, margin=part.margin)
        return replace(part, verdict=verdict, why=why)
    return part
