"""The tables of recorded workloads: set back before a load, read after it.

Names and columns: `engine/workloads/src/{register,append,bank}.rs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.audit.histories.bank import Balances
from dbdyno.audit.histories.lists import Contents, elements

REGISTER, APPEND, BANK = "dbdyno_register", "dbdyno_append", "dbdyno_bank"
ZERO = "0" * 19  # the value of registers before the load
PAGE_LISTS = 1000

Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Rows of a query on one node."""


def reset(check: str, balance: int = 0) -> tuple[str, str]:
    """The statement that sets back what earlier loads wrote, and the query of how many rows differ
    from it. `balance`: of each account before the load."""
    table, column, value = {
        "register": (REGISTER, "content", f"'{ZERO}'"),
        "append": (APPEND, "elements", "''"),
        "bank": (BANK, "balance", str(balance)),
    }[check]
    where = f"WHERE {column} <> {value}"
    return (
        f"UPDATE {table} SET {column} = {value} {where}",
        f"SELECT count(*) FROM {table} {where}",
    )


def lists(ask: Ask, page: int = PAGE_LISTS) -> Contents:
    """All lists of a node that are not empty, some at a time."""
    found, after = {}, -1
    while True:
        rows = ask(
            f"SELECT id, elements FROM {APPEND} WHERE id > {after} AND elements <> ''"
            f" ORDER BY id LIMIT {page}"
        )
        for row in rows:
            found[int(row[0])] = elements(_text(row[1]))
        if len(rows) < page:
            return found
        after = int(rows[-1][0])


def balances(ask: Ask) -> Balances:
    """All accounts of a node."""
    return {int(row[0]): int(row[1]) for row in ask(f"SELECT id, balance FROM {BANK} ORDER BY id")}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
