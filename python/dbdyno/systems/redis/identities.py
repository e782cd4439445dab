"""Identities of audited writes: lists of `SESSION:N:ATTEMPT`, which the engine's driver appends to
in one step with each write (`engine/drivers/src/redis/commands.rs`). A server alone has one list, a
node of a cluster one for each slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from dbdyno.systems.redis.client import RedisError
from dbdyno.systems.redis.control import RedisControl, in_parts, key_prefix

NAME = "dbdyno_audit:"
PAGE = 10_000  # of one list, at once


def clear(server: RedisControl, database: str) -> None:
    """Removes all of them."""
    for some in in_parts(_lists(server, database)):
        server.ask_each([("UNLINK", key) for key in some])


def count(server: RedisControl, database: str) -> int:
    """How many there are."""
    return sum(_lengths(server, database).values())


def pages(server: RedisControl, database: str) -> Iterator[list[str]]:
    """All of them, a part at a time. RedisError or OSError."""
    for key, length in _lengths(server, database).items():
        for first in range(0, length, PAGE):
            yield server.ask("LRANGE", key, first, first + PAGE - 1)


def _lengths(server: RedisControl, database: str) -> dict[str, int]:
    with suppress(RedisError):  # of a server that is in no cluster
        server.ask("READONLY")  # else a replica sends us to its primary
    keys = _lists(server, database)
    lengths = server.ask_each([("LLEN", key) for key in keys])
    return dict(zip(keys, lengths, strict=True))


def _lists(server: RedisControl, database: str) -> list[str]:
    return sorted(set(server.keys(f"{key_prefix(database)}{NAME}*")))
