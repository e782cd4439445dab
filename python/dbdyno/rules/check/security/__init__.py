"""Security: who gets in and from where, what is on the wire and in the logs, who may do what."""

from __future__ import annotations

from dbdyno.rules.check.security import (
    host,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
    redis_links,
)
from dbdyno.rules.check.security.mongodb import (
    ferretdb,
    mongod_access,
    mongod_settings,
    mongod_use,
    mongod_users,
)

FAMILIES = (
    ferretdb,
    host,
    mongod_access,
    mongod_settings,
    mongod_use,
    mongod_users,
    mysql_accounts,
    mysql_privileges,
    mysql_settings,
    postgres_access,
    postgres_settings,
    redis_access,
    redis_links,
)
