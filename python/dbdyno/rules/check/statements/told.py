"""What rules on statements know of a log: its classes, without their tables."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Facts, Missing
from dbdyno.facts.schema.combined import JUDGED_WITH
from dbdyno.facts.schema.workload import Class, classes
from dbdyno.rules.check.indexes.known import SHARE_MIN
from dbdyno.sql.schema import Schema

SOURCES = ("log", "digest")
NEEDS = ("statements", "statements_total")
SCHEMA = "Name the server, or a dump of its schema, in the same command: dyno check dump.sql LOG"


def heavy(facts: Facts) -> Iterator[Class]:
    """Classes that matter, the heaviest first. Missing if the log has no times to weigh them by."""
    if not any(float(row["time_s"] or 0.0) for row in facts.table("statements_total").rows):
        raise Missing("statements", "the log does not say how long statements took")
    yield from (one for one in classes(facts, Schema(tables=())) if one.share >= SHARE_MIN)


def refuse_judged(facts: Facts) -> None:
    """Missing if rules that know the tables have judged these classes."""
    fact = facts.get(JUDGED_WITH)
    if fact is not None:
        raise Missing("statements", f"rules on indexes judge them, with the tables of {fact.text}")
