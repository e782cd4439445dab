"""Settings of MySQL and MariaDB that let in, or let out, more than they must.

Each has the versions in which the setting exists. Sources: the manuals' pages on system variables.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, Rule, edits, setting
from dbdyno.rules.check.security import settings
from dbdyno.rules.check.security.settings import is_off, is_on, one_of, rule, without_old_tls

_MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
_MYSQL_57 = "https://dev.mysql.com/doc/refman/5.7/en/"
_MARIADB = "https://mariadb.com/kb/en/"


def _is_anywhere(fact: Fact) -> bool:
    return fact.value == ""


def _has_old_tls(fact: Fact) -> bool:
    return any(one.strip().lower() in ("tlsv1", "tlsv1.0") for one in fact.text.split(","))


def _has_tls_1_1(fact: Fact) -> bool:
    versions = [one.strip().lower() for one in fact.text.split(",")]
    return "tlsv1.1" in versions and not _has_old_tls(fact)


def _creates_accounts(fact: Fact) -> bool:
    return "NO_AUTO_CREATE_USER" not in fact.text.upper().split(",")


def _validation(facts: Facts) -> Iterator[Found]:
    """MySQL: a component or a plugin, which bring variables; MariaDB: plugins."""
    if facts.engine == "mysql":
        policy = [fact for fact in facts.settings() if "validate_password" in fact.key]
        evidence, fix = (
            facts.setting("version"),
            "INSTALL COMPONENT 'file://component_validate_password'",
        )
        if facts.version < (8, 0, 4):
            fix = "INSTALL PLUGIN validate_password SONAME 'validate_password.so'"
        undo = fix.replace("INSTALL", "UNINSTALL").partition(" SONAME")[0]
        there = bool(policy)
    else:
        plugins = facts.table("plugins")
        active = [
            row
            for row in plugins.rows
            if str(row["plugin_type"]) == "PASSWORD VALIDATION"
            and str(row["plugin_status"]) == "ACTIVE"
        ]
        there, fix = bool(active), "INSTALL SONAME 'simple_password_check'"
        undo = "UNINSTALL SONAME 'simple_password_check'"
        evidence = Fact("plugins", "none of type PASSWORD VALIDATION is active", plugins.place)
    if not there:
        yield Found(
            what="nothing checks new passwords",
            evidence=(evidence,),
            effect="a password of 1 character is taken",
            fix=edits(f"{fix}, then set its policy."),
            undo=edits(f"{undo}."),
        )


def _bind(facts: Facts) -> Iterator[Found]:
    fact = facts.setting("bind_address")
    networking = facts.get("setting.skip_networking")
    if networking is not None and networking.on:
        return
    # MariaDB shows its default, all addresses, as an empty value.
    if settings.is_wide(fact.text) or (not fact.text.strip() and facts.engine == "mariadb"):
        yield Found(
            what=f"it listens on all addresses: `bind_address` is {fact.text or 'empty'}",
            evidence=(fact,),
            effect="every network of the host reaches the port, if no firewall stops it",
            fix=edits("Set bind_address to the addresses that clients use."),
            undo=setting("bind_address", fact.text),
            about="bind_address",
        )


RULES = (
    rule(
        "local_infile",
        id="mysql-local-infile",
        title="LOAD DATA LOCAL is allowed",
        about="A server that is not one's own, or was taken over, asks clients for any of their"
        " files; injected SQL reads the application server's. MySQL 8.0 turned it off.",
        severity="medium",
        applies=("mysql",),
        wrong=is_on,
        right="OFF",
        effect="clients that allow it too send any file that they may read",
        source=_MYSQL + "load-data-local-security.html",
    ),
    rule(
        "local_infile",
        id="mariadb-local-infile",
        title="LOAD DATA LOCAL is allowed, as MariaDB has it by default",
        about="The same as in MySQL; here it is the default, and so of low severity.",
        severity="low",
        applies=("mariadb",),
        wrong=is_on,
        right="OFF",
        effect="clients that allow it too send any file that they may read",
        source=_MARIADB + "server-system-variables/#local_infile",
    ),
    rule(
        "secure_file_priv",
        id="mysql-secure-file-priv",
        title="FILE reaches every directory",
        about="An empty secure_file_priv. Packages of MySQL set a directory or NULL, which turns"
        " the functions off.",
        severity="medium",
        applies=("mysql",),
        wrong=_is_anywhere,
        right="NULL",
        effect="an account with FILE reads and writes wherever the server's account may",
        source=_MYSQL + "server-system-variables.html#sysvar_secure_file_priv",
    ),
    rule(
        "secure_file_priv",
        id="mariadb-secure-file-priv",
        title="FILE reaches every directory, as MariaDB has it by default",
        about="An empty secure_file_priv. MariaDB has no NULL: give it a directory.",
        severity="low",
        applies=("mariadb",),
        wrong=_is_anywhere,
        right="/var/lib/mysql-files",
        effect="an account with FILE reads and writes wherever the server's account may",
        source=_MARIADB + "server-system-variables/#secure_file_priv",
    ),
    rule(
        "require_secure_transport",
        id="mysql-plain-text-allowed",
        title="Connections without TLS are allowed",
        about="Off by default. Accounts with REQUIRE SSL are safe without it.",
        severity="low",
        applies=("mysql >=5.7.8", "mariadb >=10.5.2"),
        wrong=is_off,
        right="ON",
        effect="statements and results can be read on the way, unless each account requires TLS",
        source=_MYSQL + "using-encrypted-connections.html",
    ),
    rule(
        "have_ssl",
        id="mysql-tls-off",
        title="The server has no TLS",
        about="It has no certificate. MySQL since 5.7 and MariaDB since 11.4 make one.",
        severity="low",
        applies=("mysql <8.4", "mariadb"),
        wrong=one_of("disabled", "no"),
        right=None,
        effect="0 connections can be encrypted",
        source=_MARIADB + "securing-connections-for-client-and-server/",
        sources=("server",),
    ),
    rule(
        "tls_version",
        id="mysql-tls-1-0",
        title="TLS 1.0 is offered",
        about="TLS 1.0 is deprecated by RFC 8996. MySQL 8.0.28 has removed it.",
        severity="medium",
        applies=("mysql >=5.7.10 <8.0.28", "mariadb >=10.4.6"),
        wrong=_has_old_tls,
        right=without_old_tls,
        effect="an attacker between both ends can bring them down to it",
        source="https://www.rfc-editor.org/rfc/rfc8996",
    ),
    rule(
        "tls_version",
        id="mysql-tls-1-1",
        title="TLS 1.1 is offered",
        about="TLS 1.1 is deprecated by RFC 8996; MariaDB before 11.6 offers it by default.",
        severity="low",
        applies=("mysql >=5.7.10 <8.0.28", "mariadb >=10.4.6"),
        wrong=_has_tls_1_1,
        right=without_old_tls,
        effect="an attacker between both ends can bring them down to it",
        source="https://www.rfc-editor.org/rfc/rfc8996",
    ),
    rule(
        "general_log",
        id="mysql-general-log",
        title="The general log is on",
        about="Every statement is written with its values: personal data, and what applications"
        " encrypt with in SQL.",
        severity="medium",
        applies=("mysql", "mariadb"),
        wrong=is_on,
        right="OFF",
        effect="a second copy of the data in plain text, that access rights and encryption of"
        " tables do not cover",
        source=_MYSQL + "query-log.html",
    ),
    rule(
        "log_raw",
        id="mysql-log-raw",
        title="Passwords are logged",
        about="log_raw turns the rewriting of passwords in logs off.",
        severity="high",
        applies=("mysql >=8.0.19",),
        wrong=is_on,
        right="OFF",
        effect="CREATE USER and ALTER USER are logged with the password",
        source=_MYSQL + "password-logging.html",
    ),
    rule(
        "old_passwords",
        id="mysql-old-passwords",
        title="New passwords get hashes of before 4.1",
        about="old_passwords = 1. MySQL 8.0.11 has removed it.",
        severity="high",
        applies=("mysql <8.0.11", "mariadb"),
        wrong=lambda fact: fact.text.lower() in ("1", "on"),
        right="0",
        effect="PASSWORD() makes hashes of 64 bits without salt",
        source=_MYSQL_57 + "server-system-variables.html#sysvar_old_passwords",
    ),
    rule(
        "secure_auth",
        id="mysql-secure-auth",
        title="Logins of before 4.1 are allowed",
        about="secure_auth is off. MySQL 5.7 only has it on, and 8.0.3 has removed it.",
        severity="high",
        applies=("mysql <8.0.3", "mariadb"),
        wrong=is_off,
        right="ON",
        effect="a login that was seen can be replayed",
        source=_MARIADB + "server-system-variables/#secure_auth",
    ),
    rule(
        "sql_mode",
        id="mysql-grant-creates-accounts",
        title="GRANT creates accounts",
        about="Without NO_AUTO_CREATE_USER a GRANT with a mistyped name makes an account without a"
        " password. MySQL 8.0.11 removed the mode, since GRANT no longer creates accounts there.",
        severity="medium",
        applies=("mysql <8.0.11", "mariadb"),
        wrong=_creates_accounts,
        right=None,
        effect="each mistyped name in a GRANT is an account without a password",
        source=_MYSQL_57 + "sql-mode.html#sqlmode_no_auto_create_user",
        sources=("server",),
    ),
    rule(
        "default_authentication_plugin",
        id="mysql-default-plugin-native",
        title="New accounts get mysql_native_password",
        about="Since 8.0.4 the default is caching_sha2_password; 8.4 removed the setting.",
        severity="medium",
        applies=("mysql >=8.0.4 <8.4",),
        wrong=one_of("mysql_native_password"),
        right="caching_sha2_password",
        effect="hashes without salt, of a plugin that 9.0 does not have",
        source="https://dev.mysql.com/doc/refman/8.0/en/native-pluggable-authentication.html",
    ),
    rule(
        "have_symlink",
        id="mysql-symbolic-links",
        title="Tables may be symbolic links",
        about="MyISAM's DATA DIRECTORY. MySQL 8.0 has it off by default.",
        severity="low",
        applies=("mysql",),
        wrong=one_of("yes"),
        right=None,
        effect="an account with CREATE writes outside of the data directory; a server that runs as"
        " root can be made to remove any file",
        source=_MYSQL + "symbolic-links-to-tables.html",
        sources=("server",),
    ),
    rule(
        "skip_grant_tables",
        id="mysql-skip-grant-tables",
        title="No login is checked",
        about="A line that was left after a password was set again.",
        severity="critical",
        applies=("mysql", "mariadb"),
        wrong=lambda fact: fact.value is None or fact.text == "" or fact.on,
        right=None,
        effect="every client is let in with all privileges",
        source=_MYSQL + "server-options.html#option_mysqld_skip-grant-tables",
        sources=("file",),
    ),
    rule(
        "allow_suspicious_udfs",
        id="mysql-suspicious-functions",
        title="Any function of a library can be loaded",
        about="Functions of a library that have only their main symbol, such as those of libc.",
        severity="medium",
        applies=("mysql", "mariadb"),
        wrong=lambda fact: fact.value is None or fact.text == "" or fact.on,
        right=None,
        effect="CREATE FUNCTION runs code that was not written for the server",
        source=_MYSQL + "server-options.html#option_mysqld_allow-suspicious-udfs",
        sources=("file",),
    ),
    Rule(
        id="mysql-password-validation",
        pack="security",
        title="Nothing checks new passwords",
        about="Neither validate_password (MySQL) nor a plugin for the validation of passwords"
        " (MariaDB) is active.",
        severity="low",
        applies=("mysql >=5.6.6", "mariadb >=10.1.2"),
        sources=("server",),
        needs=("setting.version", "plugins"),
        judge=_validation,
        source=_MYSQL + "validate-password.html",
    ),
    Rule(
        id="mysql-listens-everywhere",
        pack="security",
        title="The server listens on all addresses",
        about="bind_address is `*`, 0.0.0.0 or ::, or MariaDB's empty default.",
        severity="low",
        applies=("mysql", "mariadb"),
        needs=("setting.bind_address",),
        judge=_bind,
        source=_MYSQL + "server-system-variables.html#sysvar_bind_address",
    ),
)
