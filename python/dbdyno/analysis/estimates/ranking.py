"""The order of three or more levels that have no order of their own: engines, modes, methods.

One list for the combination of other levels that the answer leads with, and what becomes of it at
the others. Each has its ratio to the one before it, with its interval: a list alone would make a
ranking out of noise. All pairs of levels are among the page's ratios, so that the order may choose
the neighbours.
"""

from __future__ import annotations

from dbdyno.analysis.estimates.estimate import mean
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead
from dbdyno.analysis.message import Message
from dbdyno.analysis.page.ratios import PageRatios
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.claims import metrics as names
from dbdyno.plan.types import Cell, Factor, Plan

RANKED_MIN = 3  # levels; two are a ratio, which the first sentence gives
LISTS_MAX = 2  # combinations whose order is spelt out


def ranking(measured: Measured, lead: Lead, ratios: PageRatios) -> str:
    """The order, or empty where the lead compares no levels to be ranked."""
    differ = list(lead.left_levels)
    factor = ranked(measured.plan, differ[0]) if len(differ) == 1 else None
    direction = names.info(lead.metric).direction
    if factor is None or direction == names.NEITHER:
        return ""
    tables = _tables(measured, lead, factor, best_high=direction == names.HIGHER)
    own = tuple(lead.common.items())
    if own not in tables:
        return ""
    order = [own, *(key for key in tables if key != own)]
    lists = [
        (dict(key), _listed(lead.metric, factor, tables[key], ratios)) for key in order[:LISTS_MAX]
    ]
    first = tables[order[0]][0][1].levels[factor.name]
    rest = [tables[key][0][1].levels[factor.name] == first for key in order[LISTS_MAX:]]
    return Message("ranking", lists=lists, first=first, same=sum(rest), others=len(rest))


def ranked(plan: Plan, name: str) -> Factor | None:
    """The factor of that name, if its levels are many and have no order of their own."""
    factor = next(one for one in plan.factors if one.name == name)
    return factor if factor.values is None and len(factor.levels) >= RANKED_MIN else None


Row = tuple[float, Cell]  # mean over blocks, of this cell


def _tables(
    measured: Measured, lead: Lead, factor: Factor, *, best_high: bool
) -> dict[tuple[tuple[str, str], ...], list[Row]]:
    """Cells by the levels of the other factors, best first; combinations with fewer than
    `RANKED_MIN` measured cells are omitted."""
    found: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for cell in measured.plan.cells:
        values = measured.series(cell.index, lead.metric)
        if values:
            key = tuple((n, v) for n, v in cell.levels.items() if n != factor.name)
            found.setdefault(key, []).append((mean(lead.metric, values.values()), cell))
    return {
        key: sorted(rows, key=lambda row: -row[0] if best_high else row[0])
        for key, rows in found.items()
        if len(rows) >= RANKED_MIN
    }


def _listed(
    metric: str, factor: Factor, rows: list[Row], ratios: PageRatios
) -> list[tuple[str, float, Ratio | None]]:
    """Each level with its mean, and the ratio of the one before it to it."""
    before = [rows[0], *rows[:-1]]
    return [
        (cell.levels[factor.name], value, ratios.of((one.index, metric), (cell.index, metric)))
        for (value, cell), (_, one) in zip(rows, before, strict=True)
    ]
