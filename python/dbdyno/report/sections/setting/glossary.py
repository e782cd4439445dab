"""The terms of the field that the report uses, in the words of the glossary."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import dbdyno
from dbdyno.report.context import Context
from dbdyno.report.section import Section

_PACKAGE = Path(dbdyno.__file__).parent
_NAME = Path("docs/glossary.md")
_PLACES = (_PACKAGE / "_docs" / _NAME.name, _PACKAGE.parent.parent / _NAME)
_ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<definition>[^|]+) \| \[", re.MULTILINE)
# What a term is called besides its name and its plural.
_FORMS = {"p95": r"p\d\d(\.9)?", "interval": "intervals?|confidence interval"}
# What a customer must know to read two pages.
BRIEF = frozenset(
    (
        *("block", "cell", "interval", "p95", "qps", "refuted", "session", "supported", "tps"),
        *("trial", "undecided", "warm-up"),
    )
)


@dataclass(frozen=True)
class Term:
    """A row of the glossary."""

    name: str
    definition: str

    def among(self, text: str) -> bool:
        """Whether a text in lower case has it as a word."""
        form = _FORMS.get(self.name)
        if form is None and self.name not in text:
            return False  # which a search would find out a hundred times more slowly
        form = form or f"{re.escape(self.name)}s?"
        return re.search(rf"(?<![\w-])({form})(?![\w-])", text) is not None


def _glossary() -> tuple[Term, ...]:
    text = next(place for place in _PLACES if place.is_file()).read_text(encoding="utf-8")
    rows = _ROW.finditer(text.replace("`", ""))
    return tuple(Term(row["name"], row["definition"]) for row in rows)


# Read with this module: a child that has given root up reads no file of the package.
TERMS = _glossary()


@dataclass(frozen=True)
class View:
    """Terms that may be explained. Those are drawn that the page uses above."""

    terms: tuple[Term, ...]


def view(context: Context) -> View:
    return View(TERMS)


def shortened(view: View) -> View:
    return replace(view, terms=tuple(term for term in view.terms if term.name in BRIEF))


SECTION = Section(view, "Terms", brief=110, shortened=shortened)
