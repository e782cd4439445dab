"""What the side that wins the lead loses elsewhere: "But its 95th percentile is 3.5 times ...".

A summary that reports the gain alone is believed until somebody meets the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead, clear
from dbdyno.analysis.page.ratios import PageRatios, alike
from dbdyno.analysis.page.same_ratio import turned
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.claims.metrics import HIGHER, NEITHER, info
from dbdyno.plan.types import Cell


@dataclass(frozen=True)
class Loss:
    """`winner` of the lead over its `loser` in a metric in which it is the worse one."""

    metric: str
    winner: Cell
    loser: Cell
    ratio: Ratio
    here: bool  # the lead's own two cells


def opposite(
    measured: Measured, lead: Lead, metrics: Sequence[str], ratios: PageRatios
) -> Loss | None:
    """The largest clear loss, by more than `matters`, in another metric: between the lead's two
    cells, else between two that differ alike. None if there is none, or nothing is won."""
    won = _better(lead.metric, lead.ratio)
    if won is None:
        return None
    found = []
    for _, left, right in alike(measured.plan, lead.left, lead.right):
        same = ratios.of((left.index, lead.metric), (right.index, lead.metric))
        if same is None or _better(lead.metric, same) is (not won):
            continue  # there it loses all the same
        for metric in metrics:
            ratio = ratios.of((left.index, metric), (right.index, metric))
            if metric == lead.metric or ratio is None or _better(metric, ratio) is not (not won):
                continue
            if abs(math.log(ratio.ratio)) > math.log1p(measured.plan.matters):
                sides = (left, right) if won else (right, left)
                here = left.index == lead.left.index
                found.append(Loss(metric, *sides, ratio if won else turned(ratio), here))
    return max(found, key=lambda loss: (loss.here, abs(math.log(loss.ratio.ratio))), default=None)


def _better(metric: str, ratio: Ratio) -> bool | None:
    """Whether the left side is clearly the better one; None if neither is."""
    direction = info(metric).direction
    if direction == NEITHER or not clear(ratio):
        return None
    return (ratio.ratio > 1) == (direction == HIGHER)
