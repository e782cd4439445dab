"""What is asked of MySQL and MariaDB about encryption: tablespaces, keys, accounts that demand TLS,
and sessions that are under it.

Counts and one name a class are read, not every table. Sources: the manuals' pages on
INNODB_TABLESPACES, INNODB_TABLESPACES_ENCRYPTION, keyring_component_status, tls_channel_status,
threads and status_by_thread. MariaDB's performance_schema is off by default, and then tells no
session.
"""

from __future__ import annotations

from dbdyno.facts.servers.query import Query

_CLASS = (
    "CASE WHEN {s}.name = 'mysql' THEN 'data dictionary'"
    " WHEN {s}.name LIKE 'innodb\\_undo%' THEN 'undo log'"
    " WHEN {s}.name LIKE 'innodb\\_temporary%' THEN 'temporary tables'"
    " WHEN {s}.space = 0 THEN 'system tablespace'"
    " WHEN {s}.name LIKE 'mysql/%' OR {s}.name LIKE 'sys/%' THEN 'tables of the server'"
    " ELSE 'tables' END"
)
QUERIES = (
    Query(
        "tablespaces",
        f"SELECT {_CLASS.format(s='s')} AS class, s.encryption AS encryption, COUNT(*) AS spaces,"
        " MIN(s.name) AS example FROM information_schema.innodb_tablespaces s GROUP BY 1, 2",
        ("mysql >=8.0.13",),
    ),
    Query(
        "tablespaces",
        f"SELECT {_CLASS.format(s='s')} AS class, CASE WHEN COALESCE(e.encryption_scheme, 0) = 0"
        " OR e.current_key_version = 0 THEN 'N' WHEN e.min_key_version = 0 THEN 'partly' ELSE 'Y'"
        " END AS encryption, COUNT(*) AS spaces, MIN(s.name) AS example,"
        " SUM(e.min_key_version > 0 AND e.min_key_version < e.current_key_version) AS old_keys"
        " FROM information_schema.innodb_sys_tablespaces s LEFT JOIN"
        " information_schema.innodb_tablespaces_encryption e ON e.space = s.space GROUP BY 1, 2",
        ("mariadb >=10.1.4",),
    ),
    Query(
        "keyring",
        "SELECT status_key, status_value FROM performance_schema.keyring_component_status",
        ("mysql >=8.0.24",),
    ),
    Query(
        "tls_channels",
        "SELECT channel, value AS enabled FROM performance_schema.tls_channel_status"
        " WHERE property = 'Enabled'",
        ("mysql >=8.0.21",),
    ),
    Query(
        "account_tls",
        "SELECT user, host, ssl_type FROM mysql.user",
        ("mysql >=5.7.6", "mariadb"),
    ),
    Query(
        "session_tls",
        "SELECT t.processlist_user AS user, t.processlist_host AS host, t.connection_type AS link,"
        " COALESCE(s.variable_value, '') AS tls_version, COUNT(*) AS sessions"
        " FROM performance_schema.threads t LEFT JOIN performance_schema.status_by_thread s"
        " ON s.thread_id = t.thread_id AND s.variable_name = 'Ssl_version'"
        " WHERE t.type = 'FOREGROUND' AND t.processlist_user IS NOT NULL GROUP BY 1, 2, 3, 4",
        ("mysql >=5.7.9", "mariadb >=10.5.2"),
    ),
)
