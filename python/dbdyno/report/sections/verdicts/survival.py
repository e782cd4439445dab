"""Which set-ups kept what they had acknowledged when a fault struck, and what that costs: of runs
with faults and audits, at the head of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.text.table import ROWS_MAX, terminal_table
from dbdyno.store.record import TrialRecord
from dbdyno.wording.visible import visible
from dbdyno.wording.within_trial import survival_text
from dbdyno.wording.within_trial.survival_text import Outcome


@dataclass(frozen=True)
class Row:
    """A cell, as written."""

    where: str
    trials: int
    lost: str
    outage: str
    tps: str
    keeps: bool


@dataclass(frozen=True)
class View:
    """Sentences, and the cells, those that lost least first."""

    sentences: tuple[str, ...]
    rows: tuple[Row, ...]


def view(context: Context) -> View | None:
    """None without a trial that had a fault and an audit."""
    cells: dict[int, list[TrialRecord]] = {}
    for record in context.complete:
        if record.faults and record.audit:
            cells.setdefault(record.cell, []).append(record)
    outcomes = [_outcome(_where(context, cell), own) for cell, own in cells.items()]
    if not outcomes:
        return None
    outcomes.sort(key=Outcome.order)
    return View(survival_text.summary(outcomes), tuple(map(_row, outcomes)))


def _where(context: Context, cell: int) -> str:
    """Empty: the only cell."""
    levels = context.plan.cells[cell].levels
    return context.layout.cell(levels) if levels else ""


def _outcome(where: str, own: Sequence[TrialRecord]) -> Outcome:
    losses = [[audit.lost for audit in record.audit.values()] for record in own]
    outages = [_of_groups(record, "outage_s") for record in own]
    before = [_of_groups(record, "transactions_per_s_before") for record in own]
    return Outcome(
        where,
        tuple(None if None in each else sum(one or 0 for one in each) for each in losses),
        sum(audit.acknowledged for record in own for audit in record.audit.values()),
        tuple(max(each) for each in outages if each),
        sum(any(name.endswith("outage_s") for name in record.bounds) for record in own),
        tuple(sum(each) for each in before if each),
    )


def _of_groups(record: TrialRecord, metric: str) -> list[float]:
    """A metric of each group."""
    return [value for name, value in record.metrics.items() if f".{name}".endswith(f".{metric}")]


def _row(one: Outcome) -> Row:
    return Row(
        one.where,
        len(one.lost),
        survival_text.lost(one),
        survival_text.outage(one),
        survival_text.tps(one),
        one.keeps,
    )


def form(found: View) -> Iterator[RenderableType]:
    """The sentences, and a line a cell."""
    yield Text()
    for sentence in found.sentences:
        yield Text(visible(sentence))
    if len(found.rows) < 2:
        return
    shown = terminal_table("")
    for name in ("set-up", "lost", "outage", "tps before"):
        shown.add_column(Text(name), overflow="fold")
    for row in found.rows[:ROWS_MAX]:
        cells = (visible(row.where), row.lost, row.outage, row.tps)
        shown.add_row(*map(Text, cells), style="" if row.keeps else "yellow")
    yield from (Text(), shown)


SECTION = Section(view, main=5, markdown=45, terminal=25, brief=25, form=form)
