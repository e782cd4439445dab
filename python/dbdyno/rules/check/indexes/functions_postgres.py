"""A function, a cast or arithmetic on an indexed column: PostgreSQL.

Source: the PostgreSQL manual, "Indexes on Expressions" and "CREATE INDEX" (functions must be
IMMUTABLE).
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.indexes import expressions, names, ranges
from dbdyno.rules.check.indexes.hidden import Hidden, found, hidden, no_range, rewritten
from dbdyno.rules.check.indexes.known import PROOF, SOURCES, STATEMENTS
from dbdyno.rules.check.rule import Fix, Found, Rule

_WRITE_BACK = Fix(edits=("Write the condition as it was, and drop what was made",))


def _judge(facts: Facts) -> Iterator[Found]:
    for one in hidden(facts, lambda predicate, table: False):
        fix, undo = _fix(facts, one)
        yield found(facts, one, fix, undo)


def _fix(facts: Facts, one: Hidden) -> tuple[Fix, Fix]:
    predicate, table, kind = one.predicate, one.table, one.column.type
    name = names.new_index(table, predicate.column.name, predicate.function or "expression")
    is_zoned = "with time zone" in kind or kind.startswith("timestamptz")
    is_immutable = not is_zoned or "time zone" in predicate.expression.lower()
    statement = expressions.functional_index(facts, predicate, table, name) if is_immutable else ""
    rewrite = ranges.of_postgres(predicate, kind, one.others)
    if rewrite:
        choices = (rewritten(one, rewrite), *((f"Or: {statement}",) if statement else ()))
        return Fix(edits=choices, needs=(names.of_index(table, one.index),)), _WRITE_BACK
    again = (no_range(predicate),) if ranges.comes_again(predicate) else ()
    if statement:
        analyze = "ANALYZE the table then: an index on an expression has statistics of its own"
        whole = f"{names.quoted(facts, table.schema)}.{names.quoted(facts, name)}"
        undo = Fix(statements=(f"DROP INDEX CONCURRENTLY {whole}",))
        return Fix(statements=(statement,), edits=(*again, analyze)), undo
    otherwise = (
        "Index the expression with the query's own constants"
        if is_immutable
        else "Index the expression AT TIME ZONE of a fixed zone, and write it so in the query: as"
        " it is, it depends on the session's time zone, and no index may have it"
    )
    return Fix(edits=(*again, otherwise)), _WRITE_BACK


RULES = (
    Rule(
        id="postgres-function-on-column",
        pack="indexes",
        title="A function hides a column from its index",
        about="A condition compares a function, a cast or arithmetic of a column with a value, and"
        " the column's index is not used. A half-open range of the bare column is served by the"
        " index that there is; an index on the expression serves what has no range. Its functions"
        " must be IMMUTABLE: those of timestamptz depend on the session's time zone.",
        severity="medium",
        applies=("postgres",),
        sources=SOURCES,
        needs=STATEMENTS,
        judge=_judge,
        source="https://www.postgresql.org/docs/current/indexes-expressional.html",
        proof=PROOF,
    ),
)
