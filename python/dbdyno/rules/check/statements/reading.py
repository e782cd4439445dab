"""Statements that read far more rows than they return or change. MySQL and MariaDB alone log that.

Source: the MySQL manual on the slow query log (Rows_examined, Rows_sent); MariaDB's and Percona
Server's on what log_slow_verbosity adds (Full_scan, Rows_affected).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.facts.schema.workload import Class
from dbdyno.rules.check.indexes.known import PROOF, cost, evidence, severity
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.statements.told import NEEDS, SCHEMA, SOURCES, heavy
from dbdyno.sql import parts

ROWS_MIN = 1000  # examined an execution
TIMES_MIN = 100  # as many as are returned or changed
WHOLE = 0.5  # of the executions with a scan of a whole table
_AGGREGATES = re.compile(r"\b(?:count|sum|avg|min|max|group_concat)\s*\(|\bdistinct\b", re.I)


def _judge(facts: Facts) -> Iterator[Found]:
    for one in heavy(facts):
        if one.examined is None or one.examined < ROWS_MIN or not _is_wasteful(one):
            continue
        place = facts.table("statements").place
        scans = [] if one.scans is None else [Fact("with a full scan", round(one.scans, 3), place)]
        yield Found(
            what=f"Class {one.id[:8]} examines {one.examined:,.0f} rows an execution, and"
            f" {_result(one)}",
            evidence=[*evidence(facts, one), *scans],
            effect=f"{cost(one)}; an index that finds only the rows wanted would leave a part in"
            f" {one.examined / max(1.0, _wanted(one) or 0.0):,.0f}",
            fix=edits(
                SCHEMA,
                "Find an index and measure it: dyno prove --dump FILE --log LOG",
            ),
            undo=edits("Nothing to undo"),
            about=one.id,
            severity=severity(one),
        )


def _wanted(one: Class) -> float | None:
    """Rows that an execution returns or changes; None: the log does not say it."""
    return one.sent if one.statement.kind == parts.SELECT else one.changed


def _is_wasteful(one: Class) -> bool:
    """An aggregate may need all the rows that it reads, unless it reads a whole table for them."""
    wanted = _wanted(one)
    if wanted is None or one.examined is None or one.examined < TIMES_MIN * max(1.0, wanted):
        return False
    if one.statement.grouping or _AGGREGATES.search(one.text):
        return bool(one.statement.predicates) and (one.scans or 0.0) > WHOLE
    return True


def _result(one: Class) -> str:
    wanted = _wanted(one) or 0.0
    verb = "returns" if one.statement.kind == parts.SELECT else "changes"
    return f"{verb} {wanted:,.1f}" if wanted < 10 else f"{verb} {wanted:,.0f}"


RULES = (
    Rule(
        id="mysql-log-rows-examined",
        pack="statements",
        title="A statement that reads far more rows than it returns",
        about=f"At least {ROWS_MIN:,} rows an execution, and {TIMES_MIN} times as many as are"
        " returned or changed: no index finds the rows that are wanted. Aggregates count only where"
        " the log says that they read a whole table (log_slow_verbosity of MariaDB and Percona"
        " Server). PostgreSQL's logs have no such number.",
        severity="medium",
        applies=("mysql", "mariadb"),
        sources=SOURCES,
        needs=NEEDS,
        judge=_judge,
        source="https://dev.mysql.com/doc/refman/8.4/en/slow-query-log.html",
        proof=PROOF,
    ),
)
