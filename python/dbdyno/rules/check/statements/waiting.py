"""Statements whose time is no work: they wait for locks, or write temporary tables to disk.

Sources: the MySQL manual on the slow query log (Lock_time; with log_slow_extra,
Created_tmp_disk_tables); MariaDB's and Percona Server's on log_slow_verbosity (Tmp_disk_tables).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.indexes.known import cost, evidence, severity
from dbdyno.rules.check.rule import Found, Rule, edits
from dbdyno.rules.check.statements.told import NEEDS, SOURCES, heavy

LOCKED = 0.5  # of a class's time
SPILLS = 0.5  # temporary tables on disk an execution
_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/"


def _locks(facts: Facts) -> Iterator[Found]:
    place = facts.table("statements").place
    for one in heavy(facts):
        if one.locked_s is None or one.locked_s < LOCKED * one.time_s:
            continue
        part = one.locked_s / one.time_s
        yield Found(
            what=f"Class {one.id[:8]} waits for locks {part:.0%} of its time",
            evidence=[*evidence(facts, one), Fact("waits for locks", one.locked_s, place, "s")],
            effect=f"{cost(one)}; no index makes it faster than those that it waits for",
            fix=edits(
                "Find who holds the locks: SELECT * FROM sys.innodb_lock_waits while it waits;"
                " shorten those transactions, or commit in smaller parts"
            ),
            undo=edits("Nothing to undo"),
            about=one.id,
            severity=severity(one),
        )


def _spills(facts: Facts) -> Iterator[Found]:
    place = facts.table("statements").place
    every = [*heavy(facts)]
    if not any(one.disk_tables is not None for one in every):
        raise Missing(
            "tmp_disk_tables",
            "the log does not count them: log_slow_verbosity=query_plan (MariaDB), =full (Percona"
            " Server), log_slow_extra (MySQL 8.0.14)",
        )
    for one in every:
        if one.disk_tables is None or one.disk_tables < SPILLS:
            continue
        yield Found(
            what=f"Class {one.id[:8]} writes {one.disk_tables:,.1f} temporary tables to disk an"
            " execution",
            evidence=[
                *evidence(facts, one),
                Fact("temporary tables on disk", round(one.disk_tables, 2), place),
            ],
            effect=f"{cost(one)}; rows are sorted or grouped on disk",
            fix=edits(
                "Give ORDER BY and GROUP BY an index of their columns, or select fewer and shorter"
                " ones: TEXT and BLOB alone may put the table on disk"
            ),
            undo=edits("Write the statement as it was"),
            about=one.id,
            severity=severity(one),
        )


def _rule(
    id: str, title: str, about: str, judge: Callable[[Facts], Iterator[Found]], page: str
) -> Rule:
    return Rule(
        id=id,
        pack="statements",
        title=title,
        about=about,
        severity="medium",
        applies=("mysql", "mariadb"),
        sources=SOURCES,
        needs=NEEDS,
        judge=judge,
        source=_MANUAL + page,
    )


RULES = (
    _rule(
        "mysql-log-lock-time",
        "A statement that mostly waits for locks",
        "At least half of a class's time in the log is Lock_time: it waits for others, and neither"
        " an index nor a faster disk helps it. Which locks count depends on engine and version.",
        _locks,
        "slow-query-log.html",
    ),
    _rule(
        "mysql-log-temporary-on-disk",
        "A statement that writes temporary tables to disk",
        "Every second execution or more of a class made a temporary table on disk, as MariaDB and"
        " Percona Server log it with log_slow_verbosity, and MySQL with log_slow_extra.",
        _spills,
        "internal-temporary-tables.html",
    ),
)
