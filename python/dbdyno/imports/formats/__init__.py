"""The formats that can be imported: one file each, told apart by what a file begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dbdyno.imports.formats import (
    fio,
    hammerdb,
    pgbench,
    pgbench_log,
    sysbench,
    sysbench_record,
    table,
)
from dbdyno.imports.found import Found
from dbdyno.imports.text import Line, Text


class Format(Protocol):
    """How one tool's results are read."""

    name: str  # as messages call it

    def recognises(self, head: list[Line]) -> bool:
        """Whether a file that begins with these lines is one of this kind."""

    def read(self, text: Text, columns: Mapping[str, str]) -> list[Found]:
        """All results in the file, in its order, at least one. DynoError with file and line.
        `columns`: what `--map` says about a table's."""


# In the order asked: a table can hold anything, so it comes last.
FORMATS: tuple[Format, ...] = (
    sysbench.FORMAT,
    sysbench_record.FORMAT,
    fio.FORMAT,
    pgbench.FORMAT,
    pgbench_log.FORMAT,
    hammerdb.FORMAT,
    table.FORMAT,
)


def read(text: Text, columns: Mapping[str, str]) -> list[Found]:
    """What a file holds. DynoError, with file and line, for one that no format recognises."""
    head = text.head()
    if not any(line.strip() for _, line in head):
        text.refuse(
            1,
            "the file is empty",
            cause="the tool was never started, or its output went elsewhere",
        )
    for one in FORMATS:
        if one.recognises(head):
            found = one.read(text, columns)
            assert found, one.name
            return found
    known = ", ".join(one.name for one in FORMATS)
    raise text.error(
        1,
        "this is no result of a tool that dbdyno knows",
        cause="another tool's file, or one whose beginning is lost",
        fix=f"known: {known}; write other results as a table (CSV)",
    )
