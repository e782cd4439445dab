"""What a transaction costs: the price of a cell against the throughput that was measured.

cost of 1e9 transactions = price a month / 2,592,000 s / transactions a second * 1e9

A *month* is 2,592,000 s, as in published comparisons. Costs are metrics of each trial, so that
claims, intervals and charts treat them like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dbdyno.experiment.claims.metrics import COST
from dbdyno.experiment.types import Prices
from dbdyno.experiment.values.units import MONTH_S
from dbdyno.plan.types import Cell, Plan

WHAT = ("transactions", "operations")  # of which a billion is priced
BILLION = 1e9


def price_per_month(prices: Prices, levels: Mapping[str, str]) -> float:
    """Price of a cell a month: the base and what its levels add."""
    parts = [by_level[levels[name]] for name, by_level in prices.levels.items() if name in levels]
    return math.fsum([prices.base_per_month, *parts])


def metrics(plan: Plan, cell: Cell, measured: Mapping[str, float]) -> dict[str, float]:
    """The costs of a trial of `cell` with these metrics; empty without prices, and where nothing
    was committed: no amount of money buys a transaction there."""
    if plan.prices is None:
        return {}
    per_s = price_per_month(plan.prices, cell.levels) / MONTH_S
    found = {}
    for what in WHAT:
        rate = total_per_s(cell, measured, what)
        if rate > 0 and per_s > 0:
            found[f"{COST}{what}"] = per_s / rate * BILLION
    return found


def total_per_s(cell: Cell, measured: Mapping[str, float], what: str) -> float:
    """Throughput of all groups: the price buys all of it."""
    several = len(cell.groups) > 1
    names = [f"{group.name}.{what}_per_s" for group in cell.groups] if several else []
    return math.fsum(measured.get(name, 0.0) for name in names or [f"{what}_per_s"])
