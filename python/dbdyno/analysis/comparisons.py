"""The table of ratios: each level of each factor against the factor's first level.

At every combination of the other factors, paired within blocks. Intervals are at 95 % each, not
adjusted: the table describes, claims are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.measured import Measured
from dbdyno.analysis.ratios import pairs, plain_ratio
from dbdyno.analysis.types import Comparison
from dbdyno.plan.types import Cell, Factor, Plan

ROWS_MAX = 2000


def compare(measured: Measured, metrics: Sequence[str]) -> tuple[Comparison, ...]:
    """Rows by metric, factor, level, other levels; ratios that cannot be estimated are left out.

    At most `ROWS_MAX` rows.
    """
    rows = []
    for metric in metrics:
        for factor in measured.plan.factors:
            for level, cell, baseline, at in _neighbours(measured.plan, factor):
                compared = pairs(measured, (cell.index, metric), (baseline.index, metric))
                ratio = plain_ratio(compared)
                if ratio is None:
                    continue
                rows.append(Comparison(metric, factor.name, level, factor.levels[0], at, ratio))
                if len(rows) == ROWS_MAX:
                    return tuple(rows)
    return tuple(rows)


def _neighbours(plan: Plan, factor: Factor) -> Iterator[tuple[str, Cell, Cell, dict[str, str]]]:
    """Level, its cell, the baseline cell with the same other levels, those levels."""
    by_levels = {tuple(cell.levels.items()): cell for cell in plan.cells}
    for level in factor.levels[1:]:
        for cell in plan.cells:
            if cell.levels[factor.name] != level:
                continue
            key = {**cell.levels, factor.name: factor.levels[0]}
            baseline = by_levels.get(tuple(key.items()))
            if baseline is not None:
                at = {name: value for name, value in cell.levels.items() if name != factor.name}
                yield level, cell, baseline, at
