"""The answer in a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.report.context import Context


@dataclass(frozen=True)
class View:
    """`caveat`: what must be known first; mostly empty."""

    caveat: str
    answer: str


def view(context: Context) -> View:
    return View(context.findings.caveat, context.findings.answer)
