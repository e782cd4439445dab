"""Privileges in MySQL and MariaDB that an application does not need.

An account that may do everything is an administrator, whatever its name: it is listed with low
severity if it comes from this machine only. Sources: the manuals' pages on privileges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Row
from dbdyno.rules.check.rule import Fix, Found, Rule, edits, statements
from dbdyno.rules.check.security import mysql_logins as accounts

_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/privileges-provided.html"
_OWN = ("root", "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "mysql")
_ADMIN = ("SUPER", "CREATE USER", "SYSTEM_USER")
_WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER")


def _by_account(facts: Facts) -> dict[str, dict[str, bool]]:
    """Grantee -> privilege -> whether it may be passed on. Without the server's own accounts,
    locked ones and roles."""
    may_log_in = {accounts.name(row) for row, _ in accounts.opened(facts) if row["user"]}
    found: dict[str, dict[str, bool]] = {}
    for row in facts.table("global_privileges").rows:
        grantee = str(row["grantee"])
        if grantee in may_log_in and grantee[1:].partition("'@'")[0] not in _OWN:
            grantable = str(row["is_grantable"]) == "YES"
            found.setdefault(grantee, {})[str(row["privilege_type"])] = grantable
    return found


def _is_admin(privileges: Mapping[str, bool]) -> bool:
    return any(one in privileges for one in _ADMIN)


def _fact(facts: Facts, grantee: str, privileges: list[str]) -> Fact:
    place = facts.table("global_privileges").place
    return Fact("privileges", f"{grantee}: {', '.join(privileges)}", place)


def _administrators(facts: Facts) -> Iterator[Found]:
    for grantee, privileges in _by_account(facts).items():
        if _is_admin(privileges):
            listed = [one for one in _ADMIN if one in privileges]
            near = grantee.endswith(tuple(f"'@'{host}'" for host in accounts.LOOPBACK))
            yield Found(
                what=f"{grantee} is an administrator by {', '.join(listed)}",
                evidence=(_fact(facts, grantee, listed),),
                effect="it can become any account, and stop what protects the data; an application"
                " needs none of it",
                fix=edits(f"If {grantee} is of an application: REVOKE {', '.join(listed)} ON *.*"),
                undo=statements(f"GRANT {', '.join(listed)} ON *.* TO {grantee}"),
                about=grantee,
                severity="low" if near else "medium",
            )


def _having(facts: Facts, *wanted: str, effect: str) -> Iterator[Found]:
    for grantee, privileges in _by_account(facts).items():
        listed = [one for one in wanted if one in privileges]
        if listed and not _is_admin(privileges):
            words = ", ".join(listed)
            yield Found(
                what=f"{grantee} has {words} and is no administrator",
                evidence=(_fact(facts, grantee, listed),),
                effect=effect,
                fix=statements(f"REVOKE {words} ON *.* FROM {grantee}"),
                undo=statements(f"GRANT {words} ON *.* TO {grantee}"),
                about=grantee,
            )


def _file(facts: Facts) -> Iterator[Found]:
    effect = "it reads and writes files of the server's account wherever secure_file_priv allows"
    return _having(facts, "FILE", effect=effect)


def _process(facts: Facts) -> Iterator[Found]:
    effect = "it reads statements of all others as they run, with the values in them"
    return _having(facts, "PROCESS", effect=effect)


def _server(facts: Facts) -> Iterator[Found]:
    effect = "it stops the server, or takes its logs and caches away"
    return _having(facts, "SHUTDOWN", "RELOAD", effect=effect)


def _everywhere(facts: Facts) -> Iterator[Found]:
    effect = "it writes to every schema, mysql among them, and so gives itself any privilege"
    return _having(facts, *_WRITES, effect=effect)


def _grant_option(facts: Facts) -> Iterator[Found]:
    for grantee, privileges in _by_account(facts).items():
        listed = [one for one, grantable in privileges.items() if grantable]
        if listed and not _is_admin(privileges):
            yield Found(
                what=f"{grantee} may pass its privileges on to others",
                evidence=(_fact(facts, grantee, listed),),
                effect="two accounts with different privileges and GRANT OPTION can join them; what"
                " an application loses, it has given away before",
                fix=statements(f"REVOKE GRANT OPTION ON *.* FROM {grantee}"),
                undo=statements(f"GRANT USAGE ON *.* TO {grantee} WITH GRANT OPTION"),
                about=grantee,
            )


def _of_schemas(facts: Facts) -> Iterator[tuple[Row, Fact]]:
    facts.table("accounts")  # without it, rows of others are not shown
    table = facts.table("schema_privileges")
    for row in table.rows:
        value = f"{row['grantee']}: {row['privileges']} on {row['table_schema']}"
        yield row, Fact("schema_privileges", value, table.place)


def _test(facts: Facts) -> Iterator[Found]:
    for row, fact in _of_schemas(facts):
        schema, grantee = str(row["table_schema"]), str(row["grantee"])
        everyone = grantee.startswith(("''@", "'PUBLIC'@", "PUBLIC"))
        if everyone and re.match(r"test(\\?_%)?$", schema):
            whom = "PUBLIC" if "PUBLIC" in grantee else grantee
            yield Found(
                what=f"every account may write to schemas named {schema}",
                evidence=(fact,),
                effect="any account fills the disk, and later schemas of that name are open to all",
                fix=Fix(
                    statements=(f"REVOKE ALL PRIVILEGES ON `{schema}`.* FROM {whom}",),
                    edits=(
                        "If the server knows no such grant, delete its row of mysql.db and"
                        " FLUSH PRIVILEGES: that is how it was made.",
                    ),
                ),
                undo=statements(f"GRANT ALL PRIVILEGES ON `{schema}`.* TO {whom}"),
                about=schema,
            )


def _mysql_schema(facts: Facts) -> Iterator[Found]:
    for row, fact in _of_schemas(facts):
        user = str(row["grantee"])[1:].partition("'@'")[0]
        given = str(row["privileges"]).split(",")
        writes = [one for one in given if one in _WRITES]
        if row["table_schema"] == "mysql" and writes and user not in _OWN:
            words = ", ".join(writes)
            yield Found(
                what=f"{row['grantee']} may write to the schema mysql: {words}",
                evidence=(fact,),
                effect="after the next FLUSH PRIVILEGES or restart it has what it wrote there",
                fix=statements(f"REVOKE {words} ON mysql.* FROM {row['grantee']}"),
                undo=statements(f"GRANT {words} ON mysql.* TO {row['grantee']}"),
                about=str(row["grantee"]),
            )


def _rule(id: str, title: str, about: str, severity: str, judge: Any, *needs: str) -> Rule:
    return Rule(
        id=id,
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=("mysql", "mariadb"),
        sources=("server",),
        needs=("accounts", *(needs or ("global_privileges",))),
        judge=judge,
        source=_MANUAL,
    )


RULES = (
    _rule(
        "mysql-privilege-administrator",
        "Further administrators",
        "Accounts besides root with SUPER, CREATE USER or SYSTEM_USER. Local ones: low.",
        "medium",
        _administrators,
    ),
    _rule(
        "mysql-privilege-file",
        "FILE for an application",
        "An account that is no administrator reads and writes files of the server.",
        "medium",
        _file,
    ),
    _rule(
        "mysql-privilege-process",
        "PROCESS for an application",
        "An account that is no administrator sees everybody's statements. Monitoring needs it.",
        "low",
        _process,
    ),
    _rule(
        "mysql-privilege-shutdown",
        "SHUTDOWN or RELOAD for an application",
        "An account that is no administrator stops the server. Backups need RELOAD.",
        "low",
        _server,
    ),
    _rule(
        "mysql-privilege-everywhere",
        "Writing to all schemas",
        "Privileges to write on `*.*`: the schema mysql is one of them.",
        "medium",
        _everywhere,
    ),
    _rule(
        "mysql-privilege-grant-option",
        "GRANT OPTION for an application",
        "An account that is no administrator passes privileges on.",
        "medium",
        _grant_option,
    ),
    _rule(
        "mysql-schema-test-open",
        "A test schema for everybody",
        "Privileges without a named account (no name, or PUBLIC) on `test` and `test_%`.",
        "medium",
        _test,
        "schema_privileges",
    ),
    _rule(
        "mysql-schema-mysql-writable",
        "An account that writes to the schema mysql",
        "Privileges to write on `mysql.*` for others than root.",
        "high",
        _mysql_schema,
        "schema_privileges",
    ),
)
