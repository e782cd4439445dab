"""Security: who gets in and from where, what is on the wire and in the logs, who may do what."""

from __future__ import annotations

from dbdyno.rules.check.security import (
    host,
    mongod_access,
    mongod_settings,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
    redis_links,
)

FAMILIES = (
    host,
    mongod_access,
    mongod_settings,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
    redis_links,
)
