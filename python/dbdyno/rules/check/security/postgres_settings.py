"""Settings of PostgreSQL: the wire, hashes, and what the log tells. Source: the manual."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.facts.fact import Fact, Facts
from dbdyno.rules.check.rule import Found, Rule, setting
from dbdyno.rules.check.security import settings
from dbdyno.rules.check.security.settings import is_off, is_on, one_of, rule

_MANUAL = "https://www.postgresql.org/docs/current/runtime-config-"


def _no_tls(facts: Facts) -> Iterator[Found]:
    ssl, listens = facts.setting("ssl"), facts.setting("listen_addresses")
    if not ssl.on and listens.text.strip() and not settings.is_near(listens.text):
        yield Found(
            what=f"no TLS, and it listens on {listens.text}",
            evidence=(ssl, listens),
            effect="0 connections can be encrypted: statements, results and what a login reveals"
            " can be read on the way",
            fix=setting("ssl", "on"),
            undo=setting("ssl", ssl.text),
        )


def _old(fact: Fact) -> bool:
    return fact.text.lower() in ("", "tlsv1", "tlsv1.1")


RULES = (
    rule(
        "listen_addresses",
        id="postgres-listens-everywhere",
        title="The server listens on all addresses",
        about="listen_addresses is `*`, 0.0.0.0 or ::.",
        severity="low",
        applies=("postgres",),
        wrong=lambda fact: settings.is_wide(fact.text),
        right=None,
        effect="every network of the host reaches the port; pg_hba.conf is left",
        source=_MANUAL + "connection.html#GUC-LISTEN-ADDRESSES",
    ),
    rule(
        "password_encryption",
        id="postgres-password-encryption",
        title="New passwords get MD5 hashes",
        about="SCRAM is there since 10, and the default since 14.",
        severity="medium",
        applies=("postgres >=10",),
        wrong=one_of("md5", "on", "off"),
        right="scram-sha-256",
        effect="a stolen hash logs in as it is",
        source=_MANUAL + "connection.html#GUC-PASSWORD-ENCRYPTION",
    ),
    rule(
        "ssl_min_protocol_version",
        id="postgres-tls-old",
        title="TLS before 1.2 is offered",
        about="TLS 1.0 and 1.1 are deprecated by RFC 8996; the default is 1.2 since 13.",
        severity="medium",
        applies=("postgres >=12",),
        wrong=_old,
        right="TLSv1.2",
        effect="an attacker between both ends can bring them down to it",
        source=_MANUAL + "connection.html#GUC-SSL-MIN-PROTOCOL-VERSION",
    ),
    rule(
        "log_statement",
        id="postgres-log-statement",
        title="Statements are logged with their values",
        about="log_statement = all. Of CREATE ROLE with a password, the password is in the log.",
        severity="medium",
        applies=("postgres",),
        wrong=one_of("all"),
        right="ddl",
        effect="a second copy of the data, and of passwords, in the log",
        source=_MANUAL + "logging.html#GUC-LOG-STATEMENT",
    ),
    rule(
        "log_statement",
        id="postgres-log-ddl",
        title="Passwords of ALTER ROLE can be in the log",
        about="log_statement = ddl or mod serves audits, and logs CREATE ROLE and ALTER ROLE as"
        " they were sent. psql's \\password sends a hash.",
        severity="low",
        applies=("postgres",),
        wrong=one_of("ddl", "mod"),
        right=None,
        effect="a password that is sent in a statement is in the log",
        source=_MANUAL + "logging.html#GUC-LOG-STATEMENT",
    ),
    rule(
        "log_connections",
        id="postgres-logins-not-logged",
        title="Logins are not logged",
        about="log_connections is off, as by default.",
        severity="low",
        applies=("postgres <18",),
        wrong=is_off,
        right="on",
        effect="0 successful logins can be found afterwards",
        source=_MANUAL + "logging.html#GUC-LOG-CONNECTIONS",
    ),
    rule(
        "allow_system_table_mods",
        id="postgres-system-tables-open",
        title="Catalogues can be changed",
        about="allow_system_table_mods is on, which is for emergencies.",
        severity="medium",
        applies=("postgres",),
        wrong=is_on,
        right="off",
        effect="a superuser's mistake, or an application's, can make the database unreadable",
        source=_MANUAL + "developer.html#GUC-ALLOW-SYSTEM-TABLE-MODS",
    ),
    Rule(
        id="postgres-tls-off",
        pack="security",
        title="Clients of other hosts without TLS",
        about="ssl is off, and listen_addresses is more than this machine.",
        severity="medium",
        applies=("postgres",),
        needs=("setting.ssl", "setting.listen_addresses"),
        judge=_no_tls,
        source=_MANUAL + "connection.html#GUC-SSL",
    ),
)
