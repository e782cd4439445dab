"""What a section of a report says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from dbdyno.report.context import Context


@dataclass(frozen=True)
class Section:
    """A view, and where it is drawn.

    HTML and Markdown draw the view by partials, which know it as `view`: `templates/sections/PATH`
    where the section's turn comes, `templates/summary/NAME` at the head of the page. A medium
    without a partial leaves the section out.

    `header`, `main`, `markdown` and `terminal` are places in the summaries: of the page's header,
    below it, of Markdown, and the answer in the terminal, which `form` draws. `brief` is one in the
    short form, which shows what `shortened` keeps of the view, by `templates/brief/NAME` where that
    exists, else by the summary's partial. Lower numbers come first; 0: it is not there.
    """

    view: Callable[[Context], Any]  # plain data; None: there is nothing to show
    contents: str = ""  # title in the table of contents, whose anchor is the name; empty: not in it
    inside: str = ""  # name of the section whose HTML element contains this one
    header: int = 0
    main: int = 0
    markdown: int = 0
    terminal: int = 0
    brief: int = 0
    shortened: Callable[[Any], Any] | None = None
    form: Callable[[Any], Iterable[RenderableType]] | None = None

    @property
    def path(self) -> str:
        """Family and name, as of the module."""
        return "/".join(self.view.__module__.split(".")[-2:])

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]
