"""Logs that digests are tried on, generated: what is in them is known."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping

_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
# What an article gives for the writes of its three schemas, seconds.
SCHEMAS_S = {"a": 791.6195, "b": 525.1231, "c": 203.4649}
PIECES = 50  # statements that a schema's time is made of
# A shop's statements: how many, and how long one takes, ms. Totals: 60, 30 and 10 s.
SHOP = (
    ("SELECT * FROM orders WHERE customer = {n}", 300, 200.0),
    ("UPDATE stock SET amount = amount - 1 WHERE id = {n}", 600, 50.0),
    ("SELECT name FROM products WHERE id = {n}", 1000, 10.0),
)


def three_schemas() -> str:
    """Writes in three schemas that take as long as the published ones, by turns."""
    return _slow_log(
        (schema, f"UPDATE {schema}.t SET x = x + 1 WHERE id = {n}", seconds / PIECES)
        for n in range(PIECES)
        for schema, seconds in SCHEMAS_S.items()
    )


def shop() -> str:
    """Three classes of statements that take 60, 30 and 10 % of the time."""
    return _slow_log(
        ("shop", sql.format(n=n), ms / 1000) for sql, calls, ms in SHOP for n in range(calls)
    )


LOGS: Mapping[str, Callable[[], str]] = {"three-schemas": three_schemas, "shop": shop}


def _slow_log(statements: Iterable[tuple[str, str, float]]) -> str:
    """MySQL's slow log of statements (schema, SQL, seconds), one after the other."""
    at, parts = _START, list[str]()
    for schema, sql, seconds in statements:
        at += datetime.timedelta(seconds=seconds)
        parts.append(
            f"# Time: {at:%Y-%m-%dT%H:%M:%S.%f}Z\n"
            "# User@Host: app[app] @ localhost []  Id:     1\n"
            f"# Query_time: {seconds:.6f}  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
            f"use {schema};\nSET timestamp={int(at.timestamp())};\n{sql};\n"
        )
    return "".join(parts)
