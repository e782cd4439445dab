"""What is asked of MySQL's and MariaDB's accounts and privileges.

No hash leaves the server: its kind and length are computed there. Which column or table holds it
depends on the version: `Password` until 5.7.6 and MariaDB 10.4, `authentication_string` then, and a
JSON document in `mysql.global_priv` since MariaDB 10.4.
"""

from __future__ import annotations

from dbdyno.facts.servers.query import Query

PRIVILEGES = (
    *("SUPER", "CREATE USER", "SYSTEM_USER", "FILE", "PROCESS", "SHUTDOWN", "RELOAD", "SELECT"),
    *("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER"),
)
"""Those that rules ask for, and whatever may be passed on."""


def _hash(column: str) -> str:
    return (
        f"LENGTH({column}) AS hash_length, CASE WHEN {column} = '' THEN 'none'"
        f" WHEN {column} = 'invalid' THEN 'invalid'"
        f" WHEN LENGTH({column}) = 16 THEN 'pre-4.1'"
        f" WHEN {column} LIKE '*%' THEN 'sha1' ELSE 'other' END AS hash_kind"
    )


_OLD = "IF(plugin IN ('', 'mysql_native_password'), password, IFNULL(authentication_string, ''))"
_NEW = "COALESCE(authentication_string, '')"
_JSON = "COALESCE(JSON_VALUE(priv, '$.authentication_string'), '')"
_LISTED = ", ".join(f"'{one}'" for one in PRIVILEGES)
QUERIES = (
    Query(
        "accounts",
        "SELECT user, host, plugin, account_locked AS locked, 'N' AS is_role,"
        f" {_hash(_NEW)} FROM mysql.user",
        ("mysql >=5.7.6",),
    ),
    Query(
        "accounts",
        f"SELECT user, host, plugin, 'N' AS locked, 'N' AS is_role, {_hash(_OLD)} FROM mysql.user",
        ("mysql >=5.5.7 <5.7.6", "mariadb >=5.2 <10.0.5"),
    ),
    Query(
        "accounts",
        f"SELECT user, host, plugin, 'N' AS locked, is_role, {_hash(_OLD)} FROM mysql.user",
        ("mariadb >=10.0.5 <10.4",),
    ),
    Query(
        "accounts",
        "SELECT user, host, JSON_VALUE(priv, '$.plugin') AS plugin,"
        " JSON_EXTRACT(priv, '$.auth_or[*].plugin') AS more_plugins,"
        " JSON_VALUE(priv, '$.account_locked') AS locked,"
        f" JSON_VALUE(priv, '$.is_role') AS is_role, {_hash(_JSON)} FROM mysql.global_priv",
        ("mariadb >=10.4",),
    ),
    Query(
        "global_privileges",
        "SELECT grantee, privilege_type, is_grantable FROM information_schema.user_privileges"
        f" WHERE privilege_type IN ({_LISTED}) OR is_grantable = 'YES'",
        ("mysql", "mariadb"),
    ),
    Query(
        "schema_privileges",
        "SELECT grantee, table_schema, GROUP_CONCAT(privilege_type) AS privileges"
        " FROM information_schema.schema_privileges GROUP BY grantee, table_schema",
        ("mysql", "mariadb"),
    ),
)
