"""The order of levels in a sentence: neighbours that differ significantly have a comma between
them, others a mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.analysis.headlines.lead import clear
from dbdyno.analysis.types import Ratio
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers

ALIKE, UNJUDGED = "≈", "?"
MARKS = {ALIKE: "no significant difference", UNJUDGED: "not judged, there is no interval"}

Row = tuple[str, float, Ratio | None]  # a level, its mean, the ratio of the one before to it


def ranking(
    plan: Plan,
    lists: Sequence[tuple[Mapping[str, str], Sequence[Row]]],
    first: str,
    same: int,
    others: int,
) -> str:
    """`From best to worst: mysql (1,210), postgres (980) ≈ mariadb (950).` `first` is the best
    level of the first list, and of `same` of the `others` that are not spelt out."""
    said = []
    for levels, rows in lists:
        at = level_text.levels(plan, levels)
        said.append(f"at {at}, {_listed(rows)}" if at else _listed(rows))
    spelt = "; ".join(said)
    notes = [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if f" {mark} " in spelt]
    note = f" ({'; '.join(notes)})" if notes else ""
    return f"From best to worst: {spelt}{note}{_rest(first, same, others)}."


def _listed(rows: Sequence[Row]) -> str:
    text = ""
    for level, value, ratio in rows:
        text += f"{_between(ratio) if text else ''}{level} ({numbers.number(value)})"
    return text


def _between(ratio: Ratio | None) -> str:
    """The separator of two neighbours."""
    if ratio is None or ratio.ci_low is None or ratio.ci_high is None:
        return f" {UNJUDGED} "
    return ", " if clear(ratio) else f" {ALIKE} "


def _rest(first: str, same: int, others: int) -> str:
    if not others:
        return ""
    if others == 1:
        where = "first at the remaining combination"
        return f"; {first} is {where}, too" if same else f"; {first} is not {where}"
    return f"; {first} is first at {same} of the other {others} combinations"
