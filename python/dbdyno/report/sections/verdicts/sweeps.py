"""Sweeps as the reader meets them: a sentence each, and what the marks in the charts mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.types import Findings, Sweep
from dbdyno.report.context import Context
from dbdyno.report.figures import told_apart
from dbdyno.report.layout import Layout
from dbdyno.report.section import Section
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible

SWEEPS_MAX = 4  # in the terminal


@dataclass(frozen=True)
class SweepView:
    """A sweep: at which levels of the other factors, and its description."""

    at: str  # empty: there is no other factor
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """All sweeps, and what their marks in the charts mean."""

    sweeps: list[SweepView]
    note: str


def view(context: Context) -> View | None:
    """None without sweeps."""
    shown = views(context.findings, context.layout)
    return View(shown, note(context.findings, context.layout)) if shown else None


def views(findings: Findings, layout: Layout) -> list[SweepView]:
    """All sweeps, in the order of the factors and cells; what several are not judged for is
    reported once. With several factors to sweep over, `at` says which one."""
    several = len({sweep.factor for sweep in findings.sweeps}) > 1
    problems = Counter(sweep.problem for sweep in findings.sweeps if sweep.problem)
    shown = [
        SweepView(_at(sweep, layout, several), (sweep.sentence, *_limits(sweep)))
        for sweep in findings.sweeps
        if problems[sweep.problem] < 2 or sweep.limits
    ]
    return shown + [
        SweepView("", (f"Which level is best is not judged in {n} sweeps: {problem}.",))
        for problem, n in problems.items()
        if n > 1
    ]


def note(findings: Findings, layout: Layout) -> str:
    """What the marks in the charts mean; empty if there are none."""
    drawn = [one for one in findings.sweeps if layout.x and one.factor == layout.x.name]
    said = []
    if any(told_apart(one) for one in drawn):
        said.append("a ring marks a level that does not differ significantly from the best")
    if any(one.knee is not None for one in drawn):
        said.append(
            "a dashed line marks the knee, with its 95 % interval on the axis: where growth in"
            " proportion from the lowest level would meet the best"
        )
    return f"In charts, {'; '.join(said)}." if said else ""


def _at(sweep: Sweep, layout: Layout, several: bool) -> str:
    at = layout.label(sweep.at)
    if not several:
        return at
    over = f"over {layout.short(sweep.factor)}"
    return f"{over}, {at}" if at else over


def _limits(sweep: Sweep) -> tuple[str, ...]:
    return tuple(f"{limit.sentence}." for limit in sweep.limits)


def form(view: View) -> Iterator[RenderableType]:
    """Peaks, knees and limits, a line each."""
    yield Text()
    for one in view.sweeps[:SWEEPS_MAX]:
        yield Text(visible(": ".join(filter(None, [one.at, " ".join(one.sentences)]))))
    if (more := len(view.sweeps) - SWEEPS_MAX) > 0:
        yield Text(f"{count(more, 'more sweep')} in the report", style="dim")


SECTION = Section(view, main=30, markdown=70, terminal=90, form=form)
