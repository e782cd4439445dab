"""Open loops whose rate was not sustained: reported before any other number, since it changes their
meaning.

Past its capacity a system answers as fast as it can while the backlog grows with the length of the
trial: throughput is then its capacity, and response time that of the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.plan.types import Cell, GroupPlan
from dbdyno.store.metrics import open_loop

NAMED = 3  # cells named in the sentence


def message(measured: Measured) -> str:
    """Which rates were not sustained, and what was achieved. Empty if all were."""
    cells = [cell for cell in measured.plan.cells if measured.cells[cell.index]]
    loops = [cell for cell in cells if any(group.arrivals for group in cell.groups)]
    found = {cell.index: list(_overloaded(measured, cell)) for cell in loops}
    over = [cell for cell in loops if found[cell.index]]
    if not over:
        return ""
    cases = []
    for cell in over[:NAMED]:
        group, trials = found[cell.index][0]
        prefix = f"{group.name}." if len(cell.groups) > 1 else ""
        achieved, due = (
            _mean(measured, cell, f"{prefix}{name}") for name in ("transactions_per_s", "due_per_s")
        )
        name, count = group.name if prefix else "", len(measured.cells[cell.index])
        cases.append((cell.levels, name, achieved, due, trials, count))
    return Message("overload", cases=cases, over=len(over), loops=len(loops))


def _overloaded(measured: Measured, cell: Cell) -> Iterator[tuple[GroupPlan, int]]:
    """Groups that did not hold their rate, and in how many trials."""
    for group in cell.groups:
        prefix = f"{group.name}." if len(cell.groups) > 1 else ""
        if group.arrivals is None:
            continue
        # Runs from before growth was measured know what waited at the end.
        growth = measured.series(cell.index, f"{prefix}unfinished_growth") or measured.series(
            cell.index, f"{prefix}backlog_end"
        )
        due = measured.series(cell.index, f"{prefix}due_per_s")
        over = [
            block
            for block in growth.keys() & due.keys()
            if open_loop.overloaded(growth[block], due[block] * cell.duration_s)
        ]
        if over:
            yield group, len(over)


def _mean(measured: Measured, cell: Cell, metric: str) -> float:
    values = list(measured.series(cell.index, metric).values())
    return sum(values) / len(values) if values else 0.0
