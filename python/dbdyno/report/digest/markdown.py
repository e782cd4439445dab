"""A digest in Markdown: answer, all statements together, profile, classes."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.digest.document import Class, Distribution, Document
from dbdyno.report.digest.cut import elide
from dbdyno.report.digest.profile import columns, legend
from dbdyno.report.text.escaping import fence
from dbdyno.report.text.escaping import markdown as md
from dbdyno.wording.digest import amounts, words


def markdown(document: Document, *, brief: bool = False) -> str:
    """The whole report. `brief`: without a part for each class."""
    lines = [f"# {md(words.answer(document))}", ""]
    for note in (*words.limits(document), *words.notes(document)):
        lines += [f"**{md(note)}**", ""]
    lines += [f"- {md(one)}" for one in words.sources(document)]
    if document.classes:
        lines += ["", "## Overall", "", *_overall(document)]
        lines += ["", "## Profile", "", *_profile(document)]
    if rest := words.rest(document):
        lines += ["", md(rest)]
    for one in () if brief else document.classes:
        lines += ["", *_class(document, one)]
    for note in words.numbers_notes(document):
        lines += ["", note]
    if missed := words.not_understood(document):
        lines += ["", "## Not understood", "", fence("\n".join(missed))]
    return "\n".join(lines) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """A Markdown table; columns in `left` are text, the others numbers. Cells are escaped here."""
    lines = ["| " + " | ".join(md(head) for head in heads) + " |"]
    lines.append("|" + "|".join("---" if i in left else "---:" for i in range(len(heads))) + "|")
    return lines + ["| " + " | ".join(md(cell) for cell in row) + " |" for row in rows]


def _overall(document: Document) -> list[str]:
    all_ = document.overall
    said = [*words.overall(document), *words.flags(all_)]
    return [*_numbers(amounts.main_measures(all_)), md(", ".join(said))]


def _profile(document: Document) -> list[str]:
    found = columns(document, maxima=True)
    what = "statement" if document.group_by == "fingerprint" else "what"
    rows = [
        (
            str(one.rank),
            amounts.short_id(one),
            *(column.shown(column.of(one)) for column in found),
            elide(amounts.one_line(one.fingerprint), 200),
        )
        for one in document.classes
    ]
    lines = table(("#", "ID", *(one.head for one in found), what), rows, (1, 2 + len(found)))
    for said in legend(found, document.classes):
        lines += ["", md(said)]
    return lines


def _numbers(measured: Sequence[tuple[str, str, Distribution]]) -> list[str]:
    """A table of measures with an empty line behind it; nothing for none."""
    shown = amounts.columns(measured)
    rows = [
        (amounts.measure(name), *(amounts.cell(values, unit, column) for column in shown))
        for name, unit, values in measured
    ]
    return [*table(("", *shown), rows, (0,)), ""] if rows else []


def _class(document: Document, one: Class) -> list[str]:
    lines = [f"## {one.rank}. {md(amounts.label(one))}", "", fence(one.fingerprint), ""]
    lines += _numbers(amounts.measured(one))
    lines += [f"- {name}: {md(what)}" for name, what in words.facts(document, one)]
    if one.sample and one.sample.text is not None:
        lines += ["", "Sample" + (" (cut)" if one.sample.is_cut else "") + ":", ""]
        lines.append(fence(one.sample.text))
    return lines
