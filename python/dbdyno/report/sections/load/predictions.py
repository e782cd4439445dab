"""What models say of servers that work together, next to what was measured, with the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.text import Text

from dbdyno.analysis.predictions.types import KNOWN, MEMBERS, MODELS, Predictions
from dbdyno.report.context import Context
from dbdyno.report.layout import which
from dbdyno.report.section import Section
from dbdyno.wording.plurals import count
from dbdyno.wording.visible import visible
from dbdyno.wording.within_trial import predictions_text as text

IN_TERMINAL = 3  # cells


@dataclass(frozen=True)
class Row:
    """One prediction, as it is read."""

    what: str
    predicted: str
    measured: str
    difference: str
    known_error: str  # of the model, in the proof
    model: str


@dataclass(frozen=True)
class View:
    """The predictions of one cell; `sentences`: their inputs, and what is not predicted."""

    where: str  # empty: the only cell
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]


def view(context: Context) -> tuple[View, ...] | None:
    """Cells with the same sentences and no rows are one; None without servers that work
    together."""
    found: dict[object, tuple[list[int], View]] = {}
    for one in context.findings.predictions:
        rows = tuple(_rows(one))
        sentences = tuple(map(visible, (*one.inputs, *one.unknown)))
        key = (one.cell, *rows) if rows else sentences
        found.setdefault(key, ([], View("", sentences, rows)))[0].append(one.cell)
    return (
        tuple(replace(one, where=_where(cells, context)) for cells, one in found.values()) or None
    )


def _where(cells: Sequence[int], context: Context) -> str:
    """Empty: the only cell of the run."""
    if len(context.plan.cells) == 1:
        return ""
    return which(cells, context.plan.cells, context.layout) or "all cells"


def _rows(one: Predictions) -> Iterator[Row]:
    for each in one.quantities:
        yield Row(
            *(visible(text.what(each)), text.predicted(each), text.measured(each)),
            text.judged(text.difference(each), each),
            *(text.known_error(each.known_error, each.what), MODELS[each.what]),
        )
    for seen in one.sequences:
        yield Row(
            visible(f"{seen.of}: {text.MEMBERS}"),
            text.members(seen.predicted),
            text.members(seen.measured),
            text.judged(text.agreement(seen.agree, len(seen.measured)), seen),
            *(text.known_error(KNOWN[MEMBERS], MEMBERS), MODELS[MEMBERS]),
        )


def form(found: tuple[View, ...]) -> Iterator[RenderableType]:
    """A line a cell that has predictions."""
    having = [one for one in found if one.rows]
    for one in having[:IN_TERMINAL]:
        head = f"Predicted at {one.where}: " if one.where else "Predicted: "
        said = "; ".join(
            f"{row.what} {row.predicted}, measured {row.measured} ({row.difference})"
            for row in one.rows
        )
        yield Text(head + said)
    if (more := len(having) - IN_TERMINAL) > 0:
        yield Text(f"Predictions of {count(more, 'more cell')} in the report")


SECTION = Section(view, "Predictions", terminal=66, form=form)
