"""The rows of a table that are analysed: all of a small one, a part of a large one.

Sources: the manual of PostgreSQL on TABLESAMPLE SYSTEM, which reads pages at random.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Table
from dbdyno.copies.source import Refused, Source

WHOLE_ROWS = 200_000  # up to which a table is read whole; of others about as many rows are
PARTS = 50  # of the primary key, in which rows are read


@dataclass(frozen=True)
class Sampled:
    """`rows`: of the table; `share`: of its rows that are analysed; `said`: how these are found;
    `starts`: of ranges of the primary key that they lie in."""

    source: Source
    table: Table
    rows: int
    share: float
    said: str
    starts: Sequence[int] = ()

    def of(self, columns: Sequence[str]) -> str:
        """What to write behind FROM, without an alias."""
        named = ", ".join(self.source.name(each) for each in columns)
        table = self.source.table(self.table.name)
        if self.share == 1.0:
            return f"(SELECT {named} FROM {table})"
        if self.source.is_postgres:
            tabled = f"TABLESAMPLE SYSTEM ({100 * self.share:.6f}) REPEATABLE (1)"
            return f"(SELECT {named} FROM {table} {tabled})"
        if not self.starts:
            return f"(SELECT {named} FROM {table} LIMIT {WHOLE_ROWS})"
        key, part = self.source.name(self.table.primary[0]), WHOLE_ROWS // PARTS
        ends = [f" AND {key} < {end}" for end in self.starts[1:]] + [""]
        parts = (
            f"(SELECT {named} FROM {table} WHERE {key} >= {start}{end} ORDER BY {key} LIMIT {part})"
            for start, end in zip(self.starts, ends, strict=True)
        )
        return "(" + " UNION ALL ".join(parts) + ")"


def sampled(source: Source, table: Table) -> Sampled:
    """How a table's rows are found. Refused if it cannot be read."""
    inner = f"SELECT 1 FROM {source.table(table.name)} LIMIT {WHOLE_ROWS + 1}"
    counted = int(source.rows(f"SELECT COUNT(*) FROM ({inner}) AS d")[0][0])
    if counted <= WHOLE_ROWS:
        return Sampled(source, table, counted, 1.0, f"all {counted:,} rows were read")
    rows = max(table.rows, counted)
    share = WHOLE_ROWS / rows
    about = f"about {WHOLE_ROWS:,} of about {rows:,} rows were read"
    if source.is_postgres:
        return Sampled(source, table, rows, share, f"{about}, in pages at random")
    starts = _starts(source, table)
    where = f"in {PARTS} ranges of its primary key" if starts else "its first ones"
    return Sampled(source, table, rows, share, f"{about}, {where}", starts)


def _starts(source: Source, table: Table) -> list[int]:
    """Where ranges of a whole-numbered primary key begin, one in each of equal parts."""
    key = table.primary
    if not key or table.columns[key[0]].family != of.WHOLE:
        return []
    name = source.name(key[0])
    try:
        low, high = source.rows(f"SELECT MIN({name}), MAX({name}) FROM {source.table(table.name)}")[
            0
        ]
    except Refused:
        return []
    width = (int(high) - int(low)) // PARTS
    rng = random.Random(1)
    return [int(low) + at * width + rng.randrange(max(1, width // 2)) for at in range(PARTS)]
