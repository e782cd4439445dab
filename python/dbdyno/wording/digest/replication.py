"""What parallel replication could bring, in sentences."""

from __future__ import annotations

from dbdyno.digest.parallelism import Parallelism, Schemas
from dbdyno.wording.digest import amounts
from dbdyno.wording.numbers import size

WORKERS = 4  # of the answer
RULES = {"schema": "by schema", "log": "by the log's order", "rows": "by rows"}
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
    part = amounts.share(top.cost / by.total)
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
    return amounts.one_line(schema) or "(no schema)"


def cost(amount: float, unit: str) -> str:
    """An amount of time or bytes."""
    return amounts.duration(amount) if unit == "seconds" else size(amount)


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
            f"{amounts.share(found.text_share)} of the statements were logged as text, whose bytes"
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
            f"By rows: {amounts.share(1 - found.keyed_share)} of the transactions change rows whose"
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
