"""What people recommend, having read the report: prose that was added to the run."""

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
    """The text, in its own lines."""

    text: str


def view(context: Context) -> View | None:
    """None where nothing was added."""
    text = context.annotations.recommendation.strip()
    return View(text) if text else None


def form(view: View) -> Iterator[RenderableType]:
    yield from (Text(), Text.assemble(("Recommendation: ", "bold"), visible(view.text)))


SECTION = Section(view, header=35, markdown=35, terminal=35, brief=35, form=form)
