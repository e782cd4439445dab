"""Statement classes on a cluster: joins that move rows, and statements that ask all shards; by
their share of the time.

Sources: Citus, "Co-locating tables" and "Router executor"; Vitess, "Avoiding cross-shard queries";
Postgres-XC, "Fast query shipping".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.facts.fact import Facts
from dbdyno.facts.schema.distributed import CITUS
from dbdyno.rules.check.distribution import advice, cluster, locality
from dbdyno.rules.check.distribution.cluster import Class, Cluster
from dbdyno.rules.check.distribution.placement import Placement
from dbdyno.rules.check.rule import Found, Rule, edits

LEAST = 0.01  # of the time, of a class
GAIN = 0.1  # of the time, that another key must make local
SHOWN = 5
_NOTHING = edits("Nothing to undo: nothing was changed.")
_SOURCE = "https://docs.citusdata.com/en/stable/sharding/data_modeling.html"


def _moved(all_facts: Sequence[Facts]) -> Iterator[Found]:
    one = cluster.with_classes(all_facts)
    for each in one.running(locality.MOVED):
        if each.share >= LEAST:
            tables = _spread(each, one)
            yield Found(
                what=f"a join of {' and '.join(_names(tables))} is not co-located:"
                f" {each.share:.1%} of the time: {each.text}",
                evidence=(each.fact, *map(cluster.place, tables)),
                effect="rows of one table are sent over the network at each execution, in"
                f" {each.share:.1%} of the time{_refused(tables)}",
                fix=edits(
                    "Distribute both tables by the columns that they are joined by, and name these"
                    " in the join.",
                    "Or make the smaller one a reference (replicated) table.",
                ),
                undo=_NOTHING,
                about=each.text,
            )


def _refused(tables: Sequence[Placement]) -> str:
    if any(one.system != CITUS for one in tables):
        return ""
    return "; Citus refuses such a join while citus.enable_repartition_joins is off, its default"


def _scattered(all_facts: Sequence[Facts]) -> Iterator[Found]:
    one = cluster.with_classes(all_facts)
    found = [each for each in one.running(locality.ALL) if each.share >= LEAST]
    if not found:
        return
    share = sum(each.share for each in found)
    columns = sorted({
        f"{placed.table.full_name} ({', '.join(placed.columns) or placed.method})"
        for each in found
        for placed in _spread(each, one)
    })  # fmt: skip
    yield Found(
        what=f"{len(found)} statement classes name no value of the distribution column: {share:.1%}"
        f" of the time; the longest: {found[0].text}",
        evidence=tuple(each.fact for each in found[:SHOWN]),
        effect=f"each execution asks all shards and waits for the slowest: {share:.1%} of the time."
        " With more shards it makes more requests",
        fix=edits(
            f"Name the distribution column in WHERE: {', '.join(columns)}.",
            "Large reports may well ask all shards: run these on replicas.",
        ),
        undo=_NOTHING,
        severity="medium" if share >= 0.5 else "low",
    )


def _suggested(all_facts: Sequence[Facts]) -> Iterator[Found]:
    one = cluster.with_classes(all_facts)
    best = advice.best(one)
    if best is None:
        return
    now = sum(each.share for each in one.running(locality.ONE))
    if best.one_shard - now < GAIN:
        return
    keys = [f"{name} by {', '.join(columns)}" for name, columns in sorted(best.columns.items())]
    yield Found(
        what=f"distributed by {', '.join(sorted(best.names))}, {best.one_shard:.1%} of the time"
        f" would run on one shard, and {now:.1%} does now",
        evidence=tuple(each.fact for each in best.gained[:SHOWN]),
        effect=f"statements of {best.one_shard - now:.1%} of the time would become local to one"
        " shard,"
        f" those of {best.moved:.1%} would still move rows; {one.unread:.1%} of the time is in"
        " statements that"
        " could"
        " not be read",
        fix=edits(
            f"Distribute {'; '.join(keys)}.",
            *(
                [
                    "Replicate, if they are small (no class writes them):"
                    f" {', '.join(best.replicated)}."
                ]
                if best.replicated
                else []
            ),
            *(f"Extend {key} by the distribution column." for key in best.keys_to_extend),
            "See first how many rows each value has: one tenant of half of all rows fills one"
            " shard.",
            "All rows are copied, and writes wait meanwhile, unless the system copies online"
            " (Citus:"
            " create_distributed_table_concurrently; Vitess: MoveTables).",
        ),
        undo=edits("Distribute by the old columns again: a copy of all rows either way."),
        about=", ".join(sorted(best.names)),
    )


def _spread(each: Class, one: Cluster) -> list[Placement]:
    found: dict[str, Placement] = {}
    for use in each.statement.tables:
        placed = locality.of_use(use, one.schema, one.placed)
        if placed is not None and placed.is_spread:
            found[placed.table.full_name] = placed
    return list(found.values())


def _names(tables: Sequence[Placement]) -> list[str]:
    return [one.table.full_name for one in tables]


RULES = (
    Rule(
        id="sharded-join-moves-rows",
        pack="distribution",
        title="A join that is not co-located",
        about="A class of statements, of at least 1 % of the time, that joins distributed tables by"
        " other columns than those they are distributed by.",
        severity="medium",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_moved,
        source=_SOURCE,
    ),
    Rule(
        id="sharded-statement-scatters",
        pack="distribution",
        title="Statements that ask all shards",
        about="Classes without a value of the distribution column: medium from half of the"
        " time on.",
        severity="low",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_scattered,
        source=_SOURCE,
    ),
    Rule(
        id="sharded-key-suggestion",
        pack="distribution",
        title="A distribution column that fits the statements better",
        about="The column, of those that predicates and joins of the digest equate, by which most"
        " of the time would run on one shard: at least 10 % more of it than now.",
        severity="low",
        applies=("mysql", "mariadb", "postgres"),
        sources=("dump", "vschema"),
        judge_all=_suggested,
        source=_SOURCE,
    ),
)
