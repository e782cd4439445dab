"""Latency over time as a heat map: time across, latency up (logarithmic), darker where more
transactions finished.

The cells are the pixels of a tiny PNG of one colour with varying opacity, so that a map costs about
a kilobyte and reads on a light and on a dark page. Sources: PNG specification (W3C), Brendan Gregg,
"Visualizing System Latency" (2010), for the form.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dbdyno.report.charts.scale import Scale, linear_ticks, log_ticks
from dbdyno.report.charts.svg import Canvas, text_width
from dbdyno.wording.quantities import tick

ROWS = 36  # latency bands, evenly spaced on the logarithmic axis
COLUMNS_MAX = 120


@dataclass(frozen=True)
class Heat:
    """Counts, shape (ROWS, columns), row 0 the fastest band; time from 0 to `duration_s`."""

    counts: NDArray[np.float64]
    low_ms: float
    high_ms: float
    duration_s: float


def heat_map(heat: Heat, *, title: str, width: float, height: float) -> Markup:
    """Draws the map with its axes."""
    ticks = log_ticks(heat.low_ms, heat.high_ms, 5)
    left = max((text_width(tick(v)) for v in ticks), default=20) + 8
    canvas = Canvas(width, height, title)
    x = Scale(0, heat.duration_s, left, width - 10)
    y = Scale(heat.low_ms, heat.high_ms, height - 34, 20, True)
    canvas.image(left, 20, x.end - left, y.start - 20, png(opacity(heat.counts)[::-1]))
    canvas.text(0, 11, "ms", "axis")
    for value in ticks:
        canvas.line(left - 3, y(value), left, y(value), "zero")
        canvas.text(left - 6, y(value) + 4, tick(value), "tick", "end")
    canvas.line(left, y.start, x.end, y.start, "zero")
    for value in linear_ticks(heat.duration_s, 4):
        if value > heat.duration_s:
            continue
        canvas.text(x(value), height - 18, tick(value), "tick", "middle")
    canvas.text((left + x.end) / 2, height - 3, "seconds", "axis", "middle")
    return canvas.render()


def opacity(counts: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Opacity 0 to 255 of each cell: the square root of its share of the fullest cell, since a
    linear
    one would show only the mode. A cell that holds anything is visible."""
    top = counts.max()
    if top <= 0:
        return np.zeros(counts.shape, dtype=np.uint8)
    alpha = np.sqrt(counts / top) * 255
    return np.where(counts > 0, np.maximum(alpha, 18), 0).astype(np.uint8)


def png(alpha: NDArray[np.uint8]) -> str:
    """A data: URL of an indexed PNG: one colour, opacity by pixel."""
    rows, columns = alpha.shape
    raw = b"".join(b"\0" + row.tobytes() for row in alpha)
    colour = (214, 96, 30)
    body = b"\x89PNG\r\n\x1a\n"
    body += _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0))
    body += _chunk(b"PLTE", bytes(colour) * 256)
    body += _chunk(b"tRNS", bytes(range(256)))
    body += _chunk(b"IDAT", zlib.compress(raw, 9))
    body += _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(body).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
