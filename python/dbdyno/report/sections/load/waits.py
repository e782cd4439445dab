"""Sessions by state: what the sessions of each cell were doing, once a second, on average.

The numbers are the metrics `sessions.STATE`, the same that claims and the answer use.
"""

from __future__ import annotations

from markupsafe import Markup

from dbdyno.analysis.types import CellResult
from dbdyno.report.charts.stack import SHADES, Bar, stacked_bars
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.section import Section

OTHER = "other"


def states_of(cell: CellResult) -> dict[str, float]:
    """Mean number of sessions by state; with several targets, the target's name before it."""
    found = {}
    for name, estimate in cell.metrics.items():
        before, family, state = f".{name}".partition(".sessions.")
        if family and estimate.mean > 0:
            target = before.removeprefix(".")
            found[f"{target}: {state}" if target else state] = estimate.mean
    return found


def view(context: Context) -> Figure | None:
    """One bar a cell; the states that hold most sessions keep their name, the rest is `other`. None
    where no sessions were sampled."""
    layout = context.layout
    means = [(cell, states) for cell in context.findings.cells if (states := states_of(cell))]
    if not means:
        return None
    total: dict[str, float] = {}
    for _, states in means:
        weight = sum(states.values())
        for state, value in states.items():
            total[state] = total.get(state, 0.0) + value / weight
    ranked = sorted(total, key=lambda state: (-total[state], state))
    kept = ranked if len(ranked) <= SHADES else ranked[: SHADES - 1]
    shown = [*kept, OTHER] if len(ranked) > len(kept) else kept
    bars = []
    for cell, states in sorted(means, key=lambda pair: layout.place(pair[0].levels)):
        parts = [(state, states.get(state, 0.0)) for state in kept]
        if len(shown) > len(kept):
            parts.append((OTHER, sum(v for s, v in states.items() if s not in kept)))
        heading, label = layout.split(cell.levels)
        bars.append(Bar(label, tuple(parts), heading))
    title = "Sessions by state"
    note = "share of sessions, mean of one sample a second"

    def draw(width: float) -> Markup:
        return stacked_bars(bars, shown, title=title, width=width)

    return Figure(title, note, "sessions-by-state", draw)


SECTION = Section(view, "Waits")
