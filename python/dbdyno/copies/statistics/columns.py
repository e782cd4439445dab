"""Frequencies of a column's values, counted on the server: no text leaves it.

Values are grouped by their place in the column's order (BUCKETS parts with as many rows each) and
by how frequent they are (two classes a doubling). Of each group the rows, the different values and,
of numbers and dates, the ends are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column, Table
from dbdyno.copies.source import Source
from dbdyno.copies.statistics import pieces
from dbdyno.copies.statistics.pieces import Group
from dbdyno.copies.statistics.sampled import Sampled
from dbdyno.copies.statistics.values import ColumnStatistics, Lengths, scale_of, units

BUCKETS = 64
HOT = 64  # values of a column without an order whose frequencies are kept one by one
TEXT_LEFT = 255  # characters that long texts are compared by


def filling(sampled: Sampled, columns: Sequence[Column]) -> dict[str, ColumnStatistics]:
    """Shares of NULLs and lengths of texts of all columns, by one statement."""
    source = sampled.source
    asked = ["COUNT(*)"]
    for column in columns:
        name = source.name(column.name)
        asked.append(f"COUNT({name})")
        if column.family in of.CODED:
            size = _length(source, column)
            asked += [f"MIN({size})", f"AVG({size})", f"MAX({size})", _digits(source, column)]
    names = [column.name for column in columns]
    answer = iter(source.rows(f"SELECT {', '.join(asked)} FROM {sampled.of(names)} s")[0])
    rows = int(next(answer))
    found: dict[str, ColumnStatistics] = {}
    for column in columns:
        filled, lengths = int(next(answer)), None
        if column.family in of.CODED:
            least, mean, most, digits = (next(answer) for _ in range(4))
            if filled:
                lengths = Lengths(
                    least=int(least),
                    mean=float(mean),
                    most=int(most),
                    are_digits=int(digits) == filled,
                )
        nulls = 1 - filled / rows if rows else 0.0
        found[column.name] = ColumnStatistics(nulls=nulls, lengths=lengths)
    return found


def _length(source: Source, column: Column) -> str:
    name = source.name(column.name)
    if column.family == of.TEXT:
        return f"CHAR_LENGTH({name})"
    if column.family == of.UUID:
        return "36"
    return f"OCTET_LENGTH({name})"


def _digits(source: Source, column: Column) -> str:
    """How many of a column's texts are of digits alone."""
    if column.family != of.TEXT:
        return "0"
    name = source.name(column.name)
    matches = f"{name} ~ '^[0-9]+$'" if source.is_postgres else f"{name} REGEXP '^[0-9]+$'"
    return f"SUM(CASE WHEN {matches} THEN 1 ELSE 0 END)"


def grouped(sampled: Sampled, column: Column) -> tuple[list[Group], int]:
    """Groups of a column's values, and in how many decimal places their ends are."""
    source = sampled.source
    value = f"s.{source.name(column.name)}"
    if column.family == of.BOOLEAN and source.is_postgres:
        value = f"CAST({value} AS int)"
    elif column.family in of.CODED and not 0 < (column.length or 0) <= TEXT_LEFT:
        value = _cut(source, column, value)
    ordered = column.family not in of.CODED
    as_text = "text" if source.is_postgres else "CHAR"
    frequency = "FLOOR(2 * LN(n) / LN(2) + 0.0001)"
    if ordered:
        place = f"FLOOR(below * {BUCKETS} / total)"
        ends = f"CAST(MIN(v) AS {as_text}), CAST(MAX(v) AS {as_text})"
    else:
        place = f"CASE WHEN place <= {HOT} THEN place ELSE 0 END"
        ends = "NULL, NULL"
    rows = source.rows(
        f"WITH counted AS (SELECT {value} AS v, COUNT(*) AS n FROM"
        f" {sampled.of([column.name])} s WHERE s.{source.name(column.name)} IS NOT NULL GROUP BY"
        f" {value}), placed AS (SELECT v, n, "
        + (
            "SUM(n) OVER (ORDER BY v ROWS UNBOUNDED PRECEDING) - n AS below,"
            " SUM(n) OVER () AS total"
            if ordered
            else "ROW_NUMBER() OVER (ORDER BY n DESC) AS place"
        )
        + f" FROM counted) SELECT {place} AS bucket, {frequency} AS frequency, SUM(n), COUNT(*),"
        f" {ends} FROM placed GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return _groups(column, rows)


def _cut(source: Source, column: Column, value: str) -> str:
    if column.family == of.UUID:
        return f"CAST({value} AS {'text' if source.is_postgres else 'CHAR'})"
    if source.is_postgres and column.family == of.BINARY:
        return f"SUBSTR({value}, 1, {TEXT_LEFT})"
    return f"LEFT({value}, {TEXT_LEFT})"


def _groups(column: Column, rows: Sequence[Sequence[Any]]) -> tuple[list[Group], int]:
    texts = [_said(end) for row in rows for end in row[4:6] if end is not None]
    scale = scale_of(column, texts)
    found = []
    for bucket, frequency, many, distinct, low, high in rows:
        ends: tuple[int | None, int | None] = (None, None)
        if low is not None:
            ends = (units(column, _said(low), scale), units(column, _said(high), scale))
            if None in ends:
                continue
        found.append(Group(int(bucket), int(frequency), int(many), int(distinct), *ends))
    return found, scale


def _said(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def labelled(sampled: Sampled, column: Column) -> list[float]:
    """Rows of each label of an enumeration, in the order of the labels."""
    name = sampled.source.name(column.name)
    rows = sampled.source.rows(
        f"SELECT {name}, COUNT(*) FROM {sampled.of([column.name])} s WHERE {name} IS NOT NULL"
        f" GROUP BY {name}"
    )
    counts = {_said(label): float(many) for label, many in rows}
    return [counts.get(label, 0.0) for label in column.labels]


def whole_table(sampled: Sampled, table: Table, column: Column, groups: list[Group]) -> list[Group]:
    """The groups of a sample, with as many different values as the whole table has."""
    if sampled.share == 1.0 or not groups:
        return groups
    known = next(
        (one.prefixes[0] for one in table.indexes if [*one.columns][:1] == [column.name]
         and one.prefixes and one.prefixes[0]), None,
    )  # fmt: skip
    if table.is_key(column.name):
        known = sampled.rows
    return pieces.scaled(groups, sampled.rows, known)
