"""Line charts for the page: SVG files without a separate style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dbdyno.report.charts.svg import Canvas, text_width

WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 16.0, 36.0, 44.0
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#444}.axis{stroke:#888}.grid{stroke:#e4e4e4}"
    ".bar{stroke:#b00020;stroke-dasharray:5 4}path.line{fill:none;stroke-width:1.8}"
    "path.m,circle.m{stroke:none}"
)
COLOURS = ("#1f5fa8", "#c25700", "#2c7a39", "#7a3f98", "#8a6d00")


def lines(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    across: str,
    up: str,
    bar: float | None = None,
    floor: float = 0.0,
) -> str:
    """A chart of lines over `across`, with y from `floor` up, names in a legend, and a dashed line
    at `bar`. At least one point in all, none below `floor`."""
    canvas = Canvas(WIDTH, HEIGHT, title)
    points = [point for line in series.values() for point in line]
    xs = sorted({x for x, _ in points})
    top = floor + _nice(max([y for _, y in points] + ([1.05 * bar] if bar else [])) - floor)
    low, high = xs[0], xs[-1] if xs[-1] > xs[0] else xs[0] + 1

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (y - floor) / (top - floor) * (HEIGHT - TOP - BOTTOM),
        )

    for step in range(6):
        y = floor + (top - floor) * step / 5
        _, at = place(low, y)
        canvas.line(LEFT, at, WIDTH - RIGHT, at, "grid" if step else "axis")
        canvas.text(LEFT - 6, at + 4, f"{y:.3g}", anchor="end")
    for x in xs if len(xs) <= 16 else xs[:: math.ceil(len(xs) / 16)]:
        at, _ = place(x, floor)
        canvas.text(at, HEIGHT - BOTTOM + 16, f"{x:g}", anchor="middle")
    canvas.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across, anchor="middle")
    canvas.text(4, 14, up)
    if bar is not None:
        _, at = place(low, bar)
        canvas.line(LEFT, at, WIDTH - RIGHT, at, "bar")
    if len(series) > 1:
        _legend(canvas, list(series))
    for index, line in enumerate(series.values()):
        drawn = [place(x, y) for x, y in line]
        canvas.path(drawn, f"line l{index}")
        for x, y in drawn:
            canvas.marker(x, y, index, size=3)
    colours = "".join(
        f".l{i}{{stroke:{colour}}}.m.s{i}{{fill:{colour}}}" for i, colour in enumerate(COLOURS)
    )
    svg = str(canvas.render())
    head = svg.index(">") + 1
    ground = f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="#fff"/>'
    return f"{svg[:head]}<style>{STYLE}{colours}</style>{ground}{svg[head:]}\n"


def _legend(canvas: Canvas, names: Sequence[str]) -> None:
    x = WIDTH - RIGHT - sum(text_width(name) + 30 for name in names)
    for index, name in enumerate(names):
        canvas.marker(x, 22, index, size=3)
        canvas.text(x + 8, 26, name)
        x += text_width(name) + 30


def _nice(value: float) -> float:
    """The next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        power * step
        for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
        if power * step >= value * 0.999
    )
