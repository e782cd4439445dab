"""Sessions as a server lists them, and whether it offers TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Missing, Table

_LOCAL = ("localhost", "127.0.0.1", "::1", "")
Row = Mapping[str, Any]


def sessions(facts: Facts) -> Table:
    """Missing where the server shows none: ours is one, so it would be there."""
    table = facts.table("session_tls")
    if not table.rows:
        reason = "the server lists no sessions: performance_schema is off"
        raise Missing("session_tls", reason)
    if any(row.get("hidden") for row in table.rows):
        raise Missing("session_tls", "sessions of others are hidden: GRANT pg_read_all_stats")
    return table


def is_far(row: Row) -> bool:
    """Whether a session came over a network."""
    host = str(row.get("host") or "")
    return host not in _LOCAL and not host.startswith("127.")


def is_under_tls(row: Row) -> bool:
    """MySQL's family names the link or the version, PostgreSQL says yes or no."""
    if "tls" in row:
        return bool(row["tls"])
    return row.get("link") == "SSL/TLS" or bool(row.get("tls_version"))


def offered(facts: Facts) -> Fact:
    """The fact that says whether TLS is offered; its value is on or off."""
    if facts.engine == "postgres":
        return facts.setting("ssl")
    channels = facts.tables.get("tls_channels")
    for row in channels.rows if channels is not None else ():
        if row["channel"] == "mysql_main":
            assert channels is not None
            return channels.fact(row, "enabled", "TLS of mysql_main")
    return facts.setting("have_ssl")


def is_offered(offer: Fact) -> bool:
    """MariaDB's have_ssl is DISABLED without a certificate."""
    return offer.text.upper() not in ("DISABLED", "NO", "OFF", "")
