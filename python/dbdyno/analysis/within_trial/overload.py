"""Open loops that were not held: said before any other number, since it changes what those mean.

Past its capacity a system answers as fast as it can while the backlog grows with the length of the
trial: throughput is then its capacity, and response time that of the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.estimates.measured import Measured
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell, GroupPlan
from dbdyno.store.metrics import open_loop
from dbdyno.wording import numbers

NAMED = 3  # cells named in the sentence


def sentence(measured: Measured) -> str:
    """`The rate was not held in 2 of 4 cells: at rate 20000/s 8,012 of 20,000/s were achieved.`
    Empty if all were."""
    cells = [cell for cell in measured.plan.cells if measured.cells[cell.index]]
    loops = [cell for cell in cells if any(group.arrivals for group in cell.groups)]
    found = {cell.index: list(_overloaded(measured, cell)) for cell in loops}
    over = [cell for cell in loops if found[cell.index]]
    if not over:
        return ""
    said = []
    for cell in over[:NAMED]:
        group, trials = found[cell.index][0]
        prefix = f"{group.name}." if len(cell.groups) > 1 else ""
        achieved, due = (
            _mean(measured, cell, f"{prefix}{name}") for name in ("transactions_per_s", "due_per_s")
        )
        of = f" of {group.name}" if prefix else ""
        at = level_text.levels(measured.plan, cell.levels)
        count = len(measured.cells[cell.index])
        some = f" in {trials} of {numbers.counted(count, 'trial')}" if trials < count else ""
        held = f"{numbers.number(achieved)} of {numbers.number(due)}/s{of}"
        said.append(f"{f'at {at} ' if at else ''}{held} were achieved{some}")
    more = f", and {len(over) - NAMED} more" if len(over) > NAMED else ""
    where = f" in {len(over)} of {len(loops)} cells" if len(loops) > 1 else ""
    return f"The system could not hold the rate{where}: {'; '.join(said)}{more}."


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
