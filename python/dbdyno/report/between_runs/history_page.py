"""Runs over time as one HTML file: a chart a series, the changes, every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dbdyno.analysis.between_runs.types import Entry, Group, History, Series
from dbdyno.report import templating
from dbdyno.report.charts.over_time.trend import trend_chart
from dbdyno.wording import names
from dbdyno.wording.between_runs import trend_text
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count

CHARTS_MAX = 60  # of a plan; --json has all series
RUNS_MAX = 200  # rows of a plan's table, the newest
TEMPLATE = "history.html.j2"
WIDTH, HEIGHT = 560.0, 210.0


@dataclass(frozen=True)
class Chart:
    """A series as drawn."""

    title: str
    note: str
    drawing: Markup


@dataclass(frozen=True)
class Section:
    """A plan's runs."""

    heading: str
    differs: str
    readiness: str
    charts: tuple[Chart, ...]
    more_charts: int
    changes: tuple[tuple[Entry, tuple[str, ...], str], ...]  # run, series, what else changed
    notes: tuple[str, ...]
    runs: tuple[Entry, ...]
    more_runs: int


def history_page(found: History, directory: str) -> str:
    """The page; it needs no network and no other file."""
    return templating.styled(TEMPLATE, view(found, directory))


def view(found: History, directory: str) -> dict[str, Any]:
    """What the template draws. It links a run where it is also given `address`, a function from
    `Entry` to an address."""
    return {
        "directory": directory,
        "sections": [_section(group) for group in found.groups],
        "left_out": found.left_out,
        "runs": count(sum(len(group.runs) for group in found.groups), "run"),
        "day": trend_text.when,
    }


def _section(group: Group) -> Section:
    shown = [series for series in group.series if any(v is not None for v in series.values)]
    return Section(
        heading=trend_text.heading(group),
        differs=trend_text.arrows(group.differs),
        readiness=trend_text.readiness(group),
        charts=tuple(_chart(series, group.runs) for series in shown[:CHARTS_MAX]),
        more_charts=max(0, len(shown) - CHARTS_MAX),
        changes=tuple(
            (entry, tuple(series), why) for entry, series, why in trend_text.changes(group)
        ),
        notes=tuple(trend_text.notes(group)),
        runs=tuple(reversed(group.runs[-RUNS_MAX:])),
        more_runs=max(0, len(group.runs) - RUNS_MAX),
    )


def _chart(series: Series, runs: Sequence[Entry]) -> Chart:
    known = names.describe(series.metric, [series.metric.partition(".")[0]])
    there = [value for value in series.values if value is not None]
    changes = [place.run for place in series.changes]
    levels = [place.after for place in series.changes]
    first = series.changes[0].before if series.changes else _middle(there)
    spread = trend_text.spread(series)
    note = series.note and f"change points not looked for: {series.note}"
    note = note or (count(len(changes), "change") if changes else "no change point")
    drawing = trend_chart(
        series.values,
        [run.name for run in runs],
        changes,
        [first, *levels],
        title=trend_text.label(series),
        unit=known.unit,
        width=WIDTH,
        height=HEIGHT,
        outliers=series.outliers,
    )
    return Chart(
        trend_text.label(series),
        f"{known.heading}; last {sig3(there[-1])} {known.unit}, {spread}, {note}",
        drawing,
    )


def _middle(values: Sequence[float]) -> float:
    """The median: the level of a series without changes."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else ordered[half - 1] / 2 + ordered[half] / 2
