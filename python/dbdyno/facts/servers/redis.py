"""Facts of a running Redis: its settings and INFO. Source: Redis documentation, CONFIG GET, INFO,
ACL LIST.

`CONFIG GET *` answers passwords too, and `ACL LIST` hashes of them; they are hidden, or only
counted, before anything else sees them.
"""

from __future__ import annotations

from dbdyno.facts.fact import STATUS, Facts, version_of
from dbdyno.facts.files import redisusers
from dbdyno.facts.gathered import Gathered
from dbdyno.systems.redis.client import ERRORS
from dbdyno.systems.redis.external import RedisRemote

SETTINGS = ("CONFIG", "GET", "*")
USERS = ("ACL", "LIST")
SECTIONS = ("server", "clients", "memory", "persistence", "stats", "replication", "keyspace")


def read(server: RedisRemote, found: Gathered) -> Facts:
    """All facts; without the right to CONFIG, settings are missing."""
    try:
        for name, value in server.info(*SECTIONS).items():
            found.add(f"{STATUS}.{name}", value, "INFO")
    except ERRORS as error:
        raise server.unanswered(error) from None
    try:
        flat = server.ask(*SETTINGS)
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            found.setting(str(name), value, " ".join(SETTINGS))
    except ERRORS as error:
        found.lacks("settings", str(error))
    try:
        rows = [redisusers.user(str(line)) for line in server.ask(*USERS)]
        found.table("acl_users", rows, " ".join(USERS))
    except ERRORS as error:  # before 6, or without the right
        found.lacks("acl_users", str(error))
    return found.facts(server.place, "server", "redis", version_of(server.version))
