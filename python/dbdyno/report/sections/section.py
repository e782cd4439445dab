"""What a section of the report is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dbdyno.report.context import Context


@dataclass(frozen=True)
class Section:
    """A view, and where it is drawn.

    HTML and Markdown draw the view by partials, which know it as `view`: `templates/sections/PATH`
    where the section's turn comes, `templates/summary/NAME` where the page's template names it. A
    medium without a partial leaves the section out. The terminal's forms are in `terminal.py`.
    """

    path: str  # family/name, of the module and of the partials
    view: Callable[[Context], Any]  # plain data; None: there is nothing to show
    contents: str = ""  # title in the table of contents, whose anchor is the name; empty: not in it
    inside: str = ""  # name of the section in whose HTML element this one stands

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]
