"""Two digests side by side: in the terminal, as Markdown, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.digest.compare import FASTER, NOT_CLEAR, NOT_JUDGED, SLOWER, Change, Compared
from dbdyno.digest.document import Class
from dbdyno.report import templating
from dbdyno.report.digest.cut import fit
from dbdyno.report.digest.markdown import table as markdown_table
from dbdyno.report.text.escaping import markdown as md
from dbdyno.wording.digest import amounts, comparison_text
from dbdyno.wording.numbers import MISSING, percent
from dbdyno.wording.quantities import edge, times

TEMPLATE = "digest_compare.html.j2"
ROWS_MAX = 20  # of a table in the terminal and in Markdown; HTML and JSON have all


@dataclass(frozen=True)
class Table:
    """Rows of one kind; the last column is the statement."""

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(compared: Compared, statement_max: int = 400) -> list[Table]:
    """What got slower, faster, is new, is gone, and what is undecided; empty ones are omitted."""
    heads = ("ratio", f"{percent(compared.level)} interval", "A", "B", "calls A", "calls B")
    found = [
        Table(name, (*heads, "statement"), tuple(_row(one, statement_max) for one in rows))
        for name, rows in (
            ("Slower a call", compared.of(SLOWER)),
            ("Faster a call", compared.of(FASTER)),
            ("No clear difference", compared.of(NOT_CLEAR)),
        )
    ]
    one_side = ("share", "time", "calls", "R/call", "statement")
    found += [
        Table(name, one_side, tuple(_lone(one, statement_max) for one in rows))
        for name, rows in (
            ("New in B", compared.new),
            ("Gone from A", compared.gone),
            ("In B, not listed in A", compared.not_listed_in_a),
            ("In A, not listed in B", compared.not_listed_in_b),
        )
    ]
    found.append(
        Table(
            "Not judged",
            ("ratio", "why", "A", "B", "calls A", "calls B", "statement"),
            tuple(_row(one, statement_max) for one in compared.of(NOT_JUDGED)),
        )
    )
    return [one for one in found if one.rows]


def _row(one: Change, statement_max: int) -> tuple[str, ...]:
    interval = one.why or (MISSING if one.low is None else f"{edge(one.low)} to {edge(one.high)}")
    return (
        times(one.ratio),
        interval,
        amounts.duration(amounts.per_call(one.a)),
        amounts.duration(amounts.per_call(one.b)),
        amounts.whole(amounts.calls(one.a)),
        amounts.whole(amounts.calls(one.b)),
        amounts.one_line(one.b.fingerprint)[:statement_max],
    )


def _lone(one: Class, statement_max: int) -> tuple[str, ...]:
    return (
        amounts.share(one.time_share),
        amounts.duration(one.query_time.sum if one.query_time else None),
        amounts.whole(amounts.calls(one)),
        amounts.duration(amounts.per_call(one)),
        amounts.one_line(one.fingerprint)[:statement_max],
    )


def text(compared: Compared, width: int = 100) -> str:
    """For the terminal."""
    lines = [
        comparison_text.answer(compared),
        *comparison_text.loads(compared),
        *(f"note: {n}" for n in comparison_text.notes(compared)),
    ]
    for one in tables(compared):
        lines += ["", one.name, *_drawn(one, max(40, width))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _drawn(one: Table, width: int) -> list[str]:
    rows = one.rows[:ROWS_MAX]
    numeric = range(len(one.heads) - 1)
    widths = [max(len(one.heads[i]), *(len(row[i]) for row in rows)) for i in numeric]

    def line(cells: Sequence[str]) -> str:
        said = "".join(cells[i].rjust(widths[i]) + "  " for i in numeric)
        return said + fit(cells[-1], max(12, width - len(said)))

    lines = [line(one.heads), *map(line, rows)]
    if len(one.rows) > ROWS_MAX:
        lines.append(f"{len(one.rows) - ROWS_MAX:,} more with --json")
    return lines


def markdown(compared: Compared) -> str:
    """The same in Markdown."""
    lines = [
        f"# {md(comparison_text.answer(compared))}",
        "",
        *(f"- {md(one)}" for one in comparison_text.loads(compared)),
        "",
    ]
    lines += [f"{md(note)}\n" for note in comparison_text.notes(compared)]
    for one in tables(compared, 200):
        lines += [f"## {one.name}", ""]
        lines += markdown_table(one.heads, one.rows[:ROWS_MAX], (len(one.heads) - 1,))
        if len(one.rows) > ROWS_MAX:
            lines.append(f"\n{len(one.rows) - ROWS_MAX:,} more with --json")
        lines.append("")
    return "\n".join(lines)


def page(compared: Compared) -> str:
    """The same as one HTML file."""
    return templating.styled(TEMPLATE, view(compared))


def view(compared: Compared) -> dict[str, Any]:
    """What the template draws."""
    return {
        "answer": comparison_text.answer(compared),
        "loads": comparison_text.loads(compared),
        "notes": comparison_text.notes(compared),
        "tables": tables(compared, 4000),
    }
