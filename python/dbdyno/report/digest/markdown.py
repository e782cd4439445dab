"""A digest in Markdown: answer, profile, classes."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.digest.document import Class, Document
from dbdyno.report.digest import words
from dbdyno.report.text import fence
from dbdyno.report.text import markdown as md


def markdown(document: Document) -> str:
    """The whole report."""
    lines = [f"# {md(words.answer(document))}", ""]
    for note in (*words.limits(document), *document.notes):
        lines += [f"**{md(note)}**", ""]
    lines += [f"- {md(one)}" for one in words.sources(document)]
    if document.classes:
        lines += ["", "## Profile", "", *_profile(document)]
    if rest := words.rest(document):
        lines += ["", md(rest)]
    for one in document.classes:
        lines += ["", *_class(document, one)]
    if note := words.sketch_note(document):
        lines += ["", note]
    if missed := words.not_understood(document):
        lines += ["", "## Not understood", "", fence("\n".join(missed))]
    return "\n".join(lines) + "\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """A Markdown table; columns in `left` are text, the others numbers. Cells are escaped here."""
    lines = ["| " + " | ".join(md(head) for head in heads) + " |"]
    lines.append("|" + "|".join("---" if i in left else "---:" for i in range(len(heads))) + "|")
    return lines + ["| " + " | ".join(md(cell) for cell in row) + " |" for row in rows]


def _profile(document: Document) -> list[str]:
    heads = ("#", "ID", "share", "time", "calls", "R/call", "V/M", "statement")
    rows = [
        (
            str(one.rank),
            words.short_id(one),
            words.share(one.time_share),
            words.duration(one.query_time.sum if one.query_time else None),
            words.whole(words.calls(one)),
            words.duration(words.per_call(one)),
            "–" if one.v_m is None else f"{one.v_m:.2f}",
            words.one_line(one.fingerprint)[:200],
        )
        for one in document.classes
    ]
    return table(heads, rows, (1, 7))


def _class(document: Document, one: Class) -> list[str]:
    lines = [f"## {one.rank}. {md(words.label(one))}", "", fence(one.fingerprint), ""]
    measured = words.measured(one)
    columns = words.columns(measured)
    rows = [
        (words.measure(name), *(words.cell(values, unit, column) for column in columns))
        for name, unit, values in measured
    ]
    if rows:
        lines += [*table(("", *columns), rows, (0,)), ""]
    lines += [f"- {name}: {md(what)}" for name, what in words.facts(document, one)]
    if one.sample and one.sample.text is not None:
        lines += ["", "Sample" + (" (cut)" if one.sample.is_cut else "") + ":", ""]
        lines.append(fence(one.sample.text))
    return lines
