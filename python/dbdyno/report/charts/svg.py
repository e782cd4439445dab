"""A canvas that writes SVG 1.1, and the little typography that charts need.

Everything textual is escaped here, coordinates are rounded to a tenth of a pixel.
"""

from __future__ import annotations

from markupsafe import Markup

from dbdyno.report.text.escaping import html
from dbdyno.wording.visible import visible

SERIES = 8  # colours and marker shapes in the palette
FONT = 12.0  # px, the size of every label

# Advance widths in em of a humanist sans at normal weight, good to a few percent: enough to keep
# labels apart without a font engine.
_NARROW = frozenset("iljtfrI.,:;'|!()[] ·")
_WIDE = frozenset("mwMW@%×±")


def text_width(text: str, size: float = FONT) -> float:
    """Estimated width of a label in pixels; rather too wide than too narrow."""
    total = 0.0
    for character in text:
        if character in _NARROW:
            total += 0.36
        elif character in _WIDE:
            total += 0.92
        elif character.isupper():
            total += 0.71
        elif ord(character) > 0x2E80:
            total += 1.0
        else:
            total += 0.61
    return total * size


def shorten(text: str, width: float, size: float = FONT) -> str:
    """A label cut with an ellipsis so that it fits `width` pixels."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Canvas:
    """Collects SVG elements; `render` closes the drawing.

    `title` is its accessible name, `summary` the longer description for those who cannot see it.
    """

    def __init__(self, width: float, height: float, title: str, summary: str = "") -> None:
        self.width = width
        self.height = height
        self.title = title
        self.summary = summary
        self.parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        self.parts.append(
            f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
            f' class="{css}"/>'
        )

    def path(self, points: list[tuple[float, float]], css: str, close: bool = False) -> None:
        """A polyline, or a filled outline if `close`."""
        if not points:
            return
        body = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.parts.append(f'<path d="M{body}{"Z" if close else ""}" class="{css}"/>')

    def rect(
        self, x: float, y: float, width: float, height: float, css: str, tip: str = ""
    ) -> None:
        """A rectangle, with a tooltip if given."""
        inner = f"<title>{html(tip)}</title>" if tip else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(0.0, width))}"'
            f' height="{number(max(0.0, height))}" class="{css}">{inner}</rect>'
        )

    def text(self, x: float, y: float, text: str, css: str = "tick", anchor: str = "start") -> None:
        """A label; `y` is its baseline."""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" class="{css}" text-anchor="{anchor}">'
            f"{html(text)}</text>"
        )

    def image(self, x: float, y: float, width: float, height: float, href: str) -> None:
        """A pixel image stretched without smoothing; `href` is a data: URL of dbdyno."""
        self.parts.append(
            f'<image x="{number(x)}" y="{number(y)}" width="{number(width)}"'
            f' height="{number(height)}" href="{href}" preserveAspectRatio="none"'
            ' style="image-rendering:pixelated"/>'
        )

    def marker(
        self, x: float, y: float, index: int, tip: str = "", hollow: bool = False, size: float = 4
    ) -> None:
        """A point whose shape, not only its colour, identifies the series."""
        css = f"m s{index % SERIES}{' hollow' if hollow else ''}"
        shape = index % 4
        if shape == 0:
            body = f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(size)}" class="{css}">'
            end = "</circle>"
        else:
            a = size * 1.05
            if shape == 1:
                corners = [(x - a, y - a), (x + a, y - a), (x + a, y + a), (x - a, y + a)]
                corners = [(x + (cx - x) * 0.85, y + (cy - y) * 0.85) for cx, cy in corners]
            elif shape == 2:
                corners = [(x, y - a * 1.2), (x + a * 1.1, y + a * 0.8), (x - a * 1.1, y + a * 0.8)]
            else:
                corners = [
                    (x, y - a * 1.25),
                    (x + a * 1.25, y),
                    (x, y + a * 1.25),
                    (x - a * 1.25, y),
                ]
            d = "L".join(f"{number(cx)} {number(cy)}" for cx, cy in corners)
            body, end = f'<path d="M{d}Z" class="{css}">', "</path>"
        inner = f"<title>{html(tip)}</title>" if tip else ""
        self.parts.append(body + inner + end)

    def render(self, css: str = "") -> Markup:
        """The finished element, sized by its view box."""
        w, h = number(self.width), number(self.height)
        summary = f"<desc>{html(self.summary)}</desc>" if self.summary else ""
        return Markup(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}"'
            f' width="{w}" height="{h}" role="img" class="chart {css}"'
            f' aria-label="{html(self.title)}">'
            f"<title>{html(self.title)}</title>{summary}{''.join(self.parts)}</svg>"
        )


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Moves labels as little as possible so that neighbours are `gap` apart, within [low, high].

    Pools overlapping neighbours into blocks around their mean; the input need not be sorted. If
    there is not room for all, labels are spaced evenly.
    """
    if not wanted:
        return []
    if gap * (len(wanted) - 1) > high - low:
        gap = (high - low) / max(1, len(wanted) - 1)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[float]] = []  # [centre, members]
    for i in order:
        blocks.append([min(high, max(low, wanted[i])), 1])
        _keep_inside(blocks[-1], gap, low, high)
        while len(blocks) > 1:
            upper, lower = blocks[-2], blocks[-1]
            if lower[0] - upper[0] >= gap * (upper[1] + lower[1]) / 2:
                break
            members = upper[1] + lower[1]
            centre = (upper[0] * upper[1] + lower[0] * lower[1]) / members
            blocks[-2:] = [[centre, members]]
            _keep_inside(blocks[-1], gap, low, high)
    placed = [0.0] * len(wanted)
    position = 0
    for centre, members in blocks:
        for k in range(int(members)):
            placed[order[position]] = centre + (k - (members - 1) / 2) * gap
            position += 1
    return placed


def _keep_inside(block: list[float], gap: float, low: float, high: float) -> None:
    half = (block[1] - 1) / 2 * gap
    block[0] = min(high - half, max(low + half, block[0]))


def plain(text: str) -> str:
    """A label with control characters made visible, not yet escaped."""
    return visible(text)
