"""Conditions that no index on the column serves, as far as their text alone shows it: a function of
a column, a pattern that begins with a wildcard.

Whether there is an index, and which fix its engine's version has, the tables tell: `indexes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts
from dbdyno.facts.schema.workload import Class
from dbdyno.rules.check.indexes import names
from dbdyno.rules.check.indexes.functions_mysql import SARGABLE_DATES, SARGABLE_UPPER
from dbdyno.rules.check.indexes.hidden import no_range
from dbdyno.rules.check.indexes.known import FEW_ROWS, PROOF, cost, evidence, shown
from dbdyno.rules.check.indexes.ranges import comes_again
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.statements.told import NEEDS, SCHEMA, SOURCES, heavy, refuse_judged
from dbdyno.sql import parts
from dbdyno.sql.parts import Predicate

_COMPARED = (parts.EQUAL, parts.IN, parts.RANGE)
_AS_IT_WAS = edits("Write the condition as it was")
_DATES, _UPPER = ("YEAR", "DATE"), ("UPPER", "UCASE")


def _conditions(facts: Facts) -> Iterator[tuple[Class, Predicate]]:
    refuse_judged(facts)
    for one in heavy(facts):
        if one.examined is not None and one.examined <= FEW_ROWS:
            continue
        yield from ((one, each) for each in one.statement.predicates if each.must_hold)


def _told(predicate: Predicate) -> str:
    """What a finding is about."""
    return f"{predicate.column.table.name}.{predicate.column.name}"


def _functions(facts: Facts) -> Iterator[Found]:
    told = set()
    for one, predicate in _conditions(facts):
        about = f"{_told(predicate)}: {predicate.expression}"
        is_compared = predicate.operator in _COMPARED
        is_value = predicate.value not in (parts.COLUMN, parts.SUBQUERY)
        if not predicate.expression or not is_compared or not is_value or about in told:
            continue
        if _is_sargable(facts, predicate):
            continue
        told.add(about)
        again = (no_range(predicate),) if comes_again(predicate) else ()
        yield Found(
            what=f"`{shown(predicate.text)}` hides {_told(predicate)} from an index on it",
            evidence=evidence(facts, one),
            effect=f"{cost(one)}; whether there is such an index, the log does not say",
            fix=edits(
                *again,
                "Compare the bare column with a range where the condition is one (YEAR(c) = 2019:"
                " c >= '2019-01-01' AND c < '2020-01-01'); else index the expression, or a"
                " generated column",
                f"{SCHEMA}: then the fix is that of the version",
            ),
            undo=_AS_IT_WAS,
            about=about,
        )


def _is_sargable(facts: Facts, one: Predicate) -> bool:
    """Whether MariaDB makes a range of it itself."""
    if names.is_postgres(facts):
        return False
    if one.function in _DATES and " between " not in one.text.lower():
        return one.operator != parts.IN and applies.matches(SARGABLE_DATES, facts)
    is_upper = one.function in _UPPER and one.operator in (parts.EQUAL, parts.IN)
    return is_upper and applies.matches(SARGABLE_UPPER, facts)


def _wildcards(facts: Facts) -> Iterator[Found]:
    told = set()
    for one, predicate in _conditions(facts):
        about = _told(predicate)
        if predicate.operator != parts.LIKE_WILDCARD or about in told:
            continue
        told.add(about)
        words = (
            "an index of gin_trgm_ops (extension pg_trgm)"
            if names.is_postgres(facts)
            else "a FULLTEXT index and MATCH ... AGAINST, where words are looked for"
        )
        yield Found(
            what=f"A pattern for {about} begins with a wildcard",
            evidence=evidence(facts, one),
            effect=f"{cost(one)}; a B-tree finds what a text begins with, and nothing else",
            fix=edits(f"{words[0].upper()}{words[1:]}", SCHEMA),
            undo=_AS_IT_WAS,
            about=about,
        )


def _rule(id: str, title: str, about: str, judge: Callable[..., Iterator[Found]], source: str,
          *engines: str) -> Rule:  # fmt: skip
    return Rule(
        id=id,
        pack="statements",
        title=title,
        about=about,
        severity="low",
        applies=engines,
        sources=SOURCES,
        needs=NEEDS,
        judge=judge,
        source=source,
        proof=PROOF,
    )


_FUNCTION = (
    "A function of a column in a log's conditions",
    "A condition compares a function, a cast or arithmetic of a column with a value, which an index"
    " on the column does not serve. A log has no tables, so that it is of low severity: with the"
    " server or a dump of its schema in the same command, the rules of `indexes` judge instead.",
    _functions,
)
_WILDCARD = (
    "A pattern that begins with a wildcard in a log",
    "LIKE '%text' or '%text%' reads all rows, whatever indexes there are. No text of the log is"
    " kept. With the tables in the same command, the rules of `indexes` judge instead.",
    _wildcards,
)
_MYSQL = ("mysql", "mariadb")
RULES = (
    _rule("mysql-log-function-on-column", *_FUNCTION,
          "https://dev.mysql.com/doc/refman/8.4/en/mysql-indexes.html", *_MYSQL),
    _rule("postgres-log-function-on-column", *_FUNCTION,
          "https://www.postgresql.org/docs/current/indexes-expressional.html", "postgres"),
    _rule("mysql-log-leading-wildcard", *_WILDCARD,
          "https://dev.mysql.com/doc/refman/8.4/en/index-btree-hash.html", *_MYSQL),
    _rule("postgres-log-leading-wildcard", *_WILDCARD,
          "https://www.postgresql.org/docs/current/pgtrgm.html#PGTRGM-INDEX", "postgres"),
)  # fmt: skip
