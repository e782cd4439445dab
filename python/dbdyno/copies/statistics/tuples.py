"""How frequent what a foreign key of several columns refers to is: no value leaves the server."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.copies.schema.tables import Table
from dbdyno.copies.source import Refused
from dbdyno.copies.statistics import pieces
from dbdyno.copies.statistics.pieces import Group
from dbdyno.copies.statistics.sampled import Sampled
from dbdyno.copies.statistics.values import Piece


def of_foreign_keys(sampled: Sampled, table: Table) -> dict[str, Sequence[Piece]]:
    """By foreign key of several columns; those that take too long are missing."""
    found: dict[str, Sequence[Piece]] = {}
    for key in table.foreign:
        if len(key.columns) > 1:
            try:
                found[key.name] = _counted(sampled, key.columns)
            except Refused:
                continue
    return found


def _counted(sampled: Sampled, columns: Sequence[str]) -> list[Piece]:
    """Two classes of frequency a doubling, as of columns (`columns.grouped`)."""
    name = sampled.source.name
    listed = ", ".join(name(each) for each in columns)
    filled = " AND ".join(f"{name(each)} IS NOT NULL" for each in columns)
    rows = sampled.source.rows(
        "SELECT FLOOR(2 * LN(n) / LN(2) + 0.0001), SUM(n), COUNT(*) FROM (SELECT COUNT(*) AS n"
        f" FROM {sampled.of(columns)} s WHERE {filled} GROUP BY {listed}) d GROUP BY 1 ORDER BY 1"
    )
    groups = [Group(0, int(each), int(many), int(distinct)) for each, many, distinct in rows]
    return pieces.coded(pieces.scaled(groups, sampled.rows, None)) if groups else []
