"""An answer as one HTML file: the sentence, curves of a sweep, numbers, formula, trap, source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dbdyno.models.calculate import Answer
from dbdyno.models.sweep import Effect, Sweep
from dbdyno.report import templating
from dbdyno.report.charts.curve import curve
from dbdyno.report.figures import Figure
from dbdyno.report.models import tables
from dbdyno.report.text.escaping import html
from dbdyno.wording.models import words
from dbdyno.wording.visible import visible

TEMPLATE = "model.html.j2"


def page(
    answer: Answer,
    values: Mapping[str, str],
    effects: Sequence[Effect],
    sweep: Sweep | None,
) -> str:
    """The page; it needs no network and no other file."""
    return templating.styled(TEMPLATE, view(answer, values, effects, sweep))


def view(
    answer: Answer,
    values: Mapping[str, str],
    effects: Sequence[Effect],
    sweep: Sweep | None,
) -> dict[str, Any]:
    """What the template draws."""
    model, currency = answer.model, answer.given.currency
    heads = (sweep.range.name, *sweep.outputs) if sweep else ()
    return {
        "model": model,
        "question": model.document.question,
        "trap": coded(model.document.trap),
        "limits": coded((*model.document.assumptions, *model.document.versions)),
        "source": coded(model.document.source),
        "answer": words.sentence(answer, values),
        "notes": coded(words.notes(answer, values)),
        "swept_notes": coded(tables.swept_notes(model, sweep, currency) if sweep else ()),
        "figures": figures(answer, sweep) if sweep else [],
        "outputs": tables.outputs(answer, values),
        "inputs": tables.inputs(answer, values),
        "steps": tables.explained(answer, values),
        "swept_heads": [words.name(head) for head in heads],
        "swept": tables.swept(model, sweep, currency) if sweep else [],
        "effects": tables.effects(model, effects, currency),
        "effects_of": words.name(model.numeric(model.outputs)[0]),
    }


def coded(texts: Sequence[str]) -> list[Markup]:
    """Paragraphs with text in backticks as code; everything is escaped."""
    return [
        Markup().join(
            Markup("<code>{}</code>").format(visible(part)) if i % 2 else html(part)
            for i, part in enumerate(text.split("`"))
        )
        for text in texts
    ]


def figures(answer: Answer, sweep: Sweep) -> list[Figure]:
    """A curve of each output that moves; of the first one if none does."""
    drawn = tables.drawn(answer.model, sweep)
    moving = [name for name in drawn if sweep.moves(name)] or drawn[:1]
    return [_figure(answer, sweep, name, drawn.index(name)) for name in moving]


def _figure(answer: Answer, sweep: Sweep, name: str, style: int) -> Figure:
    model, currency = answer.model, answer.given.currency
    of = sweep.outputs[name]
    there = [abs(float(v)) for v in of if math.isfinite(v)]
    one, unit = words.unit_of(model.kind_of(name), max(there, default=0.0), currency)
    asked = model.input(sweep.range.name)
    assert asked is not None
    x_one, x_unit = words.unit_of(asked.kind, float(sweep.x[-1]), currency)
    x_unit = x_unit or asked.of
    x_label = words.name(sweep.range.name) + (f", {x_unit}" if x_unit else "")
    x, y = (sweep.x / x_one).tolist(), (of / one).tolist()
    now = (answer.values[sweep.range.name], answer.values[name])
    mark = (float(now[0]) / x_one, float(now[1]) / one)  # type: ignore[arg-type]

    def draw(width: float) -> Markup:
        return curve(x, y, title=words.name(name), unit=unit, x_label=x_label,
                     by_factors=sweep.by_factors, width=width, height=260, style=style,
                     mark=mark)  # fmt: skip

    note = f"{model.step(name).about}; the point is the answer above"
    title = f"{words.name(name)} by {words.name(sweep.range.name)}"
    return Figure(title, note, name, draw)
