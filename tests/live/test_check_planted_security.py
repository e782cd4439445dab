"""The pack `security` on real servers: a server that lets too much in, and its healthy twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from private_servers import running
from running import wait_for
from servers_there import PASSWORD, There, there
from test_check import MEDIUM, check, found, severe

from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import SEVERITIES

LOW = {rule.id for rule in RULES if SEVERITIES.index(rule.severity) < MEDIUM}
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


def planted(server: There, statements: dict[str, str]) -> set[str]:
    server.sql(READER, *statements)
    infile = f"{server.kind}-local-infile"
    return {infile if rule == "local-infile" else rule for rule in statements.values()}


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_what_lets_in_too_much_is_found(kind: str) -> None:
    with there(kind) as server:
        server.sql(READER)
        usual = found(check(server.url, "--json", "--only", "security"))
        expected = planted(server, WRONG_MYSQL | OWN[kind])
        document = check(server.url, "--json", "--only", "security")
        bundle = json.dumps(check(server.url, "--collect"))
    assert found(document) == expected | usual
    assert usual <= LOW | {"mysql-privilege-administrator"}
    assert "Needle" not in bundle and PASSWORD not in bundle and "0123456789abcdef" not in bundle
    assert document["counts"]["not_known"] == 0


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_what_old_articles_call_wrong_is_fine(kind: str) -> None:
    with there(kind) as server:
        server.sql(READER, *FINE[kind])
        document = check(server.url, "--json", "--only", "security")
    assert severe(document) == []
    assert document["counts"]["not_known"] == 0


def test_without_the_right_to_see_accounts_nothing_is_called_fine() -> None:
    with there("mariadb") as server:
        server.sql("CREATE USER open@'%'")
        document = check(server.url, "--json", "--only", "mysql-account-*")
    assert document["counts"]["fine"] == 0 and document["counts"]["not_known"] == 4


# -- PostgreSQL ----------------------------------------------------------------------------------

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


def test_a_postgres_that_lets_in_too_much() -> None:
    with there("postgres") as server:
        server.sql(*SEES)
        usual = check(server.url, "--json", "--only", "security")
        for statement in WRONG_POSTGRES:
            server.server.run_in("shop", statement.split("; "))
        server.sql("SELECT pg_reload_conf()")
        file = Path(server.setting("hba_file"))
        file.write_text(file.read_text() + "\n".join(HBA) + "\n")
        document = wait_for_all(server, {*WRONG_POSTGRES.values(), *HBA.values()} | found(usual))
        bundle = json.dumps(check(server.url, "--collect"))
    assert severe(usual) == [] and usual["counts"]["not_known"] == 0
    assert document["counts"]["not_known"] == 0
    assert "Needle" not in bundle
    assert "md5" in bundle and "SCRAM-SHA-256$4096" not in bundle


def wait_for_all(server: There, expected: set[str]) -> Any:
    """A reload takes a moment."""
    document = None

    def right() -> bool:
        nonlocal document
        document = check(server.url, "--json", "--only", "security")
        return found(document) == expected

    wait_for(right, 10)
    assert document is not None and found(document) == expected
    return document


def test_md5_in_the_file_is_fine_for_roles_with_scram_hashes() -> None:
    with there("postgres") as server:
        server.sql(*SEES)
        file = Path(server.setting("hba_file"))
        file.write_text(file.read_text() + "host all app 10.2.0.0/16 md5\n")
        document = check(server.url, "--json", "--only", "security")
    assert severe(document) == []


# -- Redis ---------------------------------------------------------------------------------------


def test_a_redis_that_lets_in_too_much() -> None:
    with running("redis") as (_, server):
        url = f"redis://auditor@127.0.0.1:{server.port}"
        server.ask("ACL", "SETUSER", "auditor", "on", f">{PASSWORD}", "~*", "+@all", "-flushall")
        server.ask("CONFIG", "SET", "requirepass", PASSWORD)
        usual = check(url, "--json", "--only", "security")
        server.ask("ACL", "SETUSER", "default", "nopass")
        server.ask("ACL", "SETUSER", "app", "on", ">a-Needle-4711", "~*", "+@all")
        server.ask("ACL", "SETUSER", "guest", "on", "nopass", "~x", "+get")
        server.ask("ACL", "SETUSER", "off", "off", "nopass", "~*", "+@all")
        server.ask("CONFIG", "SET", "bind", "* -::*")
        server.ask("CONFIG", "SET", "protected-mode", "no")
        server.ask("CONFIG", "SET", "acl-pubsub-default", "allchannels")
        document = check(url, "--json", "--only", "security")
        bundle = json.dumps(check(url, "--collect"))
    assert severe(usual) == [] and usual["counts"]["not_known"] == 0
    assert found(document) == {
        "redis-default-user-open",
        "redis-protected-mode-off",
        "redis-listens-everywhere",
        "redis-plain-text",
        "redis-user-without-password",
        "redis-user-may-everything",
        "redis-channels-open",
    }
    by_rule = {one["rule"]: one["severity"] for one in document["findings"]}
    assert by_rule["redis-default-user-open"] == "critical"
    assert not any(one["about"] == "off" for one in document["findings"])
    assert "Needle" not in bundle and "#" not in bundle
