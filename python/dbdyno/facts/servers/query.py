"""A statement that reads facts. Every statement that `dyno check` sends to a server is one of the
lists of these, or a line of `SESSION` before them: they read, take no lock that a writer waits for,
and end after `TIMEOUT_S`."""

from __future__ import annotations

from dataclasses import dataclass

TIMEOUT_S = 5


@dataclass(frozen=True)
class Query:
    """`table`: what its rows are called; columns are named in small letters. `engines` and `since`:
    where it is asked (`applies` of a rule has the same form)."""

    table: str
    sql: str
    applies: tuple[str, ...]
