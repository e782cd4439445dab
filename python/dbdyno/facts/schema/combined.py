"""Digests and schemas of one command, joined: a schema says which indexes there are, a digest which
statements there are, and rules need both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.errors import DynoError
from dbdyno.facts.fact import Fact, Facts, Table
from dbdyno.facts.schema.bounds import STATEMENTS
from dbdyno.facts.schema.workload import NOT_COLLECTED, dialect

DIGEST, LOG = "digest", "log"  # sources
JUDGED_WITH = "statements.judged_with"


def with_digests(every: Sequence[Facts]) -> list[Facts]:
    """The same subjects; those with tables have the classes of the digest of their language instead
    of their own, those without classes of their own those of the only log of it. DynoError for a
    digest of another language than the tables', or two for one schema."""
    schemas = [one for one in every if "user_columns" in one.tables]
    used: dict[str, str] = {}
    made = []
    for one in every:
        fitting = _fitting(one, every) if one in schemas else []
        if len(fitting) == 1:
            used[fitting[0].subject] = one.subject
            one = replace(one, tables={**one.tables, **_classes(fitting[0])})
        elif fitting:
            why = f"each of {', '.join(log.subject for log in fitting)} may be its log: name one"
            one = replace(one, missing={**one.missing, **dict.fromkeys(STATEMENTS, why)})
        made.append(one)
    unused = [one.subject for one in every if one.source == DIGEST and one.subject not in used]
    if unused and schemas:
        raise DynoError(
            f"{', '.join(unused)}: no schema in this command is of its engine",
            cause="its tables are not known",
            fix="name the server or a schema dump that it is of, or check it alone",
        )
    return [_told(one, used) for one in made]


def _fitting(schema: Facts, every: Sequence[Facts]) -> list[Facts]:
    """The digest or the logs whose classes may be a schema's. DynoError for two digests."""
    fitting = [one for one in every if "statements" in one.tables and _fits(one, schema)]
    digests = [one for one in fitting if one.source == DIGEST]
    if len(digests) > 1:
        raise DynoError(
            f"{', '.join(digest.subject for digest in digests)} are all for {schema.subject}",
            cause="shares of time are of one digest",
            fix="digest all logs together: dyno digest LOG... --json",
        )
    if digests or "statements" in schema.tables:
        return digests
    logs = [one for one in fitting if one.source == LOG]
    return [one for one in logs if _has_times(one)] if len(logs) > 1 else logs


def _has_times(log: Facts) -> bool:
    """Whether it says how long statements took: a general log does not."""
    return any(row["time_s"] for row in log.table("statements_total").rows)


def _told(one: Facts, used: Mapping[str, str]) -> Facts:
    """A digest or log with the subject whose rules have its classes; alone it is a log, of which
    rules on tables are not known."""
    if one.source not in (DIGEST, LOG) or "statements" not in one.tables:
        return one
    if one.subject not in used:
        return replace(one, source=LOG)
    fact = Fact(JUDGED_WITH, used[one.subject], one.tables["statements"].place)
    return replace(one, source=DIGEST, facts={**one.facts, JUDGED_WITH: fact})


def without_statements(facts: Facts) -> Facts:
    """For a bundle that is to have none."""
    kept = {name: table for name, table in facts.tables.items() if name not in STATEMENTS}
    lacks = {name: NOT_COLLECTED for name in STATEMENTS if name in facts.tables}
    return replace(facts, tables=kept, missing={**facts.missing, **lacks})


def _fits(digest: Facts, other: Facts) -> bool:
    """Whether both are of one language."""
    if digest.source not in (DIGEST, LOG):
        return False
    return dialect(digest.engine) == dialect(other.engine)


def _classes(digest: Facts) -> dict[str, Table]:
    return {name: digest.tables[name] for name in STATEMENTS}
