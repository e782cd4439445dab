"""A key above a drawing, in as many lines as it needs: for names too long for the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.report.charts.svg import SERIES, Canvas, plain, shorten, text_width

LINE = 19.0  # px
MARK = 15.0  # px, from a mark to its name


def places(names: Sequence[str], width: float) -> tuple[list[tuple[float, float]], float]:
    """(x, baseline) of each name in reading order, and the height of the whole."""
    x, y = 0.0, 12.0
    placed = []
    for name in names:
        wide = text_width(plain(name)) + MARK + 18
        if x and x + wide > width:
            x, y = 0.0, y + LINE
        placed.append((x, y))
        x += wide
    return placed, (y + 10 if placed else 0.0)


def line_key(canvas: Canvas, names: Sequence[str], styles: Sequence[int]) -> None:
    """Draws the key of a chart of lines: marker and name in the line's colour."""
    placed, _ = places(names, canvas.width)
    for name, style, (x, y) in zip(names, styles, placed, strict=True):
        canvas.marker(x + 5, y - 4, style, size=3.4)
        canvas.text(x + MARK, y, shorten(name, canvas.width - x - MARK), f"name s{style % SERIES}")


def fits(names: Sequence[str], width: float) -> bool:
    """Whether names fit whole at the right of a drawing of that width."""
    return max((text_width(name) for name in names), default=0.0) + 16 <= width * 0.4
