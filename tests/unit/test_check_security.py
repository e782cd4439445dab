"""What old articles on hardening get wrong by version, and what the statements never read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts
from dbdyno.facts.servers import mysql, mysql_accounts, postgres_accounts
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import FINE, FOUND, NOT_APPLICABLE, NOT_KNOWN
from fixtures.rules import file, server
from fixtures.rules.security_mysql import APP, ROOT, SOCKET, account, accounts

RULE = {rule.id: rule for rule in RULES}
PACK = Path(mysql_accounts.__file__).parents[2] / "rules" / "check" / "security"


def asked(engine: str, *version: int) -> str:
    """The statement that reads accounts there."""
    known = Facts("s", "server", engine, version)
    [sql] = [
        query.sql
        for query in mysql.QUERIES
        if query.table == "accounts" and applies.matches(query.applies, known)
    ]
    return sql


@pytest.mark.parametrize("version", [(5, 7, 44), (8, 0, 36), (8, 4, 3), (9, 1, 0)])
def test_a_column_that_is_gone_is_not_asked_for(version: tuple[int, ...]) -> None:
    sql = asked("mysql", *version).lower()
    assert "authentication_string" in sql and not re.search(r"\bpassword\b", sql)


def test_older_servers_are_asked_for_the_column_that_they_have() -> None:
    assert re.search(r"\bpassword\b", asked("mysql", 5, 6, 51))
    assert re.search(r"\bpassword\b", asked("mariadb", 10, 3, 39))
    assert "mysql.global_priv" in asked("mariadb", 10, 11, 6)
    assert "mysql.global_priv" in asked("mariadb", 11, 8, 2)


def test_no_statement_returns_a_hash() -> None:
    """Columns of hashes only stand inside LENGTH, CASE and COALESCE."""
    for query in (*mysql_accounts.QUERIES, *postgres_accounts.QUERIES):
        plain = re.sub(r" IN \([^()]*\)", "", query.sql)
        for _ in range(4):
            plain = re.sub(r"\b(LENGTH|COALESCE|IFNULL|IF|JSON_VALUE|length)\([^()]*\)", "x", plain)
        plain = re.sub(r"CASE .*? END", "x", plain)
        listed = plain.split(" FROM ")[0]
        assert not re.search(r"authentication_string|rolpassword|\bpassword\b", listed), query.sql


def test_no_fix_has_syntax_that_was_removed() -> None:
    text = "\n".join(path.read_text() for path in PACK.glob("*.py"))
    assert not re.search(r"(SET|=)\s+PASSWORD\(|mysql\.users\b|IDENTIFIED BY PASSWORD", text)


def test_auto_created_accounts_are_a_matter_of_the_version() -> None:
    rule = RULE["mysql-grant-creates-accounts"]
    mode = {"sql_mode": "STRICT_TRANS_TABLES"}
    assert rule.look(server("mysql", "5.7.44", mode)).state == FOUND
    assert rule.look(server("mariadb", "10.11.6", mode)).state == FOUND
    for version in ("8.0.11", "8.4.3", "9.1.0"):  # the mode is gone, and GRANT creates none
        assert rule.look(server("mysql", version, mode)).state == NOT_APPLICABLE


def test_the_old_plugin_is_marias_default() -> None:
    rule = RULE["mysql-plugin-deprecated"]
    native = account("app", "10.0.0.1", "mysql_native_password", "sha1")
    assert rule.look(accounts(native, engine="mysql-8.0.36")).state == FOUND
    assert rule.look(accounts(native, engine="mariadb-10.11.6")).state == NOT_APPLICABLE
    assert rule.look(accounts(native, engine="mysql-5.7.44")).state == NOT_APPLICABLE


def test_an_anonymous_account_is_found_by_being_there_not_by_the_version() -> None:
    rule = RULE["mysql-account-anonymous"]
    assert rule.look(accounts(ROOT, APP, engine="mysql-8.0.36")).state == FINE
    assert rule.look(accounts(ROOT, account("", "%", "x"), engine="mysql-9.1.0")).state == FOUND


@pytest.mark.parametrize("plugin", ["unix_socket", "auth_socket", "pam", "gssapi", "auth_pam"])
def test_plugins_without_passwords_are_fine(plugin: str) -> None:
    rule = RULE["mysql-account-without-password"]
    assert rule.look(accounts(SOCKET, account("a", "localhost", plugin, "none"))).state == FINE


def test_a_null_and_an_empty_secure_file_priv_are_opposites() -> None:
    rule = RULE["mysql-secure-file-priv"]
    for value, state in (("", FOUND), (None, FINE), ("NULL", FINE), ("/var/lib/x/", FINE)):
        assert rule.look(server("mysql", "9.1.0", {"secure_file_priv": value})).state == state


def test_mongod_without_a_line_has_its_default() -> None:
    rule = RULE["mongodb-authorization-off"]
    assert rule.look(file("mongod.conf", "net:\n  bindIp: 127.0.0.1\n")).state == FOUND
    for text in ("security:\n  authorization: enabled\n", "dbpath = /d\nauth = true\n"):
        assert rule.look(file("mongod.conf", text)).state == FINE


def test_a_redis_conf_without_a_password_has_none() -> None:
    rule = RULE["redis-default-user-open"]
    wire = "bind 0.0.0.0\nprotected-mode no\n"
    [finding] = rule.look(file("redis.conf", wire)).findings
    assert finding.severity == "critical"
    assert rule.look(file("redis.conf", wire + "requirepass long-one\n")).state == FINE
    assert rule.look(file("redis.conf", wire + "aclfile /etc/acl\n")).state == NOT_KNOWN


def test_users_in_a_redis_conf_count_as_those_of_a_server() -> None:
    wire = "bind 0.0.0.0\nprotected-mode no\n"
    looked = RULE["redis-default-user-open"].look
    assert looked(file("redis.conf", wire + "user app on #ab +@read\n")).state == FOUND
    assert looked(file("redis.conf", wire + "user default off\n")).state == FINE
    assert looked(file("redis.conf", wire + "user default on nopass +@all\n")).state == FOUND
    text = wire + "user app on nopass +@all\n"
    for rule in ("redis-user-without-password", "redis-user-may-everything"):
        [finding] = RULE[rule].look(file("redis.conf", text, "redis-7.0")).findings
        assert finding.found.evidence[0].place.endswith("redis.conf:3:1")


@pytest.mark.parametrize(
    ("ciphers", "state"),
    [
        ("HIGH:!EXPORT:!aNULL@STRENGTH", FINE),
        ("ECDHE-RSA-AES256-GCM-SHA384", FINE),
        ("HIGH:MEDIUM:-RC4:!3DES", FINE),
        ("DEFAULT:ECDHE-RSA-RC4-SHA", FOUND),
        ("ALL:eNULL", FOUND),
        ("DES-CBC3-SHA", FOUND),
    ],
)
def test_ciphers_that_are_taken_away_are_not_offered(ciphers: str, state: str) -> None:
    text = f"setParameter:\n  opensslCipherConfig: {ciphers}\n"
    assert RULE["mongodb-tls-ciphers-weak"].look(file("mongod.conf", text)).state == state


def test_a_replica_that_is_refused_says_nothing_of_its_source() -> None:
    replica = {"replicaof": "10.0.0.1 6379", "masterauth": "", "tls-replication": "no"}
    rule = RULE["redis-source-without-password"]
    for link, state in (("up", FOUND), ("down", FINE)):
        facts = server("redis", "7.0.15", replica, status={"master_link_status": link})
        assert rule.look(facts).state == state


@pytest.mark.parametrize(
    ("mode", "first", "never"),
    [("sendKeyFile", "sendX509", "x509 on"), ("sendX509", "x509", "sendX509 on")],
)
def test_members_leave_key_files_a_step_at_a_time(mode: str, first: str, never: str) -> None:
    """A member with x509 refuses those that still send their key file."""
    text = f"security:\n  clusterAuthMode: {mode}\n"
    [finding] = RULE["mongodb-cluster-auth-in-transition"].look(file("mongod.conf", text)).findings
    assert not finding.found.fix.settings
    [step] = finding.found.fix.edits
    assert f" {first} " in step.replace(",", "") and f"to {never}" not in step


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("operationProfiling:\n  mode: all\n", ("operationProfiling.mode", "off")),
        ("dbpath = /data\nprofile = 2\n", ("profile", "0")),
    ],
)
def test_the_profiler_is_turned_off_in_the_words_of_the_file(
    text: str, fix: tuple[str, str]
) -> None:
    [finding] = RULE["mongodb-profiler-all"].look(file("mongod.conf", text)).findings
    assert finding.found.fix.settings == (fix,)


@pytest.mark.parametrize(
    ("version", "value"), [("5.7.44", "TLSv1.2"), ("8.0.27", "TLSv1.2,TLSv1.3")]
)
def test_no_version_of_tls_is_set_that_the_server_does_not_know(version: str, value: str) -> None:
    facts = server("mysql", version, {"tls_version": "TLSv1,TLSv1.1,TLSv1.2"})
    found = [
        finding
        for rule in RULES
        if "mysql-tls" in rule.id or "tls-old" in rule.id
        for finding in rule.look(facts).findings
    ]
    assert found
    assert {pair for one in found for pair in one.found.fix.settings} == {("tls_version", value)}
