"""What people recommend, having read the report: prose that was added to the run."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.report.context import Context
from dbdyno.report.section import Section


@dataclass(frozen=True)
class View:
    """The text, in its own lines."""

    text: str


def view(context: Context) -> View | None:
    """None where nothing was added."""
    text = context.annotations.recommendation.strip()
    return View(text) if text else None


SECTION = Section(view, header=35, markdown=35, brief=35)
