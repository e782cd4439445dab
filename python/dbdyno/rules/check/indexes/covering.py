"""A class that reads a large part of a table for a few columns: what an index that holds them all
would read, by the model of covering indexes (C10, `dyno model covering-index`).

That the planner ignores an index for such a range is no defect: beyond the break-even the lookups
of rows cost more than a scan, and forcing the index makes it slower. A covering index needs no
lookups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.schema.reading import schema_of
from dbdyno.facts.schema.workload import Class, classes
from dbdyno.rules.check.indexes import names
from dbdyno.rules.check.indexes.known import (
    PROOF,
    SHARE_MIN,
    STATEMENTS,
    cost,
    evidence,
    finds_one_row,
    index_evidence,
    is_cast,
    serving,
    severity,
)
from dbdyno.rules.check.rule import Fix, Found, Rule, statements
from dbdyno.sql import existing, parts
from dbdyno.sql.candidates import Candidate, candidates
from dbdyno.sql.parts import Use
from dbdyno.sql.schema import Index, Schema, Table

MODEL = "covering-index"
MATCHING_MIN = 1_000  # rows that a class reads of a table
GAIN_MIN = 2.0
_RANGES = (parts.RANGE, parts.LIKE_PREFIX)
_PAGES = {True: ("8Ki", 12.0), False: ("16Ki", 9.0)}  # of PostgreSQL or not: a page, an entry
_BYTES = (
    ("bigint", 8.0),
    ("smallint", 2.0),
    ("tinyint", 1.0),
    ("mediumint", 3.0),
    ("int", 4.0),
    ("double", 8.0),
    ("float", 4.0),
    ("datetime", 5.0),
    ("timestamp", 8.0),
    ("date", 4.0),
    ("uuid", 16.0),
    ("bool", 1.0),
)
_TEXT_BYTES = 16.0  # of other types, and at most of half a text's length


def _judge(facts: Facts) -> Iterator[Found]:
    schema, told = schema_of(facts), set()
    for one in classes(facts, schema):
        if one.share < SHARE_MIN or one.statement.partial:
            continue
        for use in one.statement.tables:
            table = schema.find(use.name, use.schema)
            if table is None or not table.rows or not table.bytes:
                continue
            wanted = _wanted(one, use, table, schema)
            if wanted is None:
                continue
            index, candidate = wanted
            computed = _computed(facts, one, table, candidate)
            about = f"{table.full_name}: {names.columns(candidate.parts)}"
            if computed is not None and computed["gain"] >= GAIN_MIN and about not in told:
                told.add(about)
                yield _found(facts, one, table, index, candidate, computed, about)


def _wanted(one: Class, use: Use, table: Table, schema: Schema) -> tuple[Index, Candidate] | None:
    """(index that a condition could use and that lacks columns, what would hold all)."""
    statement = one.statement
    if use in statement.stars or finds_one_row(statement, use, table):
        return None
    read = [column.name for column in statement.read if column.table == use]
    own = [
        predicate
        for predicate in statement.predicates
        if predicate.column.table == use
        and predicate.must_hold
        and not predicate.expression
        and predicate.operator in (parts.EQUAL, parts.IN, *_RANGES)
        and not is_cast(predicate, table)
    ]
    found = [index for each in own for index in serving(each.column.name, statement, use, table)]
    found = [index for index in found if not index.primary]
    if not found or any(existing.covers(one, read, table, schema.features) for one in found):
        return None
    made = [
        candidate
        for candidate in candidates(schema, [(statement, 1.0, one.id)])
        if candidate.covering
        and (candidate.schema, candidate.table) == (table.schema, table.name)
        and candidate.parts[0].column.lower() in {each.column.name.lower() for each in own}
    ]
    return (found[0], made[0]) if made else None


def _matching(one: Class, table: Table) -> float | None:
    """Rows of the table that the class needs an execution: those it examines, where it does not
    read all; else those it returns, unless it counts or cuts them."""
    rows = float(table.rows or 0)
    if one.examined is not None and one.examined < 0.9 * rows:
        return one.examined
    counts = one.statement.grouping or one.statement.has_limit or len(one.statement.tables) > 1
    if one.sent is not None and one.sent > 1 and not counts:
        return min(one.sent, rows)
    has_range = any(each.operator in _RANGES for each in one.statement.predicates)
    return rows if one.examined is not None and has_range else None


def _computed(
    facts: Facts, one: Class, table: Table, candidate: Candidate
) -> Mapping[str, Any] | None:
    """The model's answer; None where it has none, or too few rows are read."""
    from dbdyno import models
    from dbdyno.models import calculate, given

    matching = _matching(one, table)
    if matching is None or matching < MATCHING_MIN or not table.rows or not table.bytes:
        return None
    page, entry = _PAGES[names.is_postgres(facts)]
    held = {*candidate.columns, *candidate.include}
    primary = table.primary
    if primary is not None and not names.is_postgres(facts):
        held |= {part.column for part in primary.parts}
    entry += sum(_width(table.columns[name.lower()].type) for name in held)
    row = max(table.bytes / table.rows, 20.0, entry)
    model = models.load(MODEL)
    typed = {
        "rows": str(table.rows),
        "matching": str(int(matching)),
        "row": str(int(row)),
        "entry": str(int(entry)),
        "page": page,
    }
    try:
        return calculate.answer(model, given.take(model, typed, {})).values
    except DynoError:  # rows or entries that do not fit its pages
        return None


def _width(kind: str) -> float:
    """Bytes of a value in an index, by its type: what an estimate can have without statistics."""
    for name, width in _BYTES:
        if kind.startswith(name):
            return width
    found = re.search(r"\((\d+)", kind)
    return max(1.0, min(_TEXT_BYTES, float(found[1]) / 2)) if found else _TEXT_BYTES


def _found(
    facts: Facts,
    one: Class,
    table: Table,
    index: Index,
    candidate: Candidate,
    computed: Mapping[str, Any],
    about: str,
) -> Found:
    name = names.new_index(table, *candidate.columns, *candidate.include)
    share, even = computed["share"], computed["break_even"]
    carried = f" INCLUDE ({', '.join(candidate.include)})" if candidate.include else ""
    made = Index(name=name, parts=candidate.parts)
    place = f"dyno model {MODEL}"
    return Found(
        what=f"An index ({names.columns(candidate.parts)}){carried} of {table.full_name} would hold"
        f" all that class {one.id} reads; `{index.name}` does not",
        evidence=[
            *evidence(facts, one),
            *index_evidence(facts, table, index),
            Fact(f"{table.full_name}.rows", table.rows, facts.table("user_tables").place),
            Fact("part of the table that is read", round(share, 4), place),
            Fact("break-even of lookups and a scan", round(even, 4), place),
            Fact("lookups by the index", computed["lookups"], place),
            Fact("pages of a scan", computed["scan_pages"], place),
            Fact("pages of the covering index", computed["covering_pages"], place),
        ],
        effect=f"{cost(one)}; by the model, {min(computed['gain'], 1e6):,.0f} times fewer page"
        f" reads, for an index of about {_mebibytes(computed, facts):,.1f} MiB to be written too",
        fix=Fix(
            statements=(names.create(facts, table, name, candidate.parts, candidate.include),),
            edits=tuple(_notes(facts, index, share, even)),
        ),
        undo=statements(names.drop(facts, table, made)),
        about=about,
        severity=severity(one),
    )


def _mebibytes(computed: Mapping[str, Any], facts: Facts) -> float:
    page = (8 if names.is_postgres(facts) else 16) / 1024
    return float(computed["covering_pages"] / computed["share"] * page)


def _notes(facts: Facts, index: Index, share: float, even: float) -> Iterator[str]:
    if share > even:
        yield (
            f"Do not force `{index.name}`: it would fetch {share:.1%} of the rows one by one, and"
            f" beyond {even:.1%} a scan is cheaper, which is why the planner ignores it"
        )
    yield (
        "Estimates of rows are samples, and widths are by type: look at EXPLAIN, and measure before"
        " and after"
    )
    if names.is_postgres(facts):
        yield "VACUUM the table then: pages that are not all-visible are fetched all the same"


def _rule(engine: str, applies: tuple[str, ...], source: str) -> Rule:
    return Rule(
        id=f"{engine}-covering-index",
        pack="indexes",
        title="An index could hold all that is read",
        about="A class reads many rows by a condition that an index has, and few other columns."
        " An index with all of them is read alone, in order, without a lookup a row. The"
        " numbers come from the model of covering indexes, the table's estimated rows and the"
        " class's counters.",
        severity="medium",
        applies=applies,
        sources=("server",),
        needs=STATEMENTS,
        judge=_judge,
        source=source,
        proof=PROOF,
    )


RULES = (
    _rule(
        "mysql",
        ("mysql", "mariadb"),
        "https://dev.mysql.com/doc/refman/8.4/en/glossary.html#glos_covering_index",
    ),
    _rule(
        "postgres",
        ("postgres >=11",),
        "https://www.postgresql.org/docs/current/indexes-index-only-scans.html",
    ),
)
