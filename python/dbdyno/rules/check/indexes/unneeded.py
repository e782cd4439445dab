"""Indexes that only cost: unused, duplicate, redundant.

Each is written with every row, takes space and memory, and gives the planner one more choice.

Source: the MySQL manual on table_io_waits_summary_by_index_usage and "Clustered and Secondary
Indexes" (the primary key's columns end every secondary index); the PostgreSQL manual on
pg_stat_user_indexes.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.indexes import dropping, names
from dbdyno.rules.check.indexes.dropping import (
    DAY_S,
    DUPLICATE,
    REDUNDANT,
    UNUSED,
    Drop,
    drops,
    since_s,
)
from dbdyno.rules.check.indexes.known import PROOF, SOURCES, TABLES, index_evidence, size
from dbdyno.rules.check.rule import Fix, Found, Rule, statements

_MYSQL, _POSTGRES = ("mysql", "mariadb"), ("postgres",)
_OF_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
_OF_POSTGRES = "https://www.postgresql.org/docs/current/"


def _fix(facts: Facts, one: Drop, *edits: str) -> Fix:
    return Fix(
        statements=(names.drop(facts, one.table, one.index),),
        edits=edits,
        drops=(names.of_index(one.table, one.index),),
        needs=(names.of_index(one.table, one.stays),) if one.stays is not None else (),
    )


def _found(facts: Facts, one: Drop, what: str, effect: str, *edits: str) -> Found:
    both = (one.index,) if one.stays is None else (one.index, one.stays)
    return Found(
        what=what,
        evidence=index_evidence(facts, one.table, *both),
        effect=effect,
        fix=_fix(facts, one, *edits),
        undo=statements(names.create_again(facts, one.table, one.index)),
        about=f"{one.table.full_name}.{one.index.name}",
    )


def _space(one: Drop) -> str:
    space = size([one.index])
    return (f"{space} of space and memory, and " if space else "") + (
        "one more index to write with each insert and with each update of its columns"
    )


def _unused(facts: Facts) -> Iterator[Found]:
    days = since_s(facts) / DAY_S
    if days < dropping.DAYS_MIN:
        reason = f"counters are {days:.1f} days old, less than {dropping.DAYS_MIN:.0f}"
        raise Missing("index_usage", reason)
    rows = facts.table("index_usage")
    if not rows.rows and facts.table("user_indexes").rows:
        raise Missing("index_usage", "nothing is counted: performance_schema is off")
    for one in drops(facts):
        if one.why != UNUSED:
            continue
        place = rows.place
        found = _found(
            facts,
            one,
            f"Index `{one.index.name}` of {one.table.full_name} was not read in {days:,.0f} days",
            _space(one),
            *_before_dropping(facts, one),
        )
        evidence = [
            *found.evidence,
            Fact(f"reads of {one.index.name}", 0, place),
            Fact("counted for", round(days, 1), place, "days"),
        ]
        yield Found(**{**vars(found), "evidence": evidence})


def _before_dropping(facts: Facts, one: Drop) -> Iterator[str]:
    yield "First look at the replicas: each server counts its own reads"
    if facts.engine == "mysql" and facts.version >= (8,):
        table, name = names.of_table(facts, one.table), names.quoted(facts, one.index.name)
        yield f"and hide it for a while: ALTER TABLE {table} ALTER INDEX {name} INVISIBLE"
    if facts.engine == "mariadb" and facts.version >= (10, 6):
        table, name = names.of_table(facts, one.table), names.quoted(facts, one.index.name)
        yield f"and hide it for a while: ALTER TABLE {table} ALTER INDEX {name} IGNORED"


def _duplicate(facts: Facts) -> Iterator[Found]:
    for one in drops(facts):
        if one.why == DUPLICATE and one.stays is not None:
            yield _found(
                facts,
                one,
                f"Index `{one.index.name}` of {one.table.full_name} is `{one.stays.name}` once"
                f" more: ({names.columns(one.index.parts)})",
                _space(one),
            )


def _redundant(facts: Facts) -> Iterator[Found]:
    for one in drops(facts):
        if one.why == REDUNDANT and one.stays is not None:
            yield _found(
                facts,
                one,
                f"Index `{one.index.name}` ({names.columns(one.index.parts)}) of"
                f" {one.table.full_name} begins `{one.stays.name}`"
                f" ({names.columns(one.stays.parts)})",
                f"{_space(one)}; reads of the longer one touch more pages",
            )


def _rule(engine: str, what: str, **more: object) -> Rule:
    common = {
        "pack": "indexes",
        "applies": _MYSQL if engine == "mysql" else _POSTGRES,
        "sources": SOURCES,
        "needs": TABLES,
        "severity": "low",
        "proof": PROOF,
    }
    return Rule(id=f"{engine}-{what}", **{**common, **more})  # type: ignore[arg-type]


RULES = tuple(
    rule
    for engine, usage, redundancy in (
        (
            "mysql",
            _OF_MYSQL + "performance-schema-table-io-waits-summary-by-index-usage-table.html",
            _OF_MYSQL + "innodb-index-types.html",
        ),
        (
            "postgres",
            _OF_POSTGRES + "monitoring-stats.html#MONITORING-PG-STAT-ALL-INDEXES-VIEW",
            _OF_POSTGRES + "indexes-multicolumn.html",
        ),
    )
    for rule in (
        _rule(
            engine,
            "unused-index",
            title="An index that is never read",
            about="The counters of use are at least a week old and show no read. Unique indexes,"
            " those that foreign keys need, and those that a rewrite of a statement would use are"
            " not judged. Each server counts for itself: an index may serve a replica.",
            sources=("server",),
            needs=(*TABLES, "index_usage"),
            judge=_unused,
            source=usage,
        ),
        _rule(
            engine,
            "duplicate-index",
            title="The same index twice",
            about="Two indexes of the same kind have the same columns in the same order.",
            judge=_duplicate,
            source=redundancy,
        ),
        _rule(
            engine,
            "redundant-index",
            title="An index that begins another one",
            about="All columns of an index are the first ones of another, which does what it does."
            " InnoDB ends every index with the primary key's columns, so (a) orders rows of one a"
            " by the key, and (a, b) does not: where a class needs that order, the index stays.",
            judge=_redundant,
            source=redundancy,
        ),
    )
)
