"""What parallel replication could bring: in words, for the terminal, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.digest.parallelism import Curve, Parallelism, Schemas
from dbdyno.report.digest import words
from dbdyno.report.digest.cut import fit
from dbdyno.report.digest.markdown import table as markdown_table
from dbdyno.report.digest.table import bar
from dbdyno.report.text.escaping import markdown as md
from dbdyno.wording.plurals import count
from dbdyno.wording.quantities import size

WORKERS = 4  # of the answer
SCHEMAS_SHOWN = 20  # in the terminal and in Markdown; the page and JSON have all
RULES = {"schema": "by schema", "log": "by the log's order", "rows": "by rows"}
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
TEXT_SHARE = 0.05  # of statements logged as text, from which on it is reported


def answer(found: Parallelism) -> str:
    """The first line."""
    by_schema = _bound(found.schemas) if found.schemas else ""
    kept = [one for one in found.curves if one.commit_order]
    if not kept:
        if by_schema:
            return by_schema
        if found.transactions:
            return "No log tells which of its transactions could run at the same time."
        return "No log tells of writes and what they cost."
    said = [f"{speedup(one.at(WORKERS))} {RULES[one.rule]}" for one in kept]
    line = f"With {WORKERS} workers that keep the commit order: {', '.join(said)}."
    if found.schemas and found.schemas.cost != found.cost:
        line += f" By the times of writes: {by_schema[0].lower()}{by_schema[1:]}"
    return line


def _bound(by: Schemas) -> str:
    top = by.schemas[0]
    part = words.share(top.cost / by.total)
    if len(by.schemas) == 1 or by.bound < 1.005:
        return f"By schema nothing can be gained: {name(top.name)} has {part} of the writes."
    cost = "time of writes" if by.cost == "seconds" else "bytes"
    return (
        f"With {WORKERS} workers by schema at most {speedup(by.at_most(WORKERS))}:"
        f" {name(top.name)}, the longest of {len(by.schemas):,} schemas, has {part} of the {cost}."
    )


def speedup(times: float | None) -> str:
    """1.92x."""
    return "–" if times is None else f"{times:.2f}x"


def name(schema: str) -> str:
    """A schema for people."""
    return words.one_line(schema) or "(no schema)"


def cost(amount: float, unit: str) -> str:
    """An amount of time or bytes."""
    return words.duration(amount) if unit == "seconds" else size(amount)


def bound(by: Schemas) -> str:
    """The exact bound in one line."""
    return (
        f"Bound: {cost(by.total, by.cost)} in all / {cost(by.schemas[0].cost, by.cost)} of the"
        f" longest = {speedup(by.bound)}, with however many workers."
    )


def enough(found: Parallelism) -> list[str]:
    """How many workers are enough, a line a rule, commit order kept."""
    said = []
    for one in (one for one in found.curves if one.commit_order):
        workers = one.enough
        best = max(p.speedup for p in one.points)
        if workers == 1:
            said.append(f"{RULES[one.rule]}: no number of workers brings anything")
            continue
        said.append(
            f"{RULES[one.rule]}: {workers} workers come within 1 % of the most, {speedup(best)}"
        )
    return said


def assumptions(found: Parallelism) -> list[str]:
    """What the numbers take for granted; each a sentence."""
    said = []
    by = found.schemas
    if by and by.cost == "seconds":
        said.append(
            "Times by schema are the query times of writes at the source; a replica that is faster"
            " for all alike has the same ratios."
        )
    if not found.transactions:
        return said
    said.append(
        "Simulated: transactions are handed out in the log's order to the worker that is free"
        " first, and none is passed over; handing out, waiting and committing take no time, so a"
        " real replica gains less."
    )
    said.append(
        "A transaction costs its bytes in the log, packed ones packed: many rows cost much, a"
        " search for rows nothing."
    )
    if found.text_share > TEXT_SHARE:
        said.append(
            f"{words.share(found.text_share)} of the statements were logged as text, whose bytes"
            " tell little of what they cost."
        )
    rules = {one.rule for one in found.curves}
    if "log" not in rules:
        said.append("The logs have no logical timestamps: nothing is worked out by their order.")
    if "rows" not in rules:
        said.append(
            "No keys of rows are known, so nothing is worked out by rows: the server writes them"
            " with binlog_row_metadata = FULL, for tables with a primary key."
        )
    elif found.keyed_share < 0.9995:
        said.append(
            f"By rows: {words.share(1 - found.keyed_share)} of the transactions change rows whose"
            " keys are not known (no primary key, logged as text, a change of a table), and wait"
            " for all before them, as all after wait for them."
        )
    if "rows" in rules:
        found_there = "; where a source tracked by it, the log's order is what it found"
        said.append(
            "By rows is an upper bound where keys are known: primary keys alone are compared."
            " MySQL's WRITESET also compares unique secondary keys, foreign keys and collations,"
            f" which a log does not hold{found_there if 'log' in rules else ''}."
        )
    if "rows" in rules and found.histories_cleared:
        said.append(
            f"By rows: the last changes of {found.history_rows:,} rows are remembered, as by"
            " MySQL's default (binlog_transaction_dependency_history_size); that was full"
            f" {found.histories_cleared:,} times, and was cleared: later transactions wait for all"
            " before."
        )
    return said


def workers(found: Parallelism) -> list[int]:
    """Numbers of workers of the curves."""
    return sorted({p.workers for one in found.curves for p in one.points})


def ordered(found: Parallelism) -> list[Curve]:
    """Curves with commit order kept first."""
    return sorted(found.curves, key=lambda one: not one.commit_order)


def text(found: Parallelism, width: int = 100) -> str:
    """For the terminal; `width` in columns, at least 40."""
    width = max(40, width)
    lines = [answer(found), *words.censoring(found), "", *words.sources(found)]
    if by := found.schemas:
        lines += ["", *_schemas(by, width), "", bound(by), "", *_busy(by)]
    if found.curves:
        lines += ["", *_speedups(found, width), "", *_chart(found, width), "", *enough(found)]
    if said := assumptions(found):
        lines += ["", *(f"note: {one}" for one in said)]
    if missed := words.not_understood(found):
        lines += ["", "Not understood", *missed]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def schema_rows(by: Schemas) -> list[tuple[str, str, str, str, float]]:
    """Share, cost, writes, name and the share as a number, a row a schema."""
    return [
        (
            words.share(one.cost / by.total),
            cost(one.cost, by.cost),
            words.whole(one.count),
            name(one.name),
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
        (f"exactly {one.schemas}", cost(one.cost, by.cost), words.share(one.share), one.share)
        for one in by.busy
    ]


def _busy(by: Schemas) -> list[str]:
    rows = busy_rows(by)
    lines = [f"Schemas busy at once, of the {cost(by.schemas[0].cost, by.cost)} of the longest"]
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
    room = max(len(rule) for rule in RULES.values()) + 3
    numbers = _fitting(found, width - room - len("  workers"), 8)
    lines = [f"Speed-up of a replica, {count(found.transactions, 'transaction')}"]
    for kept, order in ORDERS.items():
        lines.append(f"{order:<{room}}"[:room] + "".join(f"{n:>8}" for n in numbers) + "  workers")
        for one in (one for one in found.curves if one.commit_order == kept):
            drawn = "".join(f"{speedup(one.at(n)):>8}" for n in numbers)
            lines.append(f"   {RULES[one.rule]:<{room - 3}}{drawn}")
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
    lines = [
        f"{speedup(1 + step * row) if row % 2 == 1 or row == 0 else '':>8} │{''.join(grid[row])}"
        for row in reversed(range(CHART_ROWS))
    ]
    lines.append(" " * 8 + " └" + "─" * (6 * len(numbers)))
    lines.append(" " * 10 + "".join(f"{n:^5} " for n in numbers) + "workers")
    key = ", ".join(f"{MARKS[one.rule]} {RULES[one.rule]}" for one in kept)
    return [*lines, " " * 10 + f"{key}; {ORDERS[True]}"]


def markdown(found: Parallelism) -> str:
    """The same facts in Markdown."""
    lines = [f"# {md(answer(found))}", ""]
    for note in words.censoring(found):
        lines += [f"**{md(note)}**", ""]
    lines += [f"- {md(one)}" for one in words.sources(found)]
    if by := found.schemas:
        lines += ["", "## By schema", ""]
        lines += markdown_table(heads(by), [row[:4] for row in schema_rows(by)], (3,))
        lines += ["", md(bound(by)), ""]
        busy = [row[:3] for row in busy_rows(by)]
        lines += markdown_table(("schemas busy", "for", "share of the longest"), busy, (0,))
    if found.curves:
        lines += ["", f"## Speed-up, {count(found.transactions, 'transaction')}", ""]
        titles = ("may run at once", "commit order", *(count(n, "worker") for n in workers(found)))
        rows = [
            (
                RULES[one.rule],
                "kept" if one.commit_order else "any",
                *(speedup(one.at(n)) for n in workers(found)),
            )
            for one in ordered(found)
        ]
        lines += [*markdown_table(titles, rows, (0, 1)), ""]
        lines += [f"- {md(one)}" for one in enough(found)]
    if said := assumptions(found):
        lines += ["", "## What this takes for granted", "", *(f"- {md(one)}" for one in said)]
    return "\n".join(lines) + "\n"
