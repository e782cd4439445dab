"""The order of three or more levels that have no order of their own: engines, modes, methods.

One list for the combination of other levels that the answer leads with, and what becomes of it at
the others. Two neighbours stand with a comma between them where the 95 % interval of their ratio
within blocks excludes 1, `≈` where it does not and `?` where there is no interval: a list alone
would make a ranking out of noise.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis import describe
from dbdyno.analysis.lead import Lead, clear
from dbdyno.analysis.measured import Measured
from dbdyno.analysis.ratios import pairs, plain_ratio
from dbdyno.analysis.types import Ratio
from dbdyno.plan.types import Cell, Factor
from dbdyno.spec import metrics as names

LEVELS_MIN = 3  # two levels are a ratio, which the first sentence has said
ALIKE, UNJUDGED = "≈", "?"
MARKS = {ALIKE: "cannot be told apart", UNJUDGED: "not judged, there is no interval"}
LISTS_MAX = 2  # combinations whose order is spelt out


def ranking(measured: Measured, lead: Lead) -> str:
    """One sentence, or empty where the lead compares no levels to be ranked."""
    factor = _ranked(measured, lead)
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
        text = _listed(measured, lead.metric, factor, tables[key])
        at = describe.levels(measured.plan, dict(key))
        said.append(f"at {at}, {text}" if at else text)
    spelt = "; ".join(said)
    notes = [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if f" {mark} " in spelt]
    note = f" ({'; '.join(notes)})" if notes else ""
    rest = _rest(factor, tables, order)
    return f"From best to worst: {spelt}{note}{rest}."


def _ranked(measured: Measured, lead: Lead) -> Factor | None:
    differing = list(lead.left_levels)
    if len(differing) != 1:
        return None
    factor = next(one for one in measured.plan.factors if one.name == differing[0])
    return factor if factor.values is None and len(factor.levels) >= LEVELS_MIN else None


Row = tuple[float, Cell]  # mean over blocks, of this cell


def _tables(
    measured: Measured, lead: Lead, factor: Factor, *, best_high: bool
) -> dict[tuple[tuple[str, str], ...], list[Row]]:
    """Cells by the levels of the other factors, best first; combinations with fewer than
    `LEVELS_MIN` measured cells are left out."""
    found: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for cell in measured.plan.cells:
        values = measured.series(cell.index, lead.metric)
        if values:
            key = tuple((n, v) for n, v in cell.levels.items() if n != factor.name)
            found.setdefault(key, []).append((sum(values.values()) / len(values), cell))
    return {
        key: sorted(rows, key=lambda row: -row[0] if best_high else row[0])
        for key, rows in found.items()
        if len(rows) >= LEVELS_MIN
    }


def _listed(measured: Measured, metric: str, factor: Factor, rows: list[Row]) -> str:
    """`mysql (1,210), postgres (980) ≈ mariadb (950)`."""
    text = ""
    before: Cell | None = None
    for mean, cell in rows:
        if before is not None:
            ratio = plain_ratio(pairs(measured, (before.index, metric), (cell.index, metric)))
            text += _between(ratio)
        text += f"{cell.levels[factor.name]} ({describe.number(mean)})"
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
