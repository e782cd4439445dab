"""Offers: combinations of the levels that have prices, set against each other.

Each has its best cell, the fastest of those that are fast enough (`prices.under`): of one price,
the fastest is the cheapest a transaction. Choosing it by its mean favours an offer with many cells
a little; where that matters, compare two cells by a claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.costs.cost import WHAT, price_per_month, total_per_s
from dbdyno.analysis.costs.tradeoffs.dominance import Beaten, beaten, known_axis, measured_axis
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ratios import pairs, plain_ratio
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import Costs, Offer, Ratio
from dbdyno.experiment.claims.metrics import COST
from dbdyno.experiment.claims.parser import parse_bare_condition
from dbdyno.plan.types import Cell, Plan


def costs(measured: Measured) -> Costs | None:
    """The offers of a run with prices, cheapest first; None where nothing can be priced."""
    prices = measured.plan.prices
    if prices is None:
        return None
    what = next((w for w in WHAT if _is_measured(measured, f"{COST}{w}")), None)
    if what is None:
        return None
    metric = f"{COST}{what}"
    candidates = [
        _Candidate.of(measured, key, cells, what) for key, cells in _offers(measured.plan).items()
    ]
    candidates.sort(key=lambda one: (one.best is None, one.cost, one.price))
    first = candidates[0]
    dominated = _dominated(measured, candidates, metric)
    offers = tuple(
        _offer(measured, one, first, candidates, metric, dominated) for one in candidates
    )
    found = Costs(prices.currency, what, prices.under, offers)
    return replace(found, sentence=Message("costs", found=found))


@dataclass(frozen=True)
class _Candidate:
    """An offer on its way: its best cell, if any of its cells is fast enough."""

    levels: Mapping[str, str]
    price: float
    best: Cell | None
    cost: float
    per_s: float

    @classmethod
    def of(
        cls, measured: Measured, key: tuple[tuple[str, str], ...], cells: Sequence[Cell], what: str
    ) -> _Candidate:
        prices = measured.plan.prices
        assert prices is not None
        price = price_per_month(prices, dict(key))
        fast = {
            cell.index: cell
            for cell in cells
            if measured.series(cell.index, f"{COST}{what}")
            and all(_holds(measured, cell, condition) for condition in prices.under)
        }
        if not fast:
            return cls(dict(key), price, None, math.inf, 0.0)
        cost = {index: _mean(measured.series(index, f"{COST}{what}")) for index in fast}
        index = min(cost, key=cost.__getitem__)  # one price: the cheapest is the fastest
        best = fast[index]
        rates = [
            total_per_s(best, one.metrics, what) for one in measured.cells[best.index].values()
        ]
        return cls(dict(key), price, best, cost[index], math.fsum(rates) / len(rates))


def _offers(plan: Plan) -> dict[tuple[tuple[str, str], ...], list[Cell]]:
    """Cells by their levels of the factors that have prices."""
    assert plan.prices is not None
    found: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
    for cell in plan.cells:
        key = tuple((n, level) for n, level in cell.levels.items() if n in plan.prices.levels)
        found.setdefault(key, []).append(cell)
    return found


def _offer(
    measured: Measured,
    one: _Candidate,
    first: _Candidate,
    all_: Sequence[_Candidate],
    metric: str,
    dominated: Mapping[int, Beaten],
) -> Offer:
    if one.best is None:
        return Offer(one.levels, one.price, None, None, None, None, {}, judged=False)
    ratio = _against(measured, one, first, metric) if one is not first else None
    by = dominated.get(one.best.index)
    rivals = [other for other in all_ if by and other.best and other.best.index in by.by]
    return Offer(
        levels=one.levels,
        price_per_month=one.price,
        cell=one.best.index,
        per_s=one.per_s,
        cost=one.cost,
        ratio=ratio,
        dominated_by=rivals[0].levels if rivals else {},
        judged=by is not None and by.judged,
    )


def _dominated(
    measured: Measured, candidates: Sequence[_Candidate], metric: str
) -> dict[int, Beaten]:
    """Best cells of offers that another one beats: it costs no more and is faster."""
    prices = {one.best.index: one.price for one in candidates if one.best}
    # As cost = price / throughput: they are equally fast where costs are as the prices.
    faster = measured_axis(measured, metric, lambda one, other: prices[one] / prices[other])
    return beaten(list(prices), [known_axis(prices.__getitem__), faster])


def _against(measured: Measured, one: _Candidate, other: _Candidate, metric: str) -> Ratio | None:
    """Cost of `one` over cost of `other`, paired within blocks."""
    assert one.best is not None
    assert other.best is not None
    return plain_ratio(pairs(measured, (one.best.index, metric), (other.best.index, metric)))


def _holds(measured: Measured, cell: Cell, condition: str) -> bool:
    """Whether the mean over blocks meets a condition; what was not measured does not."""
    parsed = parse_bare_condition(condition)
    series = measured.series(cell.index, parsed.metric)
    return bool(series) and parsed.holds(_mean(series))


def _mean(series: Mapping[int, float]) -> float:
    return math.fsum(series.values()) / len(series)


def _is_measured(measured: Measured, metric: str) -> bool:
    return any(measured.series(cell, metric) for cell in measured.cells)
