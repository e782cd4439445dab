"""The answer in a sentence or two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from dbdyno.report.context import Context
from dbdyno.report.section import Section
from dbdyno.report.sections.setting import tested
from dbdyno.wording.visible import visible


@dataclass(frozen=True)
class View:
    """`caveat`: what must be known first; mostly empty. `shared`: whether the load generator took
    CPU time from what it measured, in a sentence; empty if not."""

    caveat: str
    answer: str
    shared: str = ""


def view(context: Context) -> View:
    return View(context.findings.caveat, context.findings.answer, tested.shared(context.plan))


def form(view: View) -> Iterator[RenderableType]:
    yield Text(visible(f"{view.caveat} {view.answer}".strip()))
    if view.shared:
        yield Text(view.shared, style="yellow")


SECTION = Section(view, header=30, markdown=30, terminal=30, brief=30, form=form)
