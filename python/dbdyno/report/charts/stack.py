"""Sessions by state: one bar a cell, split into states, in sessions on average."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from dbdyno.report.charts.scale import Scale
from dbdyno.report.charts.svg import Canvas, plain, shorten, text_width
from dbdyno.report.numbers import sig3

SHADES = 8  # states with a colour of their own; `other` is the last


@dataclass(frozen=True)
class Bar:
    """A cell: average sessions in each state, in the order of the key."""

    label: str
    parts: tuple[tuple[str, float], ...]


def stacked_bars(bars: list[Bar], states: list[str], *, title: str, width: float) -> Markup:
    """Bars of equal length (shares), the number of sessions at the end, with a key above.

    Colour k belongs to `states[k]`; a segment wide enough carries its name.
    """
    left = min(width * 0.36, max((text_width(plain(b.label)) for b in bars), default=0) + 12)
    right = 64.0
    key, key_height = _key(states, width)
    height = key_height + 18 + len(bars) * 26 + 8
    canvas = Canvas(width, height, title, "; ".join(_said(bar) for bar in bars))
    for state, x, y in key:
        canvas.rect(x, y - 9, 10, 10, f"f k{states.index(state) % SHADES}")
        canvas.text(x + 15, y, shorten(plain(state), width - x - 15), "tick dark")
    canvas.text(width, key_height + 8, "sessions" if width > 500 else "sess.", "axis", "end")
    y = key_height + 16.0
    for bar in bars:
        total = sum(value for _, value in bar.parts)
        canvas.text(0, y + 14, shorten(plain(bar.label), left - 8), "name")
        _segments(canvas, bar, states, Scale(0, total or 1.0, left, width - right), y)
        canvas.text(width, y + 14, sig3(total), "value", "end")
        y += 26
    return canvas.render()


def _segments(canvas: Canvas, bar: Bar, states: list[str], x: Scale, y: float) -> None:
    total = sum(value for _, value in bar.parts) or 1.0
    at = 0.0
    for state, value in bar.parts:
        index = states.index(state) % SHADES
        start, end = x(at), x(at + value)
        at += value
        if end - start < 0.4:
            continue
        share = f"{state}: {sig3(value)} sessions, {value / total * 100:.0f} %"
        canvas.rect(start, y, max(0.5, end - start - 1), 19, f"f k{index}", share)
        label = plain(state)
        percent = f"{value / total * 100:.0f} %"
        for text in (f"{label} {percent}", percent):
            if text_width(text, 11) + 10 < end - start:
                canvas.text(start + 6, y + 13.5, text, f"on{index} small")
                break


def _key(states: list[str], width: float) -> tuple[list[tuple[str, float, float]], float]:
    """Places the key's entries in lines: (state, x, baseline) and the height used."""
    x, y = 0.0, 12.0
    placed = []
    for state in states:
        wide = text_width(plain(state)) + 15 + 18
        if x and x + wide > width:
            x, y = 0.0, y + 19
        placed.append((state, x, y))
        x += wide
    return placed, y + 10


def _said(bar: Bar) -> str:
    return f"{bar.label}: " + ", ".join(f"{state} {sig3(value)}" for state, value in bar.parts)
