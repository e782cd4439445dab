"""What explains the answer."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.report.context import Context


@dataclass(frozen=True)
class View:
    """The cause, and what moved with it; one of them may be empty."""

    why: str
    moved_with: str


def view(context: Context) -> View | None:
    """None where nothing is known about the cause."""
    found = context.findings
    return View(found.why, found.moved_with) if found.why or found.moved_with else None
