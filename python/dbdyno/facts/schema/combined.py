"""Digests and schemas of one command, joined: a schema says which indexes there are, a digest which
statements there are, and rules need both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.errors import DynoError
from dbdyno.facts.fact import Facts, Table
from dbdyno.facts.schema.bounds import STATEMENTS
from dbdyno.facts.schema.workload import NOT_COLLECTED

DIGEST = "digest"


def with_digests(every: Sequence[Facts]) -> list[Facts]:
    """The same subjects; those with tables have the classes of the digest of their engine instead
    of their own. DynoError for a digest without a schema, or two of one engine."""
    digests = [one for one in every if one.source == DIGEST]
    if not digests:
        return list(every)
    used: set[str] = set()
    made = []
    for one in every:
        fitting = [
            digest for digest in digests if "user_columns" in one.tables and _fits(digest, one)
        ]
        if len(fitting) > 1:
            raise DynoError(
                f"{', '.join(digest.subject for digest in fitting)} are all for {one.subject}",
                cause="shares of time are of one digest",
                fix="digest all logs together: dyno digest LOG... --json",
            )
        if fitting:
            used.add(fitting[0].subject)
            one = replace(one, tables={**one.tables, **_classes(fitting[0])})
        made.append(one)
    unused = [digest.subject for digest in digests if digest.subject not in used]
    if unused:
        raise DynoError(
            f"{', '.join(unused)}: a digest alone has no indexes",
            cause="its tables are not known",
            fix="name the server or a schema dump in the same command",
        )
    return made


def without_statements(facts: Facts) -> Facts:
    """For a bundle that is to have none."""
    kept = {name: table for name, table in facts.tables.items() if name not in STATEMENTS}
    lacks = {name: NOT_COLLECTED for name in STATEMENTS if name in facts.tables}
    return replace(facts, tables=kept, missing={**facts.missing, **lacks})


def _fits(digest: Facts, other: Facts) -> bool:
    return bool({*digest.engine.split("|")} & {*other.engine.split("|")})


def _classes(digest: Facts) -> dict[str, Table]:
    return {name: digest.tables[name] for name in STATEMENTS}
