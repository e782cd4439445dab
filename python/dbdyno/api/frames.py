"""A table for programs: Arrow for libraries that take it (polars, pandas, DuckDB), lists for
all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dbdyno.share import arrow
from dbdyno.share.tables import Column, Row, Value


class Frame:
    """Columns of equal length, read from the run's files each time they are asked for.

    `polars.DataFrame(frame)` and `pandas.DataFrame.from_arrow(frame)` (or
    `pyarrow.table(frame).to_pandas()`) take it through the Arrow PyCapsule interface, which needs
    the extra `dbdyno[parquet]` (pyarrow). `to_dict` needs nothing.
    """

    def __init__(
        self, name: str, described: tuple[Column, ...], rows: Callable[[], Iterator[Row]]
    ) -> None:
        """Not called directly: see `Run`."""
        self.name = name
        self.described = described
        self._rows = rows

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.described]

    def rows(self) -> Iterator[dict[str, Value]]:
        """A row at a time, by column. DynoError if a file of the run cannot be read."""
        names = self.columns
        return (dict(zip(names, row, strict=True)) for row in self._rows())

    def to_dict(self) -> dict[str, list[Value]]:
        """A list a column, all of the same length; None where a value is unknown. DynoError if a
        file of the run cannot be read."""
        lists: dict[str, list[Value]] = {name: [] for name in self.columns}
        for row in self._rows():
            for values, value in zip(lists.values(), row, strict=True):
                values.append(value)
        return lists

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The table as an Arrow stream (PyCapsule interface), in batches that are read as they are
        asked for. DynoError without pyarrow."""
        pyarrow = arrow.library("A frame as Arrow", "Frame.to_dict()")
        schema = arrow.schema(pyarrow, self.described)
        batches = arrow.batches(pyarrow, schema, self._rows())
        reader = pyarrow.RecordBatchReader.from_batches(schema, batches)
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<dbdyno {self.name}: {', '.join(self.columns)}>"
