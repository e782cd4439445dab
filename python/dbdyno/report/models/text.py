"""An answer for the terminal: the sentence, what limits it, a table, and a drawing of a sweep."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from rich.cells import cell_len

from dbdyno.models.calculate import Answer
from dbdyno.models.model import Model
from dbdyno.models.sweep import Effect, Sweep
from dbdyno.report.models import tables
from dbdyno.wording.models import words
from dbdyno.wording.visible import visible

HEIGHT = 10  # rows of a drawing
EIGHTHS = " ▁▂▃▄▅▆▇█"


def text(
    answer: Answer,
    values: Mapping[str, str],
    *,
    width: int = 100,
    explain: bool = False,
    effects: Sequence[Effect] | None = None,
    sweep: Sweep | None = None,
) -> str:
    """The whole answer, `width` columns wide."""
    lines = [*textwrap.wrap(words.sentence(answer, values), width)]
    for note in words.notes(answer, values):
        lines += textwrap.wrap(f"note: {note}", width, subsequent_indent="      ")
    lines += ["", *grid(tables.outputs(answer, values), width)]
    lines += ["", *grid([("with", "", ""), *tables.inputs(answer, values)], width)]
    if explain:
        lines += ["", *_explained(answer, values, width)]
    if effects is not None:
        lines += ["", *_effects(answer, effects, width)]
    if sweep is not None:
        lines += ["", *_swept(answer, sweep, width)]
    if explain:
        for one in (*answer.model.document.assumptions, *answer.model.document.source):
            lines += ["", *textwrap.wrap(one, width)]
    return "\n".join(visible(line).rstrip() for line in lines) + "\n"


def listing(models: Sequence[Model], width: int) -> str:
    """Every model and its question."""
    lines = grid([(one.name, one.document.question) for one in models], width)
    return "\n".join([*lines, "", "`dyno model NAME` says what it takes."]) + "\n"


def about(model: Model, width: int) -> str:
    """What a model takes and where it comes from, for one who has not asked yet."""
    lines = [model.document.question, ""]
    for one in model.document.prose:
        lines += [*textwrap.wrap(one, width), ""]
    rows = []
    for asked in model.inputs:
        default = f"default {asked.default}" if asked.default is not None else "required"
        rows.append((asked.name, asked.kind_name, default, asked.about))
    lines += [*grid(rows, width), ""]
    for step in model.document.steps:
        lines += textwrap.wrap(
            f"{step.name} = {step.expression.text}", width, subsequent_indent="    "
        )
    for name in ("trap", "assumptions", "versions", "source"):
        for i, one in enumerate(getattr(model.document, name)):
            lines += ["", *textwrap.wrap(f"{name.capitalize()}: {one}" if i == 0 else one, width)]
    return "\n".join(lines) + "\n"


def grid(rows: Sequence[Sequence[str]], width: int, indent: str = "") -> list[str]:
    """Columns two apart; the last one is wrapped at the terminal's edge."""
    if not rows:
        return []
    lengths = [max(cell_len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    room = max(24, width - len(indent) - sum(lengths) - 2 * len(lengths))
    lines = []
    for row in rows:
        head = "  ".join(_pad(cell, length) for cell, length in zip(row, lengths, strict=False))
        for i, part in enumerate(textwrap.wrap(row[-1], room) or [""]):
            lines.append(f"{indent}{head if i == 0 else ' ' * cell_len(head)}  {part}")
    return lines


def _pad(cell: str, length: int) -> str:
    return cell + " " * (length - cell_len(cell))


def _explained(answer: Answer, values: Mapping[str, str], width: int) -> list[str]:
    lines = []
    for name, formula, numbers, value, what in tables.explained(answer, values):
        lines += textwrap.wrap(f"{name} = {formula}", width, subsequent_indent="    ")
        if numbers != formula:
            lines += textwrap.wrap(f"= {numbers}", width, initial_indent="    ",
                                   subsequent_indent="      ")  # fmt: skip
        lines.append(f"    = {value}")
        lines += textwrap.wrap(what, width, initial_indent="    ", subsequent_indent="    ")
    return lines


def _effects(answer: Answer, effects: Sequence[Effect], width: int) -> list[str]:
    output = answer.model.numeric(answer.model.outputs)[0]
    rows = tables.effects(answer.model, effects, answer.given.currency)
    return grid([("input", "from, to", output, "for 1 % more"), *rows], width)


def _swept(answer: Answer, sweep: Sweep, width: int) -> list[str]:
    model, currency = answer.model, answer.given.currency
    lines = chart(model, sweep, currency, width)
    heads = (sweep.range.name, *sweep.outputs)
    lines += ["", *grid([heads, *tables.swept(model, sweep, currency)], width)]
    for note in tables.swept_notes(model, sweep, currency):
        lines += textwrap.wrap(f"note: {note}", width, subsequent_indent="      ")
    return lines


def chart(model: Model, sweep: Sweep, currency: str, width: int) -> list[str]:
    """The first output that moves over the swept input, as columns of eighths from zero, or from
    the lowest value where some are negative or all lie close together."""
    drawn = tables.drawn(model, sweep)
    name = next((key for key in drawn if sweep.moves(key)), drawn[0])
    of = sweep.outputs[name]
    there = [float(v) for v in of if math.isfinite(v)]
    if not there:
        return [f"{name}: no value in this range"]
    low, high = min(there), max(there)
    base = 0.0 if 0 <= low < 0.7 * high or low == high else low
    ends = [words.one(model, name, value, currency) for value in (high, base)]
    room = max(cell_len(end) for end in ends) + 2
    columns = max(8, min(len(of), width - room - 1))
    heights = [_height(float(of[i]), base, high) for i in _nearest(sweep, columns)]
    lines = [f"{words.name(name)} ({model.step(name).about})"]
    for row in range(HEIGHT - 1, -1, -1):
        end = ends[0] if row == HEIGHT - 1 else ends[1] if row == 0 else ""
        cells = "".join(EIGHTHS[max(0, min(8, height - 8 * row))] for height in heights)
        lines.append(f"{end.rjust(room - 2)} │{cells}")
    first, last = (
        words.one(model, sweep.range.name, value, currency)
        for value in (float(sweep.x[0]), float(sweep.x[-1]))
    )
    middle = sweep.range.name + (" (by factors)" if sweep.by_factors else "")
    gap = max(1, columns - cell_len(first) - cell_len(last) - cell_len(middle))
    left = gap // 2
    lines.append(" " * room + first + " " * left + middle + " " * (gap - left) + last)
    return lines


def _nearest(sweep: Sweep, columns: int) -> list[int]:
    """For each column the point that is nearest to its place on the axis."""
    space = np.geomspace if sweep.by_factors else np.linspace
    places = space(float(sweep.x[0]), float(sweep.x[-1]), columns)
    after = np.clip(np.searchsorted(sweep.x, places), 1, len(sweep.x) - 1)
    before_is_nearer = places - sweep.x[after - 1] < sweep.x[after] - places
    return [int(i) for i in np.where(before_is_nearer, after - 1, after)]


def _height(value: float, base: float, high: float) -> int:
    """In eighths of a row; at least one for a value above zero."""
    if math.isnan(value):
        return 0
    if not math.isfinite(value):
        return 8 * HEIGHT
    share = (value - base) / (high - base) if high > base else 0.5
    return max(1, round(share * 8 * HEIGHT))
