"""The formats that can be imported: one file each, distinguished by what a file begins with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
            _refuse_endless(text, found)
            return found
    known = ", ".join(one.name for one in FORMATS)
    raise text.error(
        1,
        "this is not the result of a supported tool",
        cause="a file of another tool, or a file without its beginning",
        fix=f"known: {known}; write other results as a table (CSV)",
    )


def _refuse_endless(text: Text, found: list[Found]) -> None:
    """`inf` and `nan` are numbers to JSON readers and to Python, and no measurements."""
    for one in found:
        for name, value in _numbers(one):
            if not math.isfinite(value):
                text.refuse(
                    one.line,
                    f"{name} is {value}, which is impossible",
                    cause="the tool divided by zero, or the file was changed",
                    fix="remove this result",
                )


def _numbers(found: Found) -> Iterator[tuple[str, float]]:
    yield "its duration", found.duration_s
    for part in found.parts.values():
        yield from part.metrics.items()
        for each in part.intervals:
            rates = (each.transactions_per_s, each.operations_per_s, each.errors_per_s)
            for value in (each.t_s, each.length_s, *rates, *each.latency_ns.values()):
                yield "an interval's number", value
