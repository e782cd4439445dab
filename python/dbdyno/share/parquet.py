"""Tables as Parquet, a row group at a time."""

from __future__ import annotations

from types import ModuleType
from typing import BinaryIO

from dbdyno.share import arrow
from dbdyno.share.tables import Source, Table


def library() -> ModuleType:
    """pyarrow; DynoError if it is not installed."""
    return arrow.library("Parquet", "--csv")


def write(source: Source, table: Table, out: BinaryIO) -> int:
    """Writes a table; returns how many rows that were. Units and meanings of columns are in the
    file, as metadata of its fields."""
    pyarrow = library()
    schema = arrow.schema(pyarrow, table.columns(source.plan))
    count = 0
    with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in arrow.batches(pyarrow, schema, table.of(source)):
            writer.write_batch(batch, row_group_size=arrow.ROWS)
            count += batch.num_rows
    return count
