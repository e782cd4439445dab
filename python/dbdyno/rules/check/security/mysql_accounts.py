"""Accounts of MySQL and MariaDB: who gets in, from where, and with what.

`accounts` holds no hash: its kind and length were computed at the server. Sources: the manuals'
pages on account names, authentication plugins, and CREATE USER.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Row
from dbdyno.rules.check.rule import Found, Rule, edits, statements
from dbdyno.rules.check.security.mysql_logins import is_local, name, opened

_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/"
_BOTH = ("mysql", "mariadb")
_WITH_PASSWORD = (
    *("", "mysql_native_password", "mysql_old_password", "sha256_password"),
    *("caching_sha2_password", "ed25519", "parsec"),
)
"""Plugins that let in with an empty password if none is set. Sockets, PAM, LDAP, Kerberos, GSSAPI
and FIDO keep no password here, which is as it should be."""


def _anonymous(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        if row["user"] == "":
            yield Found(
                what=f"an account without a name: {name(row)}",
                evidence=(fact,),
                effect="any name logs in from there, and takes precedence over accounts of a less"
                " exact host",
                fix=statements(f"DROP USER {name(row)}"),
                undo=statements(f"CREATE USER {name(row)}"),
                about=name(row),
            )


def _without_password(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        alternatives = str(row.get("more_plugins") or "")
        if row["hash_kind"] != "none" or str(row["plugin"] or "") not in _WITH_PASSWORD:
            continue
        also = f" (besides {alternatives})" if alternatives else ""
        yield Found(
            what=f"{name(row)} has no password{also}",
            evidence=(fact, Fact("hash_length", row["hash_length"], fact.place)),
            effect="a client that reaches the port or the socket from there is that account",
            fix=statements(f"ALTER USER {name(row)} IDENTIFIED BY '(a password)'"),
            undo=statements(f"ALTER USER {name(row)} IDENTIFIED BY ''"),
            about=name(row),
            severity="high" if is_local(row) else "critical",
        )


def _root_elsewhere(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        if row["user"] == "root" and not is_local(row):
            yield Found(
                what=f"root logs in from other hosts: {name(row)}",
                evidence=(fact,),
                effect="a password that is guessed or leaked is the whole server, from wherever"
                " the host part allows",
                fix=statements(f"DROP USER {name(row)}"),
                undo=edits(
                    f"Create {name(row)} again with its grants: SHOW CREATE USER and SHOW"
                    " GRANTS, before it is dropped, print both."
                ),
                about=name(row),
            )


def _any_host(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        if row["host"] == "%" and row["user"] not in ("", "root"):
            yield Found(
                what=f"{name(row)} may come from any host",
                evidence=(fact,),
                effect="only the firewall and the password are between the network and the data",
                fix=statements(f"RENAME USER {name(row)} TO '{row['user']}'@'(its network)'"),
                undo=statements(f"RENAME USER '{row['user']}'@'(its network)' TO {name(row)}"),
                about=name(row),
            )


def _old_hash(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        if row["plugin"] == "mysql_old_password" or row["hash_kind"] == "pre-4.1":
            yield _plugin(row, fact, "the hash of before 4.1, which is broken in minutes")


def _native(facts: Facts) -> Iterator[Found]:
    for row, fact in opened(facts):
        if row["plugin"] in ("mysql_native_password", "sha256_password"):
            old = row["plugin"] == "mysql_native_password"
            yield _plugin(
                row,
                fact,
                "SHA-1 without salt: equal passwords have equal hashes; 8.4 starts without the"
                " plugin, and 9.0 has none, so the account cannot log in after an upgrade"
                if old
                else "deprecated since 8.0.16 in favour of caching_sha2_password",
            )


def _plugin(row: Row, fact: Fact, effect: str) -> Found:
    stronger = f"ALTER USER {name(row)} IDENTIFIED WITH caching_sha2_password BY '(a password)'"
    if row["plugin"] == "mysql_old_password":
        stronger = f"ALTER USER {name(row)} IDENTIFIED BY '(a password)'"
    return Found(
        what=f"{name(row)} logs in by {row['plugin'] or 'an old hash'}",
        evidence=(fact,),
        effect=effect,
        fix=statements(stronger),
        undo=edits(f"SHOW CREATE USER {name(row)}, kept from before, sets it back."),
        about=name(row),
    )


def _by_name(facts: Facts) -> Iterator[tuple[Row, Fact]]:
    for row, fact in opened(facts):
        host = str(row["host"])
        if not is_local(row) and re.search(r"[a-zA-Z]", host) and ":" not in host:
            yield row, fact


def _dns(facts: Facts) -> Iterator[Found]:
    resolving = not facts.setting("skip_name_resolve").on
    for row, fact in _by_name(facts):
        yield Found(
            what=f"{name(row)} is known by a host's name, and names are"
            f" {'' if resolving else 'not '}looked up",
            evidence=(fact, facts.setting("skip_name_resolve")),
            effect="the host that answers the reverse lookup decides who is let in, and logins wait"
            " for it"
            if resolving
            else "0 logins match it: only addresses and localhost are compared",
            fix=statements(f"RENAME USER {name(row)} TO '{row['user']}'@'(its address)'"),
            undo=statements(f"RENAME USER '{row['user']}'@'(its address)' TO {name(row)}"),
            about=name(row),
            severity="low" if resolving else "medium",
        )


def _rule(
    id: str, title: str, about: str, severity: str, judge: Any, page: str, *more: str
) -> Rule:
    return Rule(
        id=id,
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=more or _BOTH,
        sources=("server",),
        needs=("accounts",),
        judge=judge,
        source=_MANUAL + page,
    )


RULES = (
    _rule(
        "mysql-account-anonymous",
        "An account without a name",
        "Old installations came with one. MySQL since 5.7 and MariaDB without its test schema have"
        " none, so an existing one was made, or came with an upgrade.",
        "high",
        _anonymous,
        "default-privileges.html",
    ),
    _rule(
        "mysql-account-without-password",
        "An account without a password",
        "Of plugins that check a password. Accounts by unix_socket, auth_socket, PAM, LDAP or"
        " Kerberos, locked ones, roles, and hashes that no password has (`invalid`) are fine.",
        "high",
        _without_password,
        "default-privileges.html",
    ),
    _rule(
        "mysql-root-from-elsewhere",
        "root logs in from other hosts",
        "An account `root` whose host is not this machine.",
        "high",
        _root_elsewhere,
        "default-privileges.html",
    ),
    _rule(
        "mysql-account-any-host",
        "An account of any host",
        "A host part of `%` without more.",
        "low",
        _any_host,
        "account-names.html",
    ),
    _rule(
        "mysql-hash-before-4-1",
        "A password hash of before 4.1",
        "Sixteen hexadecimal digits, or the plugin mysql_old_password.",
        "critical",
        _old_hash,
        "upgrading-strategies.html",
        "mysql <5.7.5",
        "mariadb",
    ),
    _rule(
        "mysql-plugin-deprecated",
        "A login by mysql_native_password or sha256_password",
        "MySQL since 8.0 has a salted hash by default. In MariaDB mysql_native_password is the"
        " default, and this rule does not apply.",
        "medium",
        _native,
        "native-pluggable-authentication.html",
        "mysql >=8.0.4",
    ),
    _rule(
        "mysql-account-by-host-name",
        "An account by the name of a host",
        "Accounts by names of hosts depend on the DNS, and never match under skip_name_resolve.",
        "low",
        _dns,
        "host-cache.html",
    ),
)
