"""`register`: reads, writes and compare-and-sets of single records, for `audit: register`.

Source: `engine/workloads/src/register.rs`; a contract test tries each option on the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.experiment.workloads.base import (
    INTEGER,
    NUMBER,
    Contradiction,
    Need,
    Option,
    Options,
    model_of,
    nothing_sent,
)
from dbdyno.experiment.workloads.recorded import Recorded
from dbdyno.kinds.kind import KEY_VALUE, SQL

PROPORTIONS = ("read", "write", "compare_and_set")
ROW_BYTES = 100  # of a record on disk, about


def _proportion(name: str, about: str, default: float) -> Option:
    return Option(name, NUMBER, f"{about}, as a relative weight", default, 0, 1_000_000_000)


REGISTER: tuple[Option, ...] = (
    Option("keys", INTEGER, "records, each a register", 100, 1, 1_000_000, data=True),
    _proportion("read", "reads of a record", 0.5),
    _proportion("write", "writes of a new value", 0.5),
    _proportion("compare_and_set", "a read, and a write if its value is still there; SQL only", 0),
)


class Register(Recorded):
    """See the module."""

    name = "register"
    needs = (KEY_VALUE,)
    model = model_of("RegisterOptions", "Reads and writes of single records.", REGISTER)
    options = REGISTER

    def changes_data(self, options: Options) -> bool:
        full = self.effective(options)
        return bool(full["write"] or full["compare_and_set"])

    def data_bytes(self, data: Options) -> int:
        return int(data["keys"]) * ROW_BYTES

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        full = self.effective(options)
        yield from nothing_sent("proportions", PROPORTIONS, full)

    def needs_more(self, options: Options) -> Iterator[Need]:
        if self.effective(options)["compare_and_set"]:
            yield Need(SQL, ("compare_and_set",), "for `compare_and_set`")

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        return {**options, "keys": min(self.effective(options)["keys"], rows_max)}


WORKLOAD = Register()
