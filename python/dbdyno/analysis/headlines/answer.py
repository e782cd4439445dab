"""What the answer is made of: the comparison that the run leads with, what its winner loses in
another metric, whether it holds at the other levels, the claims' verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis import single_values
from dbdyno.analysis.estimates.estimate import mean
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ranking import ranking
from dbdyno.analysis.headlines.headline import headline_metric
from dbdyno.analysis.headlines.lead import Lead, elsewhere
from dbdyno.analysis.message import Message
from dbdyno.analysis.page.opposite import opposite
from dbdyno.analysis.page.ratios import PageRatios
from dbdyno.analysis.types import ClaimResult, Estimate, Ratio
from dbdyno.analysis.within_trial import overload
from dbdyno.experiment.values.bounds import NEITHER
from dbdyno.plan.types import Cell


@dataclass(frozen=True)
class Size:
    """A metric of one cell over that of another, with both means."""

    metric: str
    left: Cell
    right: Cell
    ratio: Ratio
    means: tuple[float, float]


@dataclass(frozen=True)
class Single:
    """A metric if there is nothing to compare: of the first cell that has it; None: of none."""

    metric: str
    estimate: Estimate | None = None
    levels: Mapping[str, str] | None = None


def answer(
    measured: Measured,
    lead: Lead | None,
    claims: Sequence[ClaimResult],
    ratios: PageRatios,
    metrics: Sequence[str],
) -> Message:
    """Two sentences: what the comparison that the run leads with came to, and whether that holds at
    the other levels (or the claims' verdicts). Between them what the winner loses in another of
    `metrics`; before them, which rates were not sustained."""
    verdicts = [claim.verdict for claim in claims]
    told = {"trials": sum(map(len, measured.cells.values())), "verdicts": verdicts, "lead": lead}
    if measured.plan.quick or not told["trials"]:
        size = _size(measured, lead.metric, lead.left, lead.right, lead.ratio) if lead else None
        return Message("answer_unjudged", **told, size=size)
    told["overload"] = overload.message(measured)
    if lead is None:
        return Message("answer_single", **told, single=_single(measured, claims))
    loss = opposite(measured, lead, metrics, ratios)
    return Message(
        "answer",
        **told,
        size=_size(measured, lead.metric, lead.left, lead.right, lead.ratio),
        loss=_size(measured, loss.metric, loss.winner, loss.loser, loss.ratio) if loss else None,
        ranking=ranking(measured, lead, ratios),
        span=[(at, ratio) for at, ratio in elsewhere(measured, lead, ratios) if at],
    )


def _size(measured: Measured, metric: str, left: Cell, right: Cell, ratio: Ratio) -> Size:
    one, other = (mean(metric, measured.series(at.index, metric).values()) for at in (left, right))
    return Size(metric, left, right, ratio, (one, other))


def _single(measured: Measured, claims: Sequence[ClaimResult]) -> Single:
    metric = headline_metric(measured, claims)
    for index in measured.cells:
        if measured.series(index, metric) and measured.bound(index, metric) != NEITHER:
            one = single_values.estimate(measured, index, metric)
            return Single(metric, one, measured.cell(index).levels)
    return Single(metric)
