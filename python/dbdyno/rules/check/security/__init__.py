"""Security: who gets in and from where, what is on the wire and in the logs, who may do what."""

from __future__ import annotations

from dbdyno.rules.check.security import (
    mongod_access,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
)

FAMILIES = (
    mongod_access,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
)
