"""How columns go together: pairs of values, and ranks."""

from __future__ import annotations

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Table
from dbdyno.copies.statistics.sampled import Sampled
from dbdyno.copies.statistics.values import Pair


def of_indexes(sampled: Sampled, table: Table) -> dict[tuple[str, str], Pair]:
    """Of each two neighbouring columns of an index. Refused if it takes too long."""
    wanted = {
        pair
        for index in table.indexes
        for pair in zip(index.columns, index.columns[1:], strict=False)
        if list(index.columns[:2]) not in [[*key] for key in table.keys]
    }
    return {pair: _pair(sampled, table, *pair) for pair in sorted(wanted)}


def _pair(sampled: Sampled, table: Table, a: str, b: str) -> Pair:
    source = sampled.source
    first, second = source.name(a), source.name(b)
    distinct, rows = source.rows(
        f"SELECT COUNT(*), SUM(n) FROM (SELECT COUNT(*) AS n FROM {sampled.of([a, b])} s WHERE"
        f" {first} IS NOT NULL AND {second} IS NOT NULL GROUP BY {first}, {second}) d"
    )[0]
    have_order = all(table.columns[each].family in of.RANGED for each in (a, b))
    return Pair(
        distinct=int(distinct),
        rows=int(rows or 0),
        ranks=ranks(sampled, a, b) if have_order else None,
    )


def ranks(sampled: Sampled, a: str, b: str) -> float | None:
    """Spearman's correlation of two columns; None where one has one value only."""
    source = sampled.source
    first, second = source.name(a), source.name(b)
    x, y, xy, xx, yy = source.rows(
        "SELECT AVG(x), AVG(y), AVG(x * y), AVG(x * x), AVG(y * y) FROM (SELECT PERCENT_RANK() OVER"
        f" (ORDER BY {first}) AS x, PERCENT_RANK() OVER (ORDER BY {second}) AS y FROM"
        f" {sampled.of([a, b])} s WHERE {first} IS NOT NULL AND {second} IS NOT NULL) d"
    )[0]
    if x is None:
        return None
    spread = (float(xx) - float(x) ** 2) * (float(yy) - float(y) ** 2)
    return (float(xy) - float(x) * float(y)) / spread**0.5 if spread > 0 else None
