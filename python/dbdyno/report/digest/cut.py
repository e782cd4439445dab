"""Text cut to a terminal's columns."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

NAME_LEAST = 16  # columns to which a name within a longer text may be cut


def fit(text: str, width: int) -> str:
    """Text in at most so many columns, an ellipsis where its end was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def middle(name: str, width: int) -> str:
    """A name in at most so many columns: its middle is cut, since names differ at their end."""
    if cell_len(name) <= width:
        return name
    head = set_cell_size(name, max(1, (width - 1) // 3)).rstrip()
    tail = name[-max(1, width) :]
    while cell_len(head) + 1 + cell_len(tail) > width and len(tail) > 1:
        tail = tail[1:]
    return f"{head}…{tail}"


def elide(text: str, width: int) -> str:
    """Text in at most so many columns: long names lose their middle first, then it its end."""
    if cell_len(text) <= width:
        return text
    most = width if " " not in text else max(NAME_LEAST, width // 3)
    return fit(re.sub(r"[^\s,()=<>]+", lambda found: middle(found.group(), most), text), width)
