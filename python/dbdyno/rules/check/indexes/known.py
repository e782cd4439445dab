"""What the rules on indexes know of a subject: its tables, its classes of statements, and numbers
of both as evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.facts.schema.reading import schema_of
from dbdyno.facts.schema.workload import Class, classes
from dbdyno.sql import parts
from dbdyno.sql.parts import Predicate, Statement, Use
from dbdyno.sql.schema import BTREE, Index, Schema, Table
from dbdyno.wording import plurals

SOURCES = ("server", "dump", "log")
TABLES = ("user_tables", "user_columns", "user_indexes", "user_foreign_keys")
STATEMENTS = (*TABLES, "statements", "statements_total")
SHARE_MIN = 0.001  # of all time: classes below are noise
SHARE_MEDIUM = 0.05
FEW_ROWS = 100  # examined an execution: nothing is to be gained
PROOF = "dyno prove: the schema and the class on a throw-away server, before and after"
_ONE_ROW = (parts.EQUAL, parts.IS_NULL)


@dataclass(frozen=True)
class Seen:
    """A condition of a class on a column of a known table."""

    found: Class
    predicate: Predicate
    table: Table


def conditions(facts: Facts) -> Iterator[Seen]:
    """Conditions that decide which rows are read, of classes that matter. Missing without
    statements."""
    schema = schema_of(facts)
    for one in classes(facts, schema):
        if one.share < SHARE_MIN or (one.examined is not None and one.examined <= FEW_ROWS):
            continue
        for predicate in one.statement.predicates:
            use = predicate.column.table
            table = schema.find(use.name, use.schema)
            if table is None or not predicate.must_hold:
                continue
            if predicate.column.name.lower() not in table.columns:
                continue
            if not finds_one_row(one.statement, use, table):
                yield Seen(one, predicate, table)


TEXTS = ("char", "varchar", "text", "tinytext", "mediumtext", "longtext")


def is_cast(predicate: Predicate, table: Table) -> bool:
    """Whether a text is compared with a number."""
    column = table.columns.get(predicate.column.name.lower())
    return (
        column is not None
        and not predicate.expression
        and predicate.value == parts.NUMBER
        and column.type.startswith(TEXTS)
    )


def finds_one_row(statement: Statement, use: Use, table: Table) -> bool:
    """Whether a unique index serves a use of a table already."""
    equal = {
        one.column.name.lower()
        for one in statement.predicates
        if one.column.table == use
        and one.must_hold
        and not one.expression
        and one.operator == parts.EQUAL
    }
    return any(
        index.unique
        and not index.predicate
        and len(index.columns) == len(index.parts)
        and {*index.columns} <= equal
        for index in table.indexes
    )


def serving(seen_column: str, statement: Statement, use: Use, table: Table) -> list[Index]:
    """Indexes that would serve a condition on the bare column: it is the first, or behind columns
    that are compared for equality."""
    wanted = seen_column.lower()
    equal = {
        one.column.name.lower()
        for one in statement.predicates
        if one.column.table == use
        and one.must_hold
        and not one.expression
        and one.operator in _ONE_ROW
    }
    found = []
    for index in table.indexes:
        names = [part.column.lower() for part in index.parts]
        if not index.usable or index.kind != BTREE or wanted not in names:
            continue
        if all(name in equal for name in names[: names.index(wanted)]):
            found.append(index)
    return found


def workload(facts: Facts, schema: Schema) -> list[Class]:
    """All classes; none where they were not collected."""
    try:
        return classes(facts, schema)
    except Missing:
        return []


def evidence(facts: Facts, one: Class) -> list[Fact]:
    """The class, and what it costs."""
    place = facts.table("statements").place
    return [
        Fact(f"class {one.id}", shown(one.text), place),
        Fact("share of time", round(one.share, 4), place),
        Fact("executions", one.count, place),
        *(
            Fact(name, round(value, 1), place)
            for name, value in (
                ("rows examined an execution", one.examined),
                ("rows returned an execution", one.sent),
                ("pages read an execution", one.blocks),
            )
            if value is not None
        ),
    ]


def place_of(facts: Facts, name: str, table: Table) -> str:
    """Which statement, or which line of a dump, says something of a table."""
    rows = facts.table(name)
    if not rows.rows or "place" not in rows.rows[0]:  # a server's rows have none of their own
        return rows.place
    own = (row for row in rows.rows if row["table"] == table.name)
    return next((str(row["place"]) for row in own), rows.place)


def index_evidence(facts: Facts, table: Table, *indexes: Index) -> list[Fact]:
    """Indexes with their columns, and their sizes where these are known."""
    place = place_of(facts, "user_indexes", table)
    found = []
    for index in indexes:
        words = ", ".join(part.column or part.expression for part in index.parts)
        found.append(Fact(f"index {table.full_name}.{index.name}", words, place))
        if index.bytes is not None:
            found.append(Fact(f"size of {index.name}", index.bytes, place, "bytes"))
    return found


def shown(text: str) -> str:
    """A statement for people: its literals are not known, only their kinds."""
    patterns = text.replace("'x%'", "'?%'").replace("'%'", "'%?'").replace("''", "?")
    return re.sub(r"(?<![\w.])0(?![\w.])", "?", patterns)


def cost(one: Class) -> str:
    """What a class costs, as a sentence's begin."""
    executions = plurals.count(one.count, "execution")
    text = f"{one.share:.1%} of all statements' time, {executions}"
    if one.examined is not None and one.sent is not None:
        return f"{text}: each examines {one.examined:,.0f} rows and returns {one.sent:,.0f}"
    if one.blocks is not None:
        return f"{text}: each reads {one.blocks:,.0f} pages"
    return text


def severity(one: Class) -> str:
    """By its share of time."""
    return "medium" if one.share >= SHARE_MEDIUM else "low"


def size(indexes: Sequence[Index]) -> str:
    """Their bytes together, or nothing."""
    known = [index.bytes for index in indexes if index.bytes is not None]
    return f"{sum(known) / (1 << 20):,.1f} MiB" if len(known) == len(indexes) and known else ""
