"""A whole split into parts, one bar a cell: sessions by state, a transaction by statement."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts.key import MARK, places
from dbdyno.report.charts.scale import Scale
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.wording.numbers import sig3

SHADES = 8  # states with a colour of their own; `other` is the last


@dataclass(frozen=True)
class Bar:
    """A cell: the size of each part, in the order of the key; `heading` is above its first."""

    label: str
    parts: tuple[tuple[str, float], ...]
    heading: str = ""


def stacked_bars(
    bars: list[Bar],
    states: list[str],
    *,
    title: str,
    width: float,
    unit: str = "sessions",
) -> Markup:
    """Bars of equal length (shares), the whole in `unit` at the end, with a key above.

    Colour k belongs to `states[k]`; a segment wide enough carries its name.
    """
    heads = [
        i for i, b in enumerate(bars) if b.heading and (not i or bars[i - 1].heading != b.heading)
    ]
    left = min(width * 0.36, max((text_width(plain(b.label)) for b in bars), default=0) + 12)
    right = 64.0
    key, key_height = places(states, width)
    height = key_height + 18 + len(bars) * 26 + len(heads) * 22 + 8
    canvas = Canvas(width, height, title, "; ".join(_said(bar) for bar in bars))
    for i, (state, (x, y)) in enumerate(zip(states, key, strict=True)):
        canvas.rect(x, y - 9, 10, 10, f"f k{i % SHADES}")
        canvas.text(x + MARK, y, shorten(plain(state), width - x - MARK), "tick dark")
    canvas.text(width, key_height + 8, unit, "axis", "end")
    y = key_height + 16.0
    for i, bar in enumerate(bars):
        total = sum(value for _, value in bar.parts)
        if i in heads:
            canvas.text(0, y + 13, shorten(plain(bar.heading), width - right), "head")
            y += 22
        canvas.text(0, y + 14, shorten(plain(bar.label), left - 8), "name")
        _segments(canvas, bar, states, Scale(0, total or 1.0, left, width - right), y, unit)
        canvas.text(width, y + 14, sig3(total), "value", "end")
        y += 26
    return canvas.render()


def _segments(canvas: Canvas, bar: Bar, states: list[str], x: Scale, y: float, unit: str) -> None:
    total = sum(value for _, value in bar.parts) or 1.0
    at = 0.0
    for state, value in bar.parts:
        index = states.index(state) % SHADES
        start, end = x(at), x(at + value)
        at += value
        if end - start < 0.4:
            continue
        share = f"{state}: {sig3(value)} {unit}, {value / total * 100:.0f} %"
        canvas.rect(start, y, max(0.5, end - start - 1), 19, f"f k{index}", share)
        label = plain(state)
        percent = f"{value / total * 100:.0f} %"
        for text in (f"{label} {percent}", percent):
            if text_width(text, 11) + 10 < end - start:
                canvas.text(start + 6, y + 13.5, text, f"on{index} small")
                break


def _said(bar: Bar) -> str:
    where = f"{bar.heading} {bar.label}".strip()
    return f"{where}: " + ", ".join(f"{state} {sig3(value)}" for state, value in bar.parts)
