"""Sessions by state: what the sessions of each cell were doing, once a second, on average."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.plan.types import Cell
from dbdyno.report.charts.stack import SHADES, Bar, stacked_bars
from dbdyno.report.figures import NARROW, WIDE, Figure
from dbdyno.report.layout import Layout

OTHER = "other"


def is_sessions(source: str) -> bool:
    """Whether a source of samples is a count of sessions by state (`sessions`, `db.sessions`)."""
    return source.rpartition(".")[2] == "sessions"


def states_of(samples: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], int]:
    """Sums of sessions by state over the measured samples of a trial, and how many samples."""
    sums: dict[str, float] = {}
    times: set[float] = set()
    for sample in samples:
        if not is_sessions(str(sample["source"])) or sample["t_s"] < 0:
            continue
        times.add(sample["t_s"])
        for state, value in sample["values"].items():
            sums[state] = sums.get(state, 0.0) + float(value)
    return sums, len(times)


def figure(
    by_cell: Mapping[int, tuple[Mapping[str, float], int]], cells: Sequence[Cell], layout: Layout
) -> Figure | None:
    """One bar a cell; the states that hold most sessions keep their name, the rest is `other`."""
    means = {
        cell: {state: value / n for state, value in sums.items() if value > 0}
        for cell, (sums, n) in by_cell.items()
        if n and sums
    }
    means = {cell: states for cell, states in means.items() if states}
    if not means:
        return None
    total: dict[str, float] = {}
    for states in means.values():
        weight = sum(states.values())
        for state, value in states.items():
            total[state] = total.get(state, 0.0) + value / weight
    ranked = sorted(total, key=lambda state: (-total[state], state))
    kept = ranked if len(ranked) <= SHADES else ranked[: SHADES - 1]
    shown = [*kept, OTHER] if len(ranked) > len(kept) else kept
    bars = [_bar(layout.cell(cells[i].levels), means[i], kept, shown) for i in sorted(means)]
    title = "Sessions by state"
    return Figure(
        title,
        "share of sessions, mean of one sample a second",
        "sessions-by-state",
        stacked_bars(bars, shown, title=title, width=WIDE),
        stacked_bars(bars, shown, title=title, width=NARROW),
    )


def _bar(label: str, states: Mapping[str, float], kept: list[str], shown: list[str]) -> Bar:
    parts = [(state, states.get(state, 0.0)) for state in kept]
    if OTHER in shown and OTHER not in kept:
        parts.append((OTHER, sum(v for s, v in states.items() if s not in kept)))
    return Bar(label, tuple(parts))
