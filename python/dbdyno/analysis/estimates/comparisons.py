"""The table of ratios: each level of each factor against the factor's first level.

At every combination of the other factors, paired within blocks. What a claim is about has the
claim's interval; all others hold together with 95 % (`page.ratios`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.page.ratios import PageRatios
from dbdyno.analysis.types import Comparison
from dbdyno.plan.types import Plan

ROWS_MAX = 2000


def compare(plan: Plan, metrics: Sequence[str], ratios: PageRatios) -> tuple[Comparison, ...]:
    """Rows by metric, factor, level, other levels; ratios that cannot be estimated are omitted.

    At most `ROWS_MAX` rows.
    """
    rows = []
    for metric in metrics:
        for factor in plan.factors:
            for level, cell, baseline, at in plan.neighbours(factor):
                pair = (cell.index, metric), (baseline.index, metric)
                ratio = ratios.of(*pair)
                if ratio is None:
                    continue
                told = metric, factor.name, level, factor.levels[0], at
                rows.append(Comparison(*told, ratio, ratios.is_claimed(pair)))
                if len(rows) == ROWS_MAX:
                    return tuple(rows)
    return tuple(rows)
