"""Whether cells can be compared at all: words left open, plans that differ."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.analysis import describe
from dbdyno.plan.types import Plan
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

# Systems without a word's meaning are not accused of leaving it open.
_NO_WORDS = frozenset({"null"})


def caveat(plan: Plan) -> str:
    """The sentence that an unfair comparison must begin with; empty for a fair one.

    Defaults of different kinds of system are not comparable: a comparison across kinds that leaves
    durability, isolation or memory open compares defaults, not systems.
    """
    kinds: list[str] = []
    open_words: set[str] = set()
    for cell in plan.cells:
        for target in cell.targets:
            if target.kind in _NO_WORDS:
                continue
            if target.kind not in kinds:
                kinds.append(target.kind)
            open_words |= _open(target)
    per_cell = {tuple(sorted({t.kind for t in cell.targets})) for cell in plan.cells}
    if len(per_cell) < 2 or len(kinds) < 2 or not open_words:
        return ""
    words = describe.listed(
        [word for word in ("durability", "isolation", "memory") if word in open_words]
    )
    return (
        f"Not a fair comparison: {words} {'is' if len(open_words) == 1 else 'are'} not fixed for"
        f" {describe.listed(kinds)}, so each ran with its own defaults."
    )


def _open(target: TargetPlan) -> set[str]:
    words = {
        "durability": target.durability,
        "isolation": target.isolation,
        "memory": target.memory_bytes,
    }
    return {word for word, value in words.items() if value is None}


def plan_changes(plan: Plan, records: Sequence[TrialRecord]) -> list[str]:
    """Statements whose plan (EXPLAIN) differs between cells on the same kind of system.

    Numbers are masked first: estimates of rows and costs vary with statistics, operators do not.
    """
    shapes: dict[tuple[str, str], dict[str, int]] = {}
    for record in records:
        cell = plan.cells[record.cell]
        target_of = {group.name: group.target for group in cell.groups}
        kind_of = {target.name: target.kind for target in cell.targets}
        for statement, text in record.explain.items():
            kind = kind_of.get(target_of.get(statement.partition("/")[0], ""), "")
            shape = re.sub(r"\d+(\.\d+)?([eE][+-]?\d+)?", "#", text)
            shape = re.sub(r"[ \t]+|-{2,}", " ", shape)
            shapes.setdefault((statement, kind), {}).setdefault(shape, record.cell)
    found = []
    for (statement, kind), cells in shapes.items():
        if len(cells) > 1:
            names = [
                describe.levels(plan, plan.cells[index].levels) or f"cell {index}"
                for index in list(cells.values())[:3]
            ]
            on = f" on {kind}" if kind else ""
            found.append(
                f"the plan of {statement}{on} differs between cells (EXPLAIN):"
                f" {describe.listed([f'[{name}]' for name in names])}"
            )
    return found
