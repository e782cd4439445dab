"""Accounts of MySQL and MariaDB that may log in, for the rules about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.security.settings import LOOPBACK

Row = Mapping[str, Any]


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


def yes(value: Any) -> bool:
    """Whether a column of a catalogue means yes."""
    return str(value).lower() in ("y", "1", "true")


def is_local(row: Row) -> bool:
    """Whether only this machine is let in."""
    return str(row["host"]).lower() in LOOPBACK
