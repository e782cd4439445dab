"""Stalls for the reader: the sentence, the cause and its cure, and a typical trial with the stalls
shaded over the curve that shows why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.estimates.measured import kind
from dbdyno.analysis.types import UNKNOWN, Cause, CellStalls, Findings, Inside
from dbdyno.errors import DynoError
from dbdyno.plan import level_text
from dbdyno.report.charts.over_time.timeline import timeline
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.section import Section
from dbdyno.report.text.escaping import alike
from dbdyno.report.trials import curves as curves_of
from dbdyno.store.metrics.stalls import shortest_s
from dbdyno.store.metrics.timeseries import TICK_S
from dbdyno.store.run import Run
from dbdyno.wording import names, sampled
from dbdyno.wording.numbers import sig3
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import seconds
from dbdyno.wording.visible import visible

SHOWN = 4  # cells with a chart, those that stalled longest; the others have their sentence
SUSPECTS = 8
WHOLE_S = 90.0  # a longer trial is shown in part
PART_STALLS = 5
EDGE_S = 5.0
STALLS_MAX = 2  # in the terminal


@dataclass(frozen=True)
class Row:
    """A suspect as shown."""

    metric: str
    during: str
    otherwise: str
    moved: str


@dataclass(frozen=True)
class View:
    """The stalls of one cell."""

    where: str  # empty: the only cell
    sentence: str
    cause: str  # its title, empty: not searched
    known: bool
    why: str
    cure: str
    suspects: tuple[Row, ...]
    figure: Figure | None


def view(context: Context) -> list[View] | None:
    """One a cell that stalled, the worst first, the worst with a chart; None if none stalled."""
    run, findings, groups = context.run, context.findings, context.groups
    found: list[View] = []
    for one in sorted(findings.stalls, key=lambda one: (-one.share, one.cell)):
        levels = run.plan.cells[one.cell].levels
        where = level_text.levels(run.plan, levels)
        figure = None
        if len(found) < SHOWN:
            figure = _figure(run, findings.inside, one, where, groups)
        cause = one.cause
        found.append(
            View(
                where=where,
                sentence=one.sentence,
                cause=cause.title if cause else "",
                known=cause is not None and cause.name != UNKNOWN,
                why=cause.sentence if cause else "",
                cure=cause.cure if cause else "",
                suspects=_suspects(cause, groups),
                figure=figure,
            )
        )
    return found or None


def design(findings: Findings) -> list[tuple[str, str]]:
    """Rows for those who check: that nothing stalled, and what is unknown of trials."""
    known = [one for one in findings.inside if one.usual_per_s > 0.0]
    rows = []
    if known and not findings.stalls:
        least = [shortest_s(one.usual_per_s, one.measured_s) for one in known]
        sure = [value for value in least if value is not None]
        text = f"none of {seconds(math.ceil(10 * max(sure, default=0)) / 10)} or more in"
        text += f" {count(len(sure), 'trial')}"
        if sure and max(sure) > 0.5:
            text += "; with so few commits a second, shorter ones may be chance"
        if len(sure) < len(known):
            blind = count(len(known) - len(sure), "trial")
            text += f"{'; ' if sure else ''}{blind} with too few commits to tell"
        rows.append(("Stalls", text if sure else text.partition("in 0 trials")[2]))
    problems: dict[str, list[str]] = {}
    for one in findings.inside:
        if one.problem:
            problems.setdefault(kind(one.problem), []).append(one.problem)
    if problems:
        said = (f"{count(len(own), 'trial')}: {alike(own)}" for own in problems.values())
        rows.append(("Over time", "; ".join(said)))
    return rows


def _suspects(cause: Cause | None, groups: tuple[str, ...]) -> tuple[Row, ...]:
    rows = []
    for one in (cause.suspects if cause else ())[:SUSPECTS]:
        when = "at once" if abs(one.lag_s) < TICK_S else f"{abs(one.lag_s):.1f} s"
        if when != "at once":
            when += " later" if one.lag_s > 0 else " before"
        metric = names.describe(one.metric, groups)
        unit, factor = sampled.scaled(metric.unit)
        label = metric.label + (f" ({unit})" if unit else "")
        rows.append(Row(label, sig3(factor * one.during), sig3(factor * one.otherwise), when))
    return tuple(rows)


def _figure(
    run: Run, inside: Sequence[Inside], cell: CellStalls, where: str, groups: tuple[str, ...]
) -> Figure | None:
    """The cell's trial with the median number of stalls; None if its files cannot be read."""
    own = sorted((one for one in inside if one.cell == cell.cell and one.stalls), key=_stalls)
    typical = own[len(own) // 2] if own else None
    if typical is None:
        return None
    try:
        trace = run.trace(typical.trial)
    except (DynoError, KeyError, ValueError):
        return None
    low, high = window(typical)
    curves = [curves_of.throughput(trace, low, high)]
    metric = cell.cause.metric if cell.cause else ""
    samples = trace.samples.get(metric)
    if samples is not None and len(samples.t_s):
        known = names.describe(metric, groups)
        unit, factor = sampled.scaled(known.unit)
        shown = replace(samples, values=factor * samples.values)
        curves.append(curves_of.sampled(shown, known.label, unit, low, high))
    title = f"A trial{' at ' + where if where else ''}, block {typical.block}"
    shaded = [(one.start_s, one.start_s + one.length_s) for one in typical.stalls]
    part = "" if high - low >= typical.measured_s - 1e-9 else f", {low:.0f} to {high:.0f} of"
    x_label = f"seconds of the measured time{part and f'{part} {typical.measured_s:.0f}'}"

    def draw(width: float) -> Markup:
        return timeline(
            curves, shaded, title=title, x_label=x_label, window=(low, high), width=width
        )

    return Figure(title, "stalls are shaded", f"stalls-{cell.cell}", draw)


def _stalls(one: Inside) -> tuple[int, str]:
    return len(one.stalls), one.trial


def window(trial: Inside) -> tuple[float, float]:
    """Which seconds of a trial are shown: all, or those around its first few stalls."""
    if trial.measured_s <= WHOLE_S or not trial.stalls:
        return 0.0, trial.measured_s
    low = max(0.0, trial.stalls[0].start_s - EDGE_S)
    last = trial.stalls[0]
    for stall in trial.stalls[:PART_STALLS]:
        if stall.start_s + stall.length_s + EDGE_S - low <= 2 * WHOLE_S:
            last = stall
    high = max(last.start_s + last.length_s + EDGE_S, low + WHOLE_S / 3)
    return low, min(high, trial.measured_s)


def form(found: list[View]) -> Iterator[RenderableType]:
    """The cells that stalled longest, a line each with cause and cure."""
    for view in found[:STALLS_MAX]:
        text = f"Stalls at {view.where}: " if view.where else "Stalls: "
        text += " ".join(filter(None, (view.sentence, view.why)))
        yield Text(visible(f"{text} Cure: {view.cure}" if view.cure else text))
    if (more := len(found) - STALLS_MAX) > 0:
        yield Text(f"Stalls at {count(more, 'more cell')} in the report")


SECTION = Section(view, "Stalls", header=40, markdown=40, terminal=70, brief=70, form=form)
