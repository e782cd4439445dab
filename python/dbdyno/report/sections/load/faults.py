"""Faults for the reader: what was done to which server when, what clients saw of it, and a typical
trial with the faults marked on its throughput."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from rich.console import RenderableType
from rich.text import Text

from dbdyno.errors import DynoError
from dbdyno.plan import level_text
from dbdyno.plan.types import Cell
from dbdyno.report.charts.over_time.spans import Span
from dbdyno.report.charts.over_time.timeline import timeline
from dbdyno.report.context import Context
from dbdyno.report.figures import Figure
from dbdyno.report.section import Section
from dbdyno.report.trials import curves
from dbdyno.store.metrics.outages import STATEMENTS
from dbdyno.store.record import TrialRecord
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible
from dbdyno.wording.within_trial import faults_text

DRILLED = ("rto_s", "audit.lost", "backup_age_s")  # of a restore
METRICS = ("outage_s", "failover_s", "promotion_s", "quorum_lost_s", "brownout_s")
SHOWN = 6  # cells with a chart
ROWS_MAX = 30  # of a cell: a nemesis strikes at other moments in each trial
IN_TERMINAL = 3  # cells


@dataclass(frozen=True)
class Row:
    """One fault of a cell, over its trials."""

    do: str
    node: str
    begun: str
    lasted: str
    times: int
    problem: str


@dataclass(frozen=True)
class Change:
    """What became of a node's role in the trial of the chart."""

    at: str
    node: str
    change: str
    said: str  # by servers


@dataclass(frozen=True)
class Took:
    """One step of a drill, over the trials of a cell."""

    drill: str
    node: str
    step: str
    seconds: str
    trials: int


@dataclass(frozen=True)
class View:
    """The faults of one cell."""

    where: str  # empty: the only cell
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    more: int  # rows that are omitted
    figure: Figure | None
    changes: tuple[Change, ...] = ()
    steps: tuple[Took, ...] = ()


@dataclass(frozen=True)
class Faults:
    """The section: how it was measured, and the cells with faults."""

    how: str
    cells: tuple[View, ...]


def view(context: Context) -> Faults | None:
    """None if no cell has faults."""
    found: list[View] = []
    for cell in context.plan.cells:
        own = [r for r in context.complete if r.cell == cell.index and r.faults]
        if not cell.faults or not own:
            continue
        where = level_text.levels(context.plan, cell.levels)
        rows = _rows(own)
        figure = _figure(context, own, where) if len(found) < SHOWN else None
        sentences = tuple(_sentences(cell, own))
        more = max(0, len(rows) - ROWS_MAX)
        changes = tuple(_changes(_typical(own))) if len(found) < SHOWN else ()
        steps = tuple(_steps(own))
        found.append(View(where, sentences, tuple(rows[:ROWS_MAX]), more, figure, changes, steps))
    return Faults(faults_text.RESOLUTION, tuple(found)) if found else None


def _steps(own: Sequence[TrialRecord]) -> Iterator[Took]:
    """The steps of drills in order, those of all trials together."""
    found: dict[tuple[float, str, str, str], list[float]] = {}
    for record in own:
        for fault in record.faults:
            for step in fault.get("steps", ()):
                if "ended_s" in step:
                    key = (float(fault["at_s"]), fault["do"], fault["node"], step["step"])
                    found.setdefault(key, []).append(step["ended_s"] - step["begun_s"])
    for (_, drill, node, step), seconds in found.items():
        yield Took(
            visible(drill),
            visible(node),
            visible(step),
            faults_text.step_took(seconds),
            len(seconds),
        )


def _sentences(cell: Cell, own: Sequence[TrialRecord]) -> Iterator[str]:
    """What drills took, and what clients saw, of each group if there are several."""
    restored = [record for record in own if "rto_s" in record.metrics]
    for metric in DRILLED:
        values = [r.metrics[metric] for r in restored if metric in r.metrics]
        if text := faults_text.drilled(metric, values):
            yield text
    for group in cell.groups:
        prefix = f"{group.name}." if len(cell.groups) > 1 else ""
        said = []
        for metric in METRICS:
            having = [r for r in own if prefix + metric in r.metrics]
            values = [r.metrics[prefix + metric] for r in having]
            cut = sum(prefix + metric in r.bounds for r in having)
            said.append(faults_text.effect(metric, values, len(own), cut))
        text = " ".join(filter(None, said))
        if text:
            yield f"{group.name}: {text}" if prefix else text


def _rows(own: Sequence[TrialRecord]) -> list[Row]:
    """The faults of all trials, those alike together, by their moments."""
    alike: dict[tuple[float, str, str], list[dict[str, Any]]] = {}
    for record in own:
        for fault in record.faults:
            key = (float(fault["at_s"]), fault["do"], str(fault.get("links") or fault["node"]))
            alike.setdefault(key, []).append(dict(fault))
    rows = []
    for (_, do, node), each in sorted(alike.items()):
        ended = [f for f in each if "undone_s" in f and "in_force_s" in f]
        answered = [f for f in each if "in_force_s" in f]
        problems = {f["problem"]: None for f in each if f.get("problem")}
        rows.append(
            Row(
                do=do,
                node=visible(node),
                begun=faults_text.when([f["begun_s"] for f in each]),
                lasted=faults_text.took([f["in_force_s"] - f["begun_s"] for f in answered])
                if do in STATEMENTS
                else faults_text.lasted([f["undone_s"] - f["in_force_s"] for f in ended]),
                times=len(each),
                problem=visible("; ".join(problems)),
            )
        )
    return rows


def _changes(record: TrialRecord) -> Iterator[Change]:
    for each in record.roles[:ROWS_MAX]:
        at, said = faults_text.when([float(each["t_s"])]), visible(each["said"])
        yield Change(at, visible(each["node"]), each["change"], said)


def _typical(own: Sequence[TrialRecord]) -> TrialRecord:
    """The trial with the median outage."""
    by_outage = sorted(own, key=lambda r: (_longest(r), r.id))
    return by_outage[len(by_outage) // 2]


def _figure(context: Context, own: Sequence[TrialRecord], where: str) -> Figure | None:
    """The trial with the median outage; None if its files cannot be read."""
    typical = _typical(own)
    try:
        trace = context.run.trace(typical.id)
    except (DynoError, KeyError, ValueError):
        return None
    if not len(trace.ends_s):
        return None
    spans = tuple(_spans(typical))
    low, high = 0.0, max([trace.measured_s, *(span.end for span in spans)])
    shown = [curves.throughput(trace, low, high)]
    title = f"A trial{' at ' + where if where else ''}, block {typical.block}"
    marks = [one for one in _marks(typical) if low <= one[0] <= high]

    def draw(width: float) -> Markup:
        return timeline(
            shown,
            (),
            title=title,
            x_label="seconds of the measured time",
            window=(low, high),
            width=width,
            marks=marks,
            spans=spans,
        )

    return Figure(title, "faults are marked", f"faults-{typical.cell}", draw)


def _spans(record: TrialRecord) -> Iterator[Span]:
    for fault in record.faults:
        for step in fault.get("steps", ()):
            if "ended_s" in step:
                begun, ended = float(step["begun_s"]), float(step["ended_s"])
                took = faults_text.step_took([ended - begun])
                label = visible(f"{fault['do']}: {step['step']}, {took}")
                yield Span(label, begun, ended)


def _longest(record: TrialRecord) -> float:
    ends = tuple(f".{metric}" for metric in METRICS[:1])
    return max((v for k, v in record.metrics.items() if f".{k}".endswith(ends)), default=0.0)


def _marks(record: TrialRecord) -> Iterator[tuple[float, str]]:
    for fault in record.faults:
        yield float(fault["begun_s"]), faults_text.mark(fault["do"], visible(fault["node"]))
        if "undone_s" in fault and fault["do"] in faults_text.ENDS:
            yield float(fault["undone_s"]), faults_text.undone(fault["do"])
    for change in record.roles:
        if change["change"] in faults_text.MARKED:
            mark = faults_text.mark(change["change"], visible(change["node"]))
            yield float(change["t_s"]), mark


def form(found: Faults) -> Iterator[RenderableType]:
    """A line a cell."""
    for one in found.cells[:IN_TERMINAL]:
        head = f"Faults at {one.where}: " if one.where else "Faults: "
        yield Text(visible(head + " ".join(one.sentences)))
    if (more := len(found.cells) - IN_TERMINAL) > 0:
        yield Text(f"Faults at {count(more, 'more cell')} in the report")


SECTION = Section(view, "Faults", terminal=65, form=form)
