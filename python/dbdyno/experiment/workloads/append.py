"""`append`: transactions that append to lists and read them, for `audit: append`.

Source: `engine/workloads/src/append.rs`; a contract test tries each option on the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.experiment.workloads.base import (
    INTEGER,
    NUMBER,
    Contradiction,
    Option,
    Options,
    model_of,
)
from dbdyno.experiment.workloads.recorded import Recorded
from dbdyno.kinds.kind import SQL, TRANSACTIONS

ROW_BYTES = 60  # of a list on disk before anything is appended, about

APPEND: tuple[Option, ...] = (
    Option("rows", INTEGER, "lists loaded", 10_000, 1, 10_000_000, data=True),
    Option("lists", INTEGER, "lists that sessions work on at a time", 8, 1, 100_000),
    Option(
        "turn",
        INTEGER,
        "transactions of a session after which it turns to the next lists",
        100,
        1,
        1_000_000_000,
    ),
    Option("operations_max", INTEGER, "operations of a transaction, 1 to this", 4, 1, 8),
    Option("read", NUMBER, "share of the operations that read; the others append", 0.5, 0, 1),
)


class Append(Recorded):
    """See the module."""

    name = "append"
    needs = (SQL, TRANSACTIONS)
    model = model_of("AppendOptions", "Transactions that append to lists and read them.", APPEND)
    options = APPEND

    def changes_data(self, options: Options) -> bool:
        return bool(self.effective(options)["read"] < 1)

    def data_bytes(self, data: Options) -> int:
        return int(data["rows"]) * ROW_BYTES

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        if full["lists"] > full["rows"]:
            yield Contradiction(
                ("lists", "rows"),
                f"`lists` {full['lists']} is more than `rows` {full['rows']}",
                "raise `rows`, the number of lists that are loaded",
            )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        full = self.effective(options)
        return {**options, "rows": max(full["lists"], min(full["rows"], rows_max))}


WORKLOAD = Append()
