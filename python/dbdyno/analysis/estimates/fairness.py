"""Whether cells can be compared at all: words left open, plans that differ."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.analysis.message import Message
from dbdyno.plan.outlook import notes
from dbdyno.plan.types import Plan
from dbdyno.store.record import NO_PLAN, TrialRecord

_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
_TEXT = re.compile(r"'(?:[^'\\]|''|\\.)*'")


def caveat(plan: Plan) -> str:
    """What a comparison of kinds of server must begin with if it leaves durability, isolation or
    memory open, or unequal; empty for a fair one."""
    if plan.imported is not None:
        tools = list(dict.fromkeys(tool.partition(" ")[0] for tool in plan.imported.tools))
        if len(tools) < 2:
            return ""
        return Message("tools_differ", tools=tools)
    return " ".join(notes.comparability(plan.cells))


def plan_changes(plan: Plan, records: Sequence[TrialRecord]) -> list[str]:
    """Statements whose plan (EXPLAIN) differs between cells on the same kind of system, although
    the statement is the same: one that a factor writes differently may well have another plan.

    Numbers are masked first: estimates of rows and costs vary with statistics, operators do not.
    """
    shapes: dict[tuple[str, str, str], dict[str, int]] = {}
    for record in records:
        cell = plan.cells[record.cell]
        target_of = {group.name: group.target for group in cell.groups}
        kind_of = {target.name: target.kind for target in cell.targets}
        for statement, text in record.explain.items():
            if text.startswith(NO_PLAN):
                continue
            kind = kind_of.get(target_of.get(statement.partition("/")[0], ""), "")
            shape = re.sub(r"[ \t]+|-{2,}", " ", _NUMBER.sub("#", text))
            sql = _NUMBER.sub("#", _TEXT.sub("?", record.statements.get(statement, "")))
            shapes.setdefault((statement, kind, sql), {}).setdefault(shape, record.cell)
    found: list[str] = []
    for (statement, kind, _), cells in shapes.items():
        if len(cells) > 1:
            which = list(cells.values())[:3]
            found.append(Message("plan_differs", statement=statement, kind=kind, cells=which))
    return found
