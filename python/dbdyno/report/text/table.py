"""Tables in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from dbdyno.wording.visible import visible

ROWS_MAX = 16  # of a table; the report has all of them


def terminal_table(title: str, *, show_header: bool = True) -> Table:
    """An empty table without lines; a title on its left."""
    head = Text(visible(title), style="bold") if title else None
    return Table(
        title=head, title_justify="left", box=None, pad_edge=False, show_header=show_header
    )
