"""Statements and their query plans: EXPLAIN by class of statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.report.context import Context
from dbdyno.report.layout import which
from dbdyno.report.section import Section

_NUMBERS = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class PlanView:
    """EXPLAIN of one class of statements: one entry for each plan that was seen."""

    name: str  # group/class
    sql: str
    differs: bool  # two shapes of plan on one kind of server
    plans: tuple[tuple[str, str], ...]  # (cells, text)


def view(context: Context) -> list[PlanView] | None:
    """EXPLAIN by class of statement; equal texts are shown once with all their cells. None where no
    server was asked."""
    plan = context.plan
    texts: dict[str, dict[str, dict[int, None]]] = {}
    shapes: dict[tuple[str, str], set[str]] = {}
    sql: dict[str, str] = {}
    for record in context.complete:
        kinds = {t: str(f.get("kind", "")) for t, f in record.targets.items()}
        target_of = {g.name: g.target for g in plan.cells[record.cell].groups}
        for name, statement in record.statements.items():
            sql.setdefault(name, statement)
        for name, text in record.explain.items():
            texts.setdefault(name, {}).setdefault(text, {})[record.cell] = None
            kind = kinds.get(target_of.get(name.partition("/")[0], ""), "")
            shapes.setdefault((name, kind), set()).add(shape(text))
    views = []
    for name in sorted({*texts, *sql}):
        differs = any(len(found) > 1 for (n, _), found in shapes.items() if n == name)
        seen = tuple(
            (which(list(where), plan.cells, context.layout) or "all cells", text)
            for text, where in _merge_shapes(texts.get(name, {})).items()
        )
        views.append(PlanView(name, sql.get(name, ""), differs, seen))
    return sorted(views, key=lambda view: not view.differs) or None


def _merge_shapes(texts: Mapping[str, Mapping[int, None]]) -> dict[str, dict[int, None]]:
    """Plans that differ in nothing but numbers (costs, row estimates), shown as the first of
    them."""
    first: dict[str, str] = {}
    merged: dict[str, dict[int, None]] = {}
    for text, where in texts.items():
        kept = first.setdefault(shape(text), text)
        merged.setdefault(kept, {}).update(where)
    return merged


def shape(text: str) -> str:
    """A plan without its numbers and spacing: equal shapes are the same plan at another size."""
    return " ".join(_NUMBERS.sub("#", text).split())


SECTION = Section(view, "Query plans")
