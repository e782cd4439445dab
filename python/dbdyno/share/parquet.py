"""Tables as Parquet, through pyarrow, which is an extra: docs/decisions/parquet-is-an-extra.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import BinaryIO

from dbdyno.errors import DynoError
from dbdyno.share.tables import FLAG, INTEGER, NUMBER, TEXT, Row, Source, Table

ROWS = 1 << 16  # of a row group: what is in memory at a time


def library() -> ModuleType:
    """pyarrow; DynoError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DynoError(
            "Parquet needs pyarrow, which is not installed",
            cause="it is an extra: 50 MB that nothing else in dbdyno needs",
            fix="pip install 'dbdyno[parquet]', or use --csv",
        ) from None
    return pyarrow


def write(source: Source, table: Table, out: BinaryIO) -> int:
    """Writes a table, a row group at a time; returns how many rows that were. Units and meanings
    of columns are in the file, as metadata of its fields."""
    arrow = library()
    types = {
        TEXT: arrow.string(),
        INTEGER: arrow.int64(),
        NUMBER: arrow.float64(),
        FLAG: arrow.bool_(),
    }
    schema = arrow.schema(
        [
            arrow.field(
                column.name,
                types[column.type],
                metadata={"about": column.about, "unit": column.unit},
            )
            for column in table.columns(source.plan)
        ]
    )
    count = 0
    with arrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for rows in _groups(table.of(source)):
            columns = zip(*rows, strict=True)
            arrays = [
                arrow.array(values, type=field.type)
                for values, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while group := list(itertools.islice(rows, ROWS)):
        yield group
