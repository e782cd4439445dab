"""Facts of a running Redis: its settings and INFO. Source: Redis documentation, CONFIG GET, INFO.

`CONFIG GET *` answers passwords too; they are hidden before anything else sees them.
"""

from __future__ import annotations

from dbdyno.facts.fact import STATUS, Facts, version_of
from dbdyno.facts.gathered import Gathered
from dbdyno.systems.redis.client import ERRORS
from dbdyno.systems.redis.external import RedisRemote

SETTINGS = ("CONFIG", "GET", "*")
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
    return found.facts(server.place, "server", "redis", version_of(server.version))
