"""What parallel replication could bring, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.digest.parallelism import Curve, Parallelism, Schemas
from dbdyno.report.digest.cut import fit
from dbdyno.report.digest.markdown import table as markdown_table
from dbdyno.report.digest.table import bar
from dbdyno.report.text.escaping import markdown as md
from dbdyno.wording.digest import amounts, replication, words
from dbdyno.wording.plurals import count

SCHEMAS_SHOWN = 20  # in the terminal and in Markdown; the page and JSON have all
MARKS = {"schema": "s", "log": "o", "rows": "r"}
ORDERS = {True: "commit order kept", False: "any commit order"}
CHART_ROWS = 8
LESS_WANTED = (
    1,
    128,
    3,
    6,
    32,
    64,
    16,
    8,
)  # numbers of workers that a narrow terminal goes without


def workers(found: Parallelism) -> list[int]:
    """Numbers of workers of the curves."""
    return sorted({p.workers for one in found.curves for p in one.points})


def ordered(found: Parallelism) -> list[Curve]:
    """Curves with commit order kept first."""
    return sorted(found.curves, key=lambda one: not one.commit_order)


def text(found: Parallelism, width: int = 100) -> str:
    """For the terminal; `width` in columns, at least 40."""
    width = max(40, width)
    lines = [replication.answer(found), *words.censoring(found), "", *words.sources(found)]
    if by := found.schemas:
        lines += ["", *_schemas(by, width), "", replication.bound(by), "", *_busy(by)]
    if found.curves:
        lines += [
            "",
            *_speedups(found, width),
            "",
            *_chart(found, width),
            "",
            *replication.enough(found),
        ]
    if said := replication.assumptions(found):
        lines += ["", *(f"note: {one}" for one in said)]
    if missed := words.not_understood(found):
        lines += ["", "Not understood", *missed]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def schema_rows(by: Schemas) -> list[tuple[str, str, str, str, float]]:
    """Share, cost, writes, name and the share as a number, a row a schema."""
    return [
        (
            amounts.share(one.cost / by.total),
            replication.cost(one.cost, by.cost),
            amounts.whole(one.count),
            replication.name(one.name),
            one.cost / by.total,
        )
        for one in by.schemas
    ]


def heads(by: Schemas) -> tuple[str, str, str, str]:
    """Of `schema_rows`."""
    if by.cost == "seconds":
        return ("share", "time", "writes", "schema")
    return ("share", "bytes", "transactions", "schema")


def _schemas(by: Schemas, width: int) -> list[str]:
    rows = schema_rows(by)
    titles = heads(by)
    widths = [max(len(titles[i]), *(len(str(row[i])) for row in rows)) for i in range(3)]

    def line(cells: Sequence[str], drawn: str) -> str:
        said = cells[0].rjust(widths[0]) + " " + drawn.ljust(13)
        said += "  ".join(cells[i].rjust(widths[i]) for i in (1, 2)) + "  "
        return said + fit(cells[3], max(12, width - len(said)))

    lines = [line(titles, "")]
    lines += [line(row[:4], bar(row[4])) for row in rows[:SCHEMAS_SHOWN]]
    if len(rows) > SCHEMAS_SHOWN:
        lines.append(f"{len(rows) - SCHEMAS_SHOWN:,} more with --json")
    return lines


def busy_rows(by: Schemas) -> list[tuple[str, str, str, float]]:
    """How many at once, for how long, its share, and that as a number."""
    return [
        (
            f"exactly {one.schemas}",
            replication.cost(one.cost, by.cost),
            amounts.share(one.share),
            one.share,
        )
        for one in by.busy
    ]


def _busy(by: Schemas) -> list[str]:
    rows = busy_rows(by)
    longest = replication.cost(by.schemas[0].cost, by.cost)
    lines = [f"Schemas busy at once, of the {longest} of the longest"]
    widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
    for at_once, took, part, share in rows[:SCHEMAS_SHOWN]:
        said = f"   {at_once:<{widths[0]}}  {took:>{widths[1]}}  {part:>{widths[2]}} "
        lines.append(said + bar(share))
    if len(rows) > SCHEMAS_SHOWN:
        lines.append(f"   {len(rows) - SCHEMAS_SHOWN:,} more with --json")
    return lines


def _fitting(found: Parallelism, room: int, each: int) -> list[int]:
    """Numbers of workers for which there is room, `each` columns wide."""
    numbers = workers(found)
    for less in LESS_WANTED:
        if len(numbers) * each <= room:
            break
        numbers = [n for n in numbers if n != less]
    return numbers


def _speedups(found: Parallelism, width: int) -> list[str]:
    room = max(len(rule) for rule in replication.RULES.values()) + 3
    numbers = _fitting(found, width - room - len("  workers"), 8)
    lines = [f"Speed-up of a replica, {count(found.transactions, 'transaction')}"]
    for kept, order in ORDERS.items():
        lines.append(f"{order:<{room}}"[:room] + "".join(f"{n:>8}" for n in numbers) + "  workers")
        for one in (one for one in found.curves if one.commit_order == kept):
            drawn = "".join(f"{replication.speedup(one.at(n)):>8}" for n in numbers)
            lines.append(f"   {replication.RULES[one.rule]:<{room - 3}}{drawn}")
    return lines


def _chart(found: Parallelism, width: int) -> list[str]:
    """Each rule's curve as letters, side by side at each number of workers so that none hides
    another; commit order kept."""
    kept = [one for one in found.curves if one.commit_order]
    numbers = _fitting(found, width - 10 - len("workers"), 6)
    top = max(p.speedup for one in kept for p in one.points)
    top = max(top, 1.5)
    step = (top - 1) / (CHART_ROWS - 1)
    grid = [[" "] * (6 * len(numbers)) for _ in range(CHART_ROWS)]
    for place, one in enumerate(kept):
        for i, n in enumerate(numbers):
            at = one.at(n)
            if at is not None:
                row = min(CHART_ROWS - 1, max(0, round((at - 1) / step)))
                grid[row][6 * i + 1 + place] = MARKS[one.rule]
    levels = [replication.speedup(1 + step * row) for row in range(CHART_ROWS)]
    lines = [
        f"{levels[row] if row % 2 == 1 or row == 0 else '':>8} │{''.join(grid[row])}"
        for row in reversed(range(CHART_ROWS))
    ]
    lines.append(" " * 8 + " └" + "─" * (6 * len(numbers)))
    lines.append(" " * 10 + "".join(f"{n:^5} " for n in numbers) + "workers")
    key = ", ".join(f"{MARKS[one.rule]} {replication.RULES[one.rule]}" for one in kept)
    return [*lines, " " * 10 + f"{key}; {ORDERS[True]}"]


def markdown(found: Parallelism) -> str:
    """The same facts in Markdown."""
    lines = [f"# {md(replication.answer(found))}", ""]
    for note in words.censoring(found):
        lines += [f"**{md(note)}**", ""]
    lines += [f"- {md(one)}" for one in words.sources(found)]
    if by := found.schemas:
        lines += ["", "## By schema", ""]
        lines += markdown_table(heads(by), [row[:4] for row in schema_rows(by)], (3,))
        lines += ["", md(replication.bound(by)), ""]
        busy = [row[:3] for row in busy_rows(by)]
        lines += markdown_table(("schemas busy", "for", "share of the longest"), busy, (0,))
    if found.curves:
        lines += ["", f"## Speed-up, {count(found.transactions, 'transaction')}", ""]
        titles = ("may run at once", "commit order", *(count(n, "worker") for n in workers(found)))
        rows = [
            (
                replication.RULES[one.rule],
                "kept" if one.commit_order else "any",
                *(replication.speedup(one.at(n)) for n in workers(found)),
            )
            for one in ordered(found)
        ]
        lines += [*markdown_table(titles, rows, (0, 1)), ""]
        lines += [f"- {md(one)}" for one in replication.enough(found)]
    if said := replication.assumptions(found):
        lines += ["", "## What this takes for granted", "", *(f"- {md(one)}" for one in said)]
    return "\n".join(lines) + "\n"
