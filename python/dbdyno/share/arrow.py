"""Tables as Arrow, through pyarrow, which is an extra: docs/decisions/parquet-is-an-extra.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.share.tables import FLAG, INTEGER, NUMBER, TEXT, Column, Row

ROWS = 1 << 16  # of a batch: what is in memory at a time


def library(what: str, instead: str) -> ModuleType:
    """pyarrow; DynoError if it is not installed. `what` needs it, `instead` does not."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DynoError(
            f"{what} needs pyarrow, which is not installed",
            cause="it is an extra: 50 MB that nothing else in dbdyno needs",
            fix=f"pip install 'dbdyno[parquet]', or use {instead}",
        ) from None
    return pyarrow


def schema(arrow: ModuleType, columns: tuple[Column, ...]) -> Any:
    """The Arrow schema of a table. Units and meanings of columns are metadata of its fields."""
    types = {
        TEXT: arrow.string(),
        INTEGER: arrow.int64(),
        NUMBER: arrow.float64(),
        FLAG: arrow.bool_(),
    }
    return arrow.schema(
        [
            arrow.field(
                column.name,
                types[column.type],
                metadata={"about": column.about, "unit": column.unit},
            )
            for column in columns
        ]
    )


def batches(arrow: ModuleType, schema: Any, rows: Iterator[Row]) -> Iterator[Any]:
    """Record batches of at most `ROWS` rows, made as they are asked for."""
    while group := list(itertools.islice(rows, ROWS)):
        arrays = [
            arrow.array(values, type=field.type)
            for values, field in zip(zip(*group, strict=True), schema, strict=True)
        ]
        yield arrow.RecordBatch.from_arrays(arrays, schema=schema)
