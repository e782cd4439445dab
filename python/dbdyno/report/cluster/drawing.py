"""Each node's state over time as bars, one under the other, with what was done above."""

from __future__ import annotations

from markupsafe import Markup

from dbdyno.models.cluster.outcome import history
from dbdyno.models.cluster.outcome.history import History, Span
from dbdyno.report.charts.key import MARK, places
from dbdyno.report.charts.scale import Scale, linear_ticks
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.wording.quantities import tick

ROW, BAR, FOOT = 30.0, 18.0, 40.0
# Classes of the page's own style; the height of a bar distinguishes states without colour.
STYLES = {
    history.PRIMARY: ("primary", "cluster-primary", 1.0),
    history.THROTTLED: ("flow control", "cluster-flow", 1.0),
    history.STALLED: ("writes are stalled", "cluster-stalled", 0.7),
    history.JOINING: ("catches up", "cluster-joining", 0.45),
    history.NON_PRIMARY: ("non-primary", "cluster-refuses", 0.45),
    history.PAUSED: ("paused", "cluster-paused", 0.2),
    history.DOWN: ("down", "cluster-down", 0.0),
}


def drawing(found: History, names: dict[str, str], width: float) -> Markup:
    """`names`: the text next to each node's bar."""
    used = {one.state for spans in found.spans.values() for one in spans}
    states = [state for state in history.STATES if state in used and state != history.DOWN]
    keys = [STYLES[state][0] for state in states]
    splits = found.split_brains()
    keys += ["split brain"] if splits else []
    placed, above = places(keys, width)
    left = min(width * 0.3, max(text_width(plain(name)) for name in names.values()) + 12)
    height = above + len(found.spans) * ROW + FOOT
    canvas = Canvas(width, height, "States of the nodes over time", _summary(found))
    styles = [STYLES[state][1] for state in states] + ["cluster-split"] * bool(splits)
    for name, css, (x, y) in zip(keys, styles, placed, strict=True):
        canvas.rect(x, y - 9, 10, 10, css)
        canvas.text(x + MARK, y, name, "tick dark")
    x_of = Scale(0, found.until_s, left, width - 12)
    bottom = above + len(found.spans) * ROW
    for value in linear_ticks(found.until_s, max(3, int(width / 110))):
        if value <= found.until_s:
            canvas.line(x_of(value), above, x_of(value), bottom, "grid")
            canvas.text(x_of(value), bottom + 16, tick(value), "tick", "middle")
    canvas.text((left + width - 12) / 2, height - 6, "seconds", "axis", "middle")
    for begin, end, _ in splits:
        canvas.rect(x_of(begin), above, x_of(end) - x_of(begin), bottom - above, "cluster-split")
    for number, (node, spans) in enumerate(found.spans.items()):
        middle = above + (number + 0.5) * ROW
        canvas.text(0, middle + 4, shorten(plain(names[node]), left - 8), "tick dark")
        canvas.line(left, middle + BAR / 2, width - 12, middle + BAR / 2, "grid")
        for span in spans:
            _bar(canvas, span, x_of, middle)
    return canvas.render()


def _bar(canvas: Canvas, span: Span, x_of: Scale, middle: float) -> None:
    word, css, share = STYLES[span.state]
    if not share:
        return
    begin, end = x_of(span.begin_s), x_of(span.end_s)
    tall = BAR * share
    members = f", {len(span.members)} of: {' '.join(span.members)}" if span.members else ""
    why = f": {span.why}" if span.why else ""
    tip = f"{word}{why}, {span.begin_s:.2f} to {span.end_s:.2f} s{members}"
    canvas.rect(begin, middle + BAR / 2 - tall, max(0.8, end - begin), tall, css, tip)


def _summary(found: History) -> str:
    parts = []
    for node, spans in found.spans.items():
        told = ", ".join(
            f"{STYLES[one.state][0]} from {one.begin_s:.1f} s"
            for one in spans
            if one.length_s > history.BRIEF_S
        )
        parts.append(f"{node}: {told}")
    return "; ".join(parts)
