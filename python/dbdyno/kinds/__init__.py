"""Kinds of servers: what is known about each without asking one. Plain data, one file a kind.

A new kind is one new file here, its name in `KindName` and its line in `KINDS`, and its system
(`dbdyno.systems`). No other package names a kind: it asks for what a kind has.
"""

from __future__ import annotations

from typing import Literal, get_args

from dbdyno.kinds import files, mariadb, mongodb, mysql, null, postgres, redis, sqlite
from dbdyno.kinds.kind import MONGODB, MYSQL, POSTGRES, REDIS, Kind

__all__ = [
    "KINDS",
    "MONGODB",
    "MYSQL",
    "ONLY_CHECKED",
    "POSTGRES",
    "REDIS",
    "SCHEMES",
    "Kind",
    "KindName",
    "of",
]

KindName = Literal["sqlite", "mariadb", "mysql", "postgres", "redis", "files", "null"]

KINDS: dict[str, Kind] = {
    one.name: one
    for one in (
        sqlite.KIND,
        mariadb.KIND,
        mysql.KIND,
        postgres.KIND,
        redis.KIND,
        files.KIND,
        null.KIND,
    )
}
"""Every kind, in the order of the reference."""
assert tuple(KINDS) == get_args(KindName)

ONLY_CHECKED: dict[str, Kind] = {one.name: one for one in (mongodb.KIND,)}
"""Kinds that `dyno check` reads, and no experiment has as a target."""

SCHEMES: dict[str, tuple[str, ...]] = {
    "mysql": ("mysql", "mariadb"),
    **{
        scheme: (one.name,)
        for one in (*KINDS.values(), *ONLY_CHECKED.values())
        for scheme in one.schemes
        if scheme != "mysql"
    },
}
"""URL schemes, and the kinds that may stand behind each, the likeliest first."""


def of(name: str) -> Kind:
    """The kind of that name. One that is not in `KINDS`, such as the tool that measured imported
    results, has a name and nothing else."""
    return KINDS.get(name) or ONLY_CHECKED.get(name) or Kind(name=name, title=name, module="")
