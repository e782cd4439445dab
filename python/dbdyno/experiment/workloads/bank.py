"""`bank`: transfers between accounts and reads of all of them, for `audit: bank`.

Source: `engine/workloads/src/bank.rs`; a contract test tries each option on the engine.
"""

from __future__ import annotations

from typing import Any

from dbdyno.experiment.workloads.base import INTEGER, NUMBER, Option, Options, model_of
from dbdyno.experiment.workloads.recorded import Recorded
from dbdyno.kinds.kind import SQL, TRANSACTIONS

ROW_BYTES = 40  # of an account on disk, about

BANK: tuple[Option, ...] = (
    Option("accounts", INTEGER, "accounts", 10, 2, 10_000, data=True),
    Option("balance", INTEGER, "balance of each before the load", 100, 1, 1_000_000, data=True),
    Option("read", NUMBER, "share of the transactions that read all accounts", 0.2, 0, 1),
)


class Bank(Recorded):
    """See the module."""

    name = "bank"
    needs = (SQL, TRANSACTIONS)
    model = model_of("BankOptions", "Transfers between accounts and reads of all of them.", BANK)
    options = BANK

    def changes_data(self, options: Options) -> bool:
        return bool(self.effective(options)["read"] < 1)

    def data_bytes(self, data: Options) -> int:
        return int(data["accounts"]) * ROW_BYTES

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        return {**options, "accounts": max(2, min(self.effective(options)["accounts"], rows_max))}


WORKLOAD = Bank()
