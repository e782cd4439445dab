"""Open loops in a report: the loop of each group in words, offered against achieved rate, probes of
searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.analysis.types import CellResult
from dbdyno.experiment.types import Arrivals, RateStep
from dbdyno.experiment.workloads.arrivals import mean_rate_per_s
from dbdyno.plan.types import Cell, GroupPlan, Plan
from dbdyno.report.charts.lines import Point, Series, line_chart
from dbdyno.report.charts.svg import SERIES
from dbdyno.report.figures import Figure
from dbdyno.report.layout import Layout
from dbdyno.report.text.numbers import bounded, seconds, sig3
from dbdyno.store.record import TrialRecord

RATES_MIN = 3  # fewer are no line
STEPS_SHOWN = 6
TRIALS_SHOWN = 200
OFFERED = SERIES - 1  # the colour of what no series of a small report has


@dataclass(frozen=True)
class ProbeRow:
    """One run of a search."""

    rate: str
    passed: bool
    why: str


@dataclass(frozen=True)
class SearchView:
    """The search of one trial."""

    where: str
    block: int
    found: str
    probes: tuple[ProbeRow, ...]


def loop(group: GroupPlan) -> str:
    """`open loop at 5000/s, poisson`, `closed loop`: when transactions are sent."""
    return _begun(group) + _pauses(group)


def _pauses(group: GroupPlan) -> str:
    if group.think is None:
        return ""
    how = "" if group.think.distribution == "constant" else f", {group.think.distribution}"
    length = f"{group.think.mean_s * 1e3:g} ms{how}"
    if group.think.per == "operation":
        comma = "" if group.arrivals is None and group.find is None else ","
        return f"{comma} with {length} of the client's before each operation"
    return f" with pauses of {length}"


def _begun(group: GroupPlan) -> str:
    if group.find:
        held = " and ".join(group.find.conditions)
        return (
            f"open loop at the highest rate with {held} (searched from {group.find.start_per_s:g}/s"
            f" to within {group.find.within:.2g}, at most {group.find.probes_max} probes),"
            f" {group.find.process}"
        )
    if group.arrivals:
        return f"open loop {_schedule(group.arrivals)}, {group.arrivals.process}"
    return "closed loop"


def _schedule(arrivals: Arrivals) -> str:
    steps = arrivals.steps
    if len(steps) == 1 and steps[0].from_per_s == steps[0].to_per_s:
        return f"at {steps[0].to_per_s:g}/s"
    said = [_step(step) for step in steps[:STEPS_SHOWN]]
    if len(steps) > STEPS_SHOWN:
        said.append(f"{len(steps) - STEPS_SHOWN} more steps")
    return f"on a schedule ({', then '.join(said)})"


def _step(step: RateStep) -> str:
    how = (
        f"{step.to_per_s:g}/s"
        if step.from_per_s == step.to_per_s
        else f"{step.from_per_s:g} to {step.to_per_s:g}/s"
    )
    return f"{how} for {seconds(step.for_s)}" if step.for_s is not None else f"{how} to the end"


def rate_figures(
    cells: Sequence[CellResult], plan: Plan, layout: Layout, groups: Sequence[str]
) -> list[Figure]:
    """Achieved against offered rate, a chart a group that was driven at several rates.

    What was offered is the line on which a system that keeps up stays.
    """
    figures = []
    for group in groups:
        prefix = f"{group}." if len(groups) > 1 else ""
        lines: dict[tuple[str, ...], list[Point]] = {}
        label: dict[tuple[str, ...], str] = {}
        for cell in cells:
            offered_per_s = _offered(plan.cells[cell.index], group)
            done = cell.metrics.get(f"{prefix}transactions_per_s")
            if offered_per_s is None or done is None:
                continue
            others = tuple(f for f in layout.factors if not _is_rate(f.name))
            key = tuple(cell.levels[f.name] for f in others)
            label[key] = layout.label(cell.levels, others) or "achieved"
            point = Point(offered_per_s, done.mean, done.ci_low, done.ci_high, done.values)
            lines.setdefault(key, []).append(point)
        offered = sorted({point.x for points in lines.values() for point in points})
        if max((len(points) for points in lines.values()), default=0) < RATES_MIN:
            continue
        series = [Series("offered", OFFERED, tuple(Point(x, x, None, None) for x in offered))]
        for style, (key, points) in enumerate(lines.items()):
            ordered = tuple(sorted(points, key=lambda point: point.x))
            series.append(Series(label[key], style % OFFERED, ordered))
        title = "Offered and achieved rate" + (f", {group}" if prefix else "")
        draw = _drawing(series, title, offered)
        figures.append(Figure(title, "transactions/s", f"rate-{group}", draw))
    return figures


def _drawing(series: list[Series], title: str, offered: list[float]) -> Callable[[float], Markup]:
    return lambda width: line_chart(
        series,
        title=title,
        unit="transactions/s",
        x_label="offered, transactions/s",
        x_levels=offered,
        log=False,
        width=width,
        height=340 if width > 400 else 250,
    )


def _is_rate(factor: str) -> bool:
    return factor.rpartition(".")[2] == "rate"


def _offered(cell: Cell, name: str) -> float | None:
    """The rate asked of a group, in the mean; None if it has none of its own."""
    group = next(group for group in cell.groups if group.name == name)
    if group.arrivals is None:
        return None
    return mean_rate_per_s(group.arrivals, cell.duration_s)


def searches(records: Sequence[TrialRecord], plan: Plan, layout: Layout) -> list[SearchView]:
    """Every search, trial by trial, in the order of cells and blocks; at most TRIALS_SHOWN."""
    views = []
    for record in sorted(records, key=lambda one: (one.cell, one.block)):
        if not record.probes:
            continue
        views.append(
            SearchView(
                layout.cell(plan.cells[record.cell].levels),
                record.block,
                _found(record),
                tuple(
                    ProbeRow(f"{sig3(p['rate_per_s'])}/s", bool(p["passed"]), str(p["why"]))
                    for p in record.probes
                ),
            )
        )
    return views[:TRIALS_SHOWN]


def _found(record: TrialRecord) -> str:
    """What a search found: `1,230/s`, `< 200/s`, `not measurable`."""
    for name, value in record.metrics.items():
        if name.endswith("rate_max_per_s"):
            return bounded(f"{sig3(value)}/s", record.bounds.get(name, ""))
    return "not measurable"
