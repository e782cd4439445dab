"""A function, a cast or arithmetic on an indexed column: MySQL and MariaDB.

Sources: the MySQL manual, "Functional Key Parts", "Optimizer Use of Generated Column Indexes";
MariaDB's "Sargable DATE and YEAR" (since 11.1, of comparisons and not of BETWEEN), "Sargable UPPER"
(since 11.3, of = and IN), "Virtual Column Support in the Optimizer" (since 11.8) and the changes of
11.8 (SUBSTR(column, 1, n) and LEFT(column, n) = value).
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts
from dbdyno.rules.check.indexes import expressions, names, ranges
from dbdyno.rules.check.indexes.hidden import Hidden, found, hidden, no_range, rewritten
from dbdyno.rules.check.indexes.known import PROOF, SOURCES, STATEMENTS
from dbdyno.rules.check.rule import Fix, Found, Rule
from dbdyno.sql import parts
from dbdyno.sql.parts import Predicate
from dbdyno.sql.schema import Table

FUNCTIONAL = ("mysql >=8.0.13",)
SARGABLE_DATES = ("mariadb >=11.1",)
SARGABLE_UPPER = ("mariadb >=11.3",)
SARGABLE_SUBSTR = ("mariadb >=11.8",)
_WRITE_BACK = Fix(edits=("Write the condition as it was, and drop what was made",))
_GENERAL = ("utf8mb3_general_ci", "utf8mb4_general_ci", "utf8_general_ci")


def _judge(facts: Facts) -> Iterator[Found]:
    for one in hidden(facts, lambda predicate, table: _is_sargable(facts, predicate, table)):
        fix, undo = _fix(facts, one)
        yield found(facts, one, fix, undo)


def _is_sargable(facts: Facts, one: Predicate, table: Table) -> bool:
    """Whether this server makes a range of the condition itself."""
    column = table.columns[one.column.name.lower()]
    if one.function in ("YEAR", "DATE") and column.type.startswith(ranges.TIMES):
        is_compared = one.operator != parts.IN and " between " not in one.text.lower()
        return is_compared and applies.matches(SARGABLE_DATES, facts)
    if one.function in ("UPPER", "UCASE") and column.collation in _GENERAL:
        return one.operator in (parts.EQUAL, parts.IN) and applies.matches(SARGABLE_UPPER, facts)
    is_begin = one.operator == parts.EQUAL and ranges.is_begin(one)
    return is_begin and applies.matches(SARGABLE_SUBSTR, facts)


def _fix(facts: Facts, one: Hidden) -> tuple[Fix, Fix]:
    """The fixes that this engine and version have, and how to undo the first."""
    predicate, table = one.predicate, one.table
    rewrite = ranges.of_mysql(predicate, one.column.type, one.others, one.column.collation or "")
    made = expressions.generated(predicate, table)
    if made is not None:  # the optimizer does not find it, or there were no finding
        named = (
            f"Name the generated column in the query: `{made.name}` for `{predicate.expression}`"
        )
        return Fix(edits=(named,)), _WRITE_BACK
    name = names.new_index(table, predicate.column.name, predicate.function or "expression")
    best, other = _statements(facts, predicate, table, name)
    if rewrite:
        choices = [rewritten(one, rewrite), *(f"Or: {text}" for text in (best, other) if text)]
        needs = (names.of_index(table, one.index),)
        limits = _limits(facts, best)
        return Fix(edits=(*choices, *limits), needs=needs), _WRITE_BACK
    again = (no_range(predicate),) if ranges.comes_again(predicate) else ()
    alternatives = (f"Or: {other}",) if other else ()
    fix = Fix(
        statements=(best,) if best else (),
        edits=(*again, *alternatives, *_limits(facts, best)),
    )
    return fix, Fix(statements=(_undo(facts, table, name, best),)) if best else _WRITE_BACK


def _statements(facts: Facts, one: Predicate, table: Table, name: str) -> tuple[str, str]:
    """(what is best, what else there is); empty texts for none."""
    column = expressions.generated_column(facts, one, table, name)
    if applies.matches(FUNCTIONAL, facts):
        index = expressions.functional_index(facts, one, table, name)
        return (index, column) if index else (column, "")
    return column, ""


def _undo(facts: Facts, table: Table, name: str, statement: str) -> str:
    of, quoted = names.of_table(facts, table), names.quoted(facts, name)
    if statement.startswith("CREATE INDEX"):
        return f"DROP INDEX {quoted} ON {of}"
    return f"ALTER TABLE {of} DROP COLUMN {quoted}"


def _limits(facts: Facts, statement: str) -> Iterator[str]:
    """What must be known of an index on an expression, or of a generated column."""
    is_functional = applies.matches(FUNCTIONAL, facts)
    if not statement and is_functional:
        yield "An index on the expression must have the query's own constants"
    elif not statement:
        yield "A generated column must have the query's own constants"
    if is_functional:
        yield (
            "A functional index serves this expression alone, as it is written; it is none of a"
            " primary or foreign key, has no prefix, and takes no expression that is a BLOB or TEXT"
        )
    elif not applies.matches(expressions.MATCHES_GENERATED, facts):
        yield "The query must name the generated column: this version does not match expressions"


RULES = (
    Rule(
        id="mysql-function-on-column",
        pack="indexes",
        title="A function hides a column from its index",
        about="A condition compares a function, a cast or arithmetic of a column with a value, and"
        " the column's index is not used. What mends it depends on the version: a half-open range"
        " of the bare column everywhere; a functional index in MySQL from 8.0.13; a generated"
        " column, which MySQL finds by its expression, MariaDB from 11.8, and before only by its"
        " name. MariaDB makes ranges of YEAR() and DATE() itself from 11.1, and of the begin of a"
        " text"
        " by LEFT() and SUBSTR() from 11.8. MONTH(c) = 10 is every"
        " October, and no range; BETWEEN has its end within.",
        severity="medium",
        applies=("mysql", "mariadb"),
        sources=SOURCES,
        needs=STATEMENTS,
        judge=_judge,
        source="https://dev.mysql.com/doc/refman/8.4/en/create-index.html"
        "#create-index-functional-key-parts",
        proof=PROOF,
    ),
)
