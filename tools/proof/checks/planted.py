"""Servers that are set up wrongly on purpose: what is done to a healthy one, and the rule of
`dyno check` that must speak of it. Tests and the row `check` of the proof do the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# What the account that reads needs, so that no rule is "not known".
READER = "GRANT SELECT ON *.* TO app@'127.0.0.1'"
# What both of a family get, and the rules that must speak. Low ones may speak of defaults too.
WRONG_MYSQL = {
    "CREATE USER ''@'10.0.0.9' IDENTIFIED BY 'a-Needle-4711'": "mysql-account-anonymous",
    "CREATE USER open@'10.0.0.9'": "mysql-account-without-password",
    "CREATE USER root@'%' IDENTIFIED BY 'a-Needle-4711'": "mysql-root-from-elsewhere",
    "CREATE USER wide@'%' IDENTIFIED BY 'a-Needle-4711'": "mysql-account-any-host",
    "CREATE USER named@'web1.example.com' IDENTIFIED BY 'a-Needle-4711'": (
        "mysql-account-by-host-name"
    ),
    "GRANT FILE ON *.* TO wide@'%'": "mysql-privilege-file",
    "GRANT PROCESS ON *.* TO wide@'%'": "mysql-privilege-process",
    "GRANT SHUTDOWN ON *.* TO wide@'%'": "mysql-privilege-shutdown",
    "GRANT UPDATE ON *.* TO wide@'%' WITH GRANT OPTION": "mysql-privilege-everywhere",
    "GRANT SELECT ON shop.* TO wide@'%'": "mysql-privilege-grant-option",
    "CREATE USER boss@'10.0.0.9' IDENTIFIED BY 'a-Needle-4711'": "mysql-privilege-administrator",
    "GRANT SUPER ON *.* TO boss@'10.0.0.9'": "mysql-privilege-administrator",
    "GRANT INSERT ON mysql.* TO named@'web1.example.com'": "mysql-schema-mysql-writable",
    "GRANT INSERT, CREATE ON `test`.* TO ''@'10.0.0.9'": "mysql-schema-test-open",
    "SET GLOBAL local_infile = 1": "local-infile",
    "SET GLOBAL general_log = 1": "mysql-general-log",
}
OWN = {
    "mariadb": {
        "INSERT INTO mysql.global_priv VALUES ('10.0.0.9', 'ancient',"
        ' \'{"access":0,"plugin":"mysql_native_password",'
        '"authentication_string":"0123456789abcdef"}\')': "mysql-hash-before-4-1",
        "SET GLOBAL secure_auth = 0": "mysql-secure-auth",
        "SET GLOBAL sql_mode = 'STRICT_TRANS_TABLES'": "mysql-grant-creates-accounts",
    },
    "mysql": {"SET GLOBAL require_secure_transport = 0": "mysql-plain-text-allowed"},
}
# What looks wrong by old articles, and is fine.
FINE = {
    "mariadb": (
        "CREATE USER nobody@localhost IDENTIFIED VIA unix_socket",
        "CREATE USER mixed@localhost IDENTIFIED VIA mysql_native_password USING 'invalid'"
        " OR unix_socket",
        "CREATE ROLE reader",
        "CREATE USER gone@'10.0.0.9' ACCOUNT LOCK",
    ),
    "mysql": ("CREATE ROLE reader", "CREATE USER gone@'10.0.0.9' ACCOUNT LOCK"),
}
# Lines of pg_hba.conf, as the server reads them before a reload.
HBA = {
    "host all app 10.0.0.0/8 trust": "postgres-hba-trust",
    "host all app 10.1.0.0/16 password": "postgres-hba-clear-password",
    "host all app 10.2.0.0/16 md5": "postgres-hba-md5",
    "host all app 10.3.0.0/16 ident": "postgres-hba-ident",
    "host all all 0.0.0.0/0 scram-sha-256": "postgres-hba-everybody",
    "host all app 10.4.0.0/16 md6": "postgres-hba-error",
}
WRONG_POSTGRES = {
    "SET password_encryption = 'md5'; CREATE ROLE old LOGIN PASSWORD 'a-Needle-4711'": (
        "postgres-md5-hash"
    ),
    "CREATE ROLE boss LOGIN SUPERUSER": "postgres-superuser",
    "CREATE ROLE maker LOGIN CREATEROLE": "postgres-create-role",
    "CREATE ROLE passer LOGIN BYPASSRLS": "postgres-bypass-rls",
    "GRANT pg_execute_server_program TO maker": "postgres-server-files",
    "GRANT CREATE ON SCHEMA public TO PUBLIC": "postgres-public-creates",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'": (
        "postgres-definer-search-path"
    ),
    "ALTER SYSTEM SET password_encryption = 'md5'": "postgres-password-encryption",
    "ALTER SYSTEM SET log_statement = 'all'": "postgres-log-statement",
    "ALTER SYSTEM SET ssl_min_protocol_version = 'TLSv1'": "postgres-tls-old",
    "ALTER SYSTEM SET allow_system_table_mods = on": "postgres-system-tables-open",
}
SEES = (
    "GRANT SELECT ON pg_authid, pg_hba_file_rules TO app",
    "GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO app",
    "GRANT pg_read_all_settings TO app",
)
REDIS = {
    ("ACL", "SETUSER", "default", "nopass"): "redis-default-user-open",
    ("ACL", "SETUSER", "app", "on", ">a-Needle-4711", "~*", "+@all"): "redis-user-may-everything",
    ("ACL", "SETUSER", "guest", "on", "nopass", "~x", "+get"): "redis-user-without-password",
    ("ACL", "SETUSER", "tool", "on", ">a-Needle-4711", "~*", "+config", "+acl"): (
        "redis-user-administers"
    ),
    ("CONFIG", "SET", "bind", "* -::*"): "redis-listens-everywhere redis-plain-text",
    ("CONFIG", "SET", "protected-mode", "no"): "redis-protected-mode-off",
    ("CONFIG", "SET", "acl-pubsub-default", "allchannels"): "redis-channels-open",
    ("CONFIG", "SET", "acllog-max-len", "0"): "redis-refusals-not-logged",
}
# Of other packs, which the tests of the pack `security` have no use for.
OTHER = {
    "mariadb": {"SET GLOBAL query_cache_size = 32 * 1024 * 1024": "mysql-query-cache-half-off"},
}


def statements(kind: str, packs: Iterable[str] = ("security",)) -> dict[str, str]:
    """What is done to a server of MySQL's family or PostgreSQL, and the rules that must speak."""
    security = WRONG_POSTGRES if kind == "postgres" else WRONG_MYSQL | OWN[kind]
    wrong = security | (OTHER.get(kind, {}) if "configuration" in packs else {})
    infile = f"{kind}-local-infile"
    return {sql: infile if rule == "local-infile" else rule for sql, rule in wrong.items()}


def permit(kind: str, server: Any) -> None:
    """Lets the account `app` see what rules of security ask for, and what is fine besides."""
    if kind == "postgres":
        server.run_in("shop", SEES)
    elif kind == "redis":
        server.ask("ACL", "SETUSER", "off", "off", "nopass", "~*", "+@all")
    else:
        for statement in (READER, *FINE[kind]):
            server.rows(statement)


def plant(kind: str, server: Any, wrong: Mapping[str, str]) -> set[str]:
    """Does it, and gives the rules. What the server itself refuses is not planted."""
    expected = set()
    for statement, rule in wrong.items():
        try:
            if kind == "postgres":
                server.run_in("shop", statement.split("; "))
            else:
                server.rows(statement)
        except Exception as error:
            if "Unknown system variable" not in str(error):
                raise
            continue
        expected.add(rule)
    return expected | (_lines(server) if kind == "postgres" else set())


def _lines(server: Any) -> set[str]:
    """Settings in force; lines of pg_hba.conf, which a reload after them would refuse."""
    server.run_in("shop", ["SELECT pg_reload_conf()"])
    file = Path(str(server.run_in("shop", ["SHOW hba_file"])[0][0]))
    file.write_text(file.read_text() + "\n".join(HBA) + "\n")
    return {*HBA.values()}


def plant_redis(server: Any) -> set[str]:
    """The same of a Redis."""
    for words in REDIS:
        server.ask(*words)
    return {rule for rules in REDIS.values() for rule in rules.split()}
