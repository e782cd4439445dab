"""What a server's planner and catalogue say: costs of statements, sizes, indexes left aside.

Indexes are really built, and then hidden from the planner one by one: their statistics and sizes
are true, and examining another set of them takes no rebuild. MariaDB calls that IGNORED, MySQL
INVISIBLE; PostgreSQL's planner does not consider an index that is marked as not valid, which a
superuser may do on a server of one's own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.prove.bench import Bench

_BYTES = {
    kinds.POSTGRES: "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN"
    " pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN"
    " ('pg_catalog', 'information_schema')",
    # Pages of all indexes, the table itself being one, as ANALYZE TABLE has counted them.
    kinds.MYSQL: "SELECT coalesce(sum(stat_value), 0) * @@innodb_page_size"
    " FROM mysql.innodb_index_stats WHERE database_name = database() AND stat_name = 'size'",
}
_INDEX_BYTES = {
    kinds.POSTGRES: "SELECT pg_relation_size('{index}'::regclass)",
    kinds.MYSQL: "SELECT stat_value * @@innodb_page_size FROM mysql.innodb_index_stats"
    " WHERE database_name = database() AND index_name = '{index}' AND stat_name = 'size'",
}
# Columns of EXPLAIN, which end with key, key_len, ref, rows, Extra; `possible_keys` are not used.
_ROWS, _KEY = 2, 5
_COLUMNS_OF_MARIADB = 10
_KEYS = re.compile(r"[,|]")  # of an index merge, of a filter
_HIDDEN = ("IGNORED", "INVISIBLE")  # and the opposite of each
_SHOWN = ("NOT IGNORED", "VISIBLE")


@dataclass(frozen=True)
class Estimate:
    """Of one statement: its cost in the planner's unit (0: not told), the rows that it expects to
    look at, and the indexes that it reads."""

    cost: float
    rows: float
    indexes: frozenset[str]

    def over(self, other: Estimate) -> float:
        """This cost over another's; of rows where a cost is not told."""
        if self.cost and other.cost:
            return self.cost / other.cost
        return self.rows / other.rows


def can_plan(bench: Bench) -> bool:
    """Whether the server's language is one that estimates are read in."""
    return _language(bench) in _BYTES


def estimate(bench: Bench, sql: str) -> Estimate:
    """What the planner thinks of a statement, which is not run. DynoError if it says nothing."""
    if _language(bench) == kinds.POSTGRES:
        found = bench.run(f"EXPLAIN (FORMAT JSON) {sql}")[0][0]
        plan = json.loads(found) if isinstance(found, str) else found
        top = plan[0]["Plan"]
        return Estimate(
            float(top["Total Cost"]), max(1.0, float(top["Plan Rows"])), frozenset(_named(top))
        )
    explain = f"EXPLAIN FORMAT=TRADITIONAL {sql}"  # MySQL has a setting for its default
    told = bench.run(explain, "SHOW SESSION STATUS LIKE 'Last_query_cost'")
    rows = bench.run(explain)
    cost = float(told[0][1]) if told else 0.0
    return Estimate(
        cost,
        math.prod(max(1.0, float(_cell(row, _ROWS) or 1)) for row in rows),
        frozenset(name for row in rows for name in _KEYS.split(str(_cell(row, _KEY) or ""))),
    )


def index_bytes(bench: Bench, index: str) -> int:
    """Size of one index."""
    rows = bench.run(_INDEX_BYTES[_language(bench)].format(index=index))
    return int(rows[0][0]) if rows else 0


def total_bytes(bench: Bench) -> int:
    """Size of all tables and indexes of the data."""
    return int(bench.run(_BYTES[_language(bench)])[0][0])


def hide(bench: Bench, table: str, index: str, *, hidden: bool) -> None:
    """Has the planner leave an index aside, or consider it again. DynoError from a server that
    cannot."""
    if _language(bench) == kinds.POSTGRES:
        bench.run(
            f"UPDATE pg_index SET indisvalid = {str(not hidden).lower()}"
            f" WHERE indexrelid = '{index}'::regclass"
        )
        return
    words = _HIDDEN if hidden else _SHOWN
    try:
        bench.run(f"ALTER TABLE {table} ALTER INDEX {index} {words[0]}")
    except DynoError:
        bench.run(f"ALTER TABLE {table} ALTER INDEX {index} {words[1]}")


def _language(bench: Bench) -> str:
    return kinds.of(bench.kind).language


def _named(node: Mapping[str, Any]) -> Iterator[str]:
    """Indexes of a plan of PostgreSQL."""
    if "Index Name" in node:
        yield str(node["Index Name"])
    for one in node.get("Plans", ()):
        yield from _named(one)


def _cell(row: Sequence[Any], from_end: int) -> Any:
    """A column of a line of EXPLAIN, counted from its end; MySQL has `filtered` before `Extra`."""
    return row[-from_end - 1] if len(row) > _COLUMNS_OF_MARIADB else row[-from_end]
