"""What explains the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.wording.visible import visible


@dataclass(frozen=True)
class View:
    """The cause, and what moved with it; one of them may be empty."""

    why: str
    moved_with: str


def view(context: Context) -> View | None:
    """None where nothing is known about the cause."""
    found = context.findings
    return View(found.why, found.moved_with) if found.why or found.moved_with else None


def form(view: View) -> Iterator[RenderableType]:
    if view.why:
        yield Text(f"Why: {visible(view.why)}", style="dim")
    if view.moved_with:
        yield Text(f"Moved with it: {visible(view.moved_with)}", style="dim")


SECTION = Section(view, main=20, markdown=50, terminal=40, brief=50, form=form)
