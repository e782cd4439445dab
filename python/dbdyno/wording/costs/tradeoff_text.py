"""Which cells are not beaten on two metrics, in a sentence."""

from __future__ import annotations

from dbdyno.analysis.types import TradeOff
from dbdyno.experiment.claims.metrics import short
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers, plurals

_NAMED = 4  # cells that the sentence names


def tradeoff(plan: Plan, found: TradeOff) -> str:
    """ "2 of 6 cells are not shown to be beaten on throughput and p99: wal at 4 sessions, ..." """
    points = found.points
    front = [point for point in points if point.beaten_by is None]
    named = [level_text.levels(plan, plan.cells[point.cell].levels) for point in front[:_NAMED]]
    more = [f"{len(front) - _NAMED} more"] if len(front) > _NAMED else []
    which = numbers.listed([*named, *more])
    on = f"{short(found.metrics[0])} and {short(found.metrics[1])}"
    of = plurals.count(len(points), "cell")
    if len(points) < len(plan.cells):
        of = f"the {of} with both metrics"
    some = f"{len(front)} of {of}"
    if not found.judged:
        said = f"By the means alone (not judged: no intervals), none beats {some} on both {on}"
        return f"{said}: {which}."
    if len(front) == len(points):
        return f"No cell is shown to be beaten by another one on both {on}."
    are = "is" if len(front) == 1 else "are"
    return f"{some} {are} not shown to be beaten by another one on both {on}: {which}."
