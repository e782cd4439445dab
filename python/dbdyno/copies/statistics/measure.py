"""All statistics of one table: from the catalogue where it has them, else from rows."""

from __future__ import annotations

from dataclasses import replace

from dbdyno.copies.schema import tables as of
from dbdyno.copies.schema.tables import Column, Table
from dbdyno.copies.source import Refused, Source
from dbdyno.copies.statistics import catalog, columns, pairs, pieces, tuples
from dbdyno.copies.statistics.sampled import Sampled, sampled
from dbdyno.copies.statistics.values import ColumnStatistics, TableStatistics


def measured(source: Source, table: Table) -> TableStatistics:
    """Refused if the table cannot be read in the time that a statement has."""
    looked = sampled(source, table)
    known = catalog.columns(source, table, looked.rows) if source.is_postgres else {}
    found = columns.filling(looked, table.filled)
    for column in table.filled:
        found[column.name] = _column(looked, column, found[column.name], known.get(column.name))
    said = looked.said + ("; frequencies are pg_stats'" if known else "")
    return TableStatistics(
        rows=looked.rows,
        columns=found,
        pairs=pairs.of_indexes(looked, table),
        tuples=tuples.of_foreign_keys(looked, table),
        said=said,
    )


def _column(
    looked: Sampled, column: Column, found: ColumnStatistics, known: ColumnStatistics | None
) -> ColumnStatistics:
    if known is not None and (known.pieces or known.nulls == 1.0):
        return replace(known, lengths=found.lengths)
    if column.family == of.ENUM:
        labels = columns.labelled(looked, column)
        # Texts that a collation holds to be labels are none of them: then all are as frequent.
        return replace(found, labels=labels if any(labels) else [1.0] * len(labels))
    if column.family not in (*of.RANGED, of.BOOLEAN, *of.CODED) or found.nulls == 1.0:
        return found
    groups, scale = columns.grouped(looked, column)
    groups = columns.whole_table(looked, looked.table, column, groups)
    if column.family in of.CODED:
        return replace(found, pieces=pieces.coded(groups))
    made = pieces.ranged(groups)
    return replace(found, pieces=made, scale=scale, order=_order(looked, column))


def _order(looked: Sampled, column: Column) -> float | None:
    """With the rows' order, which in MariaDB's and MySQL's tables is that of the primary key."""
    table = looked.table
    if column.family not in of.RANGED or len(table.primary) != 1 or looked.source.is_postgres:
        return None
    if column.name == table.primary[0] or table.columns[table.primary[0]].family not in of.RANGED:
        return None
    try:
        return pairs.ranks(looked, table.primary[0], column.name)
    except Refused:
        return None
