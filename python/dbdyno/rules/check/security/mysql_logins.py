"""Accounts of MySQL and MariaDB that may log in, for the rules about them."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts, Row
from dbdyno.rules.check.security.settings import LOOPBACK, yes


def name(row: Row) -> str:
    """As statements write it."""
    user, host = (str(row[part]).replace("'", "''") for part in ("user", "host"))
    return f"'{user}'@'{host}'"


def opened(facts: Facts) -> Iterator[tuple[Row, Fact]]:
    """Accounts that may log in, with the row as evidence: no locked ones, and no roles."""
    table = facts.table("accounts")
    for row in table.rows:
        if not yes(row.get("locked")) and not yes(row.get("is_role")) and row["host"]:
            yield row, Fact("account", f"{name(row)} by {row['plugin']}", table.place)


def is_local(row: Row) -> bool:
    """Whether only this machine is let in."""
    return str(row["host"]).lower() in LOOPBACK
