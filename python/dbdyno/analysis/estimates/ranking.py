"""The order of three or more levels that have no order of their own: engines, modes, methods.

One list for the combination of other levels that the answer leads with, and what becomes of it at
the others. Two neighbours stand with a comma between them where the interval of their ratio
excludes 1, `≈` where it does not and `?` where there is no interval: a list alone would make a
ranking out of noise. All pairs of levels are among the page's ratios, so that the order may choose
the neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis.estimates.estimate import mean
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.headlines.lead import Lead, clear
from dbdyno.analysis.page.ratios import PageRatios
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.claims import metrics as names
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell, Factor, Plan
from dbdyno.wording import numbers

RANKED_MIN = 3  # levels; two are a ratio, which the first sentence has said
ALIKE, UNJUDGED = "≈", "?"
MARKS = {ALIKE: "cannot be told apart", UNJUDGED: "not judged, there is no interval"}
LISTS_MAX = 2  # combinations whose order is spelt out


def ranking(measured: Measured, lead: Lead, ratios: PageRatios) -> str:
    """One sentence, or empty where the lead compares no levels to be ranked."""
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
    said = []
    for key in order[:LISTS_MAX]:
        text = _listed(lead.metric, factor, tables[key], ratios)
        at = level_text.levels(measured.plan, dict(key))
        said.append(f"at {at}, {text}" if at else text)
    spelt = "; ".join(said)
    notes = [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if f" {mark} " in spelt]
    note = f" ({'; '.join(notes)})" if notes else ""
    rest = _rest(factor, tables, order)
    return f"From best to worst: {spelt}{note}{rest}."


def ranked(plan: Plan, name: str) -> Factor | None:
    """The factor of that name, if its levels are many and have no order of their own."""
    factor = next(one for one in plan.factors if one.name == name)
    return factor if factor.values is None and len(factor.levels) >= RANKED_MIN else None


Row = tuple[float, Cell]  # mean over blocks, of this cell


def _tables(
    measured: Measured, lead: Lead, factor: Factor, *, best_high: bool
) -> dict[tuple[tuple[str, str], ...], list[Row]]:
    """Cells by the levels of the other factors, best first; combinations with fewer than
    `RANKED_MIN` measured cells are left out."""
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


def _listed(metric: str, factor: Factor, rows: list[Row], ratios: PageRatios) -> str:
    """`mysql (1,210), postgres (980) ≈ mariadb (950)`."""
    text = ""
    before: Cell | None = None
    for value, cell in rows:
        if before is not None:
            ratio = ratios.of((before.index, metric), (cell.index, metric))
            text += _between(ratio)
        text += f"{cell.levels[factor.name]} ({numbers.number(value)})"
        before = cell
    return text


def _between(ratio: Ratio | None) -> str:
    """What stands between two neighbours."""
    if ratio is None or ratio.ci_low is None or ratio.ci_high is None:
        return f" {UNJUDGED} "
    return ", " if clear(ratio) else f" {ALIKE} "


def _rest(
    factor: Factor,
    tables: Mapping[tuple[tuple[str, str], ...], list[Row]],
    order: list[tuple[tuple[str, str], ...]],
) -> str:
    """What becomes of the order at the combinations that are not spelt out."""
    others = order[LISTS_MAX:]
    if not others:
        return ""
    first = tables[order[0]][0][1].levels[factor.name]
    same = sum(tables[key][0][1].levels[factor.name] == first for key in others)
    if len(others) == 1:
        where = "first at the remaining combination"
        return f"; {first} is {where}, too" if same else f"; {first} is not {where}"
    return f"; {first} is first at {same} of the other {len(others)} combinations"
