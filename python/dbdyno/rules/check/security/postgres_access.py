"""PostgreSQL: pg_hba.conf as the server reads it, roles, and what PUBLIC may do.

Sources: the PostgreSQL manual, "Client Authentication", "Predefined Roles", "Schemas"; Wiki, "A
Guide to CVE-2018-1058".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Row
from dbdyno.rules.check.rule import Found, Rule, edits, statements
from dbdyno.rules.check.security import settings
from dbdyno.rules.check.security.settings import yes

_MANUAL = "https://www.postgresql.org/docs/current/"
_ANY = ("0.0.0.0", "::", "all", "0.0.0.0/0", "::/0")


def _lines(facts: Facts) -> Iterator[tuple[Row, str, Fact]]:
    """Lines that are in force, as text, with the line as evidence."""
    table = facts.table("hba")
    for row in table.rows:
        if not row["error"]:
            words = ("type", "databases", "users", "address", "netmask", "method")
            text = " ".join(str(row[word]) for word in words if row[word])
            yield row, text, Fact("pg_hba.conf", f"line {row['line']}: {text}", table.place)


def _is_far(row: Row) -> bool:
    """Whether it is for other hosts: not a socket, and not loopback."""
    address = str(row["address"] or "")
    return row["type"] != "local" and not (
        address in ("samehost", *settings.LOOPBACK) or address.startswith("127.")
    )


def _is_any(row: Row) -> bool:
    mask = str(row["netmask"] or "")
    address = str(row["address"] or "")
    return address == "all" or (address in _ANY and mask in ("", "0.0.0.0", "::"))


def _line(row: Row, text: str, fact: Fact, effect: str, better: str, **more: str) -> Found:
    return Found(
        what=f"line {row['line']} of pg_hba.conf: {text}",
        evidence=(fact,),
        effect=effect,
        fix=edits(f"{better}, then SELECT pg_reload_conf()."),
        undo=edits(f"Put line {row['line']} back: {text}"),
        about=text,
        **more,
    )


def _trust(facts: Facts) -> Iterator[Found]:
    for row, text, fact in _lines(facts):
        if row["method"] == "trust":
            yield _line(
                row,
                text,
                fact,
                "who reaches it is any role that the line names, the superuser too, without a"
                " password",
                "Write peer for local lines and scram-sha-256 for others",
                severity="critical" if _is_far(row) else "high",
            )


def _clear(facts: Facts) -> Iterator[Found]:
    for row, text, fact in _lines(facts):
        if row["method"] == "password" and row["type"] != "hostssl":
            yield _line(
                row,
                text,
                fact,
                "the password itself is sent, and read by a host on the way",
                "Write scram-sha-256 for password",
                severity="high" if _is_far(row) else "medium",
            )


def _md5(facts: Facts) -> Iterator[Found]:
    old = [row for row in facts.table("role_hashes").rows if row["hash_kind"] == "md5"]
    for row, text, fact in _lines(facts):
        if row["method"] == "md5" and old:
            yield _line(
                row,
                text,
                fact,
                f"{len(old)} roles have MD5 hashes, and a stolen hash logs in as it is; for roles"
                " with SCRAM hashes the line already means SCRAM",
                "Set the passwords of those roles again, and write scram-sha-256 for md5",
            )


def _ident(facts: Facts) -> Iterator[Found]:
    for row, text, fact in _lines(facts):
        if row["method"] == "ident" and _is_far(row):
            yield _line(
                row,
                text,
                fact,
                "the client's own host says who it is",
                "Write scram-sha-256 for ident",
            )


def _everybody(facts: Facts) -> Iterator[Found]:
    for row, text, fact in _lines(facts):
        every = "all" in str(row["databases"]).split(",") and "all" in str(row["users"]).split(",")
        if row["type"] != "local" and row["method"] != "reject" and every and _is_any(row):
            yield _line(
                row,
                text,
                fact,
                "each role, superusers too, can be tried from every address",
                "Name the networks, databases and roles of the clients",
            )


def _errors(facts: Facts) -> Iterator[Found]:
    table = facts.table("hba")
    for row in table.rows:
        if row["error"]:
            fact = Fact("pg_hba.conf", f"line {row['line']}: {row['error']}", table.place)
            yield Found(
                what=f"line {row['line']} of pg_hba.conf is refused: {row['error']}",
                evidence=(fact,),
                effect="the file as it is was not loaded: older lines hold until the next restart,"
                " which fails",
                fix=edits(f"Correct line {row['line']}, then SELECT pg_reload_conf()."),
                undo=edits("Nothing to undo."),
                about=str(row["line"]),
            )


def _roles(facts: Facts, table: str = "roles") -> Iterator[tuple[str, Row, str]]:
    for row in facts.table(table).rows:
        yield str(row["role"]), row, facts.table(table).place


def _old_hash(facts: Facts) -> Iterator[Found]:
    for role, row, place in _roles(facts, "role_hashes"):
        if row["hash_kind"] == "md5":
            yield Found(
                what=f"role {role} has an MD5 hash",
                evidence=(Fact("hash_kind", f"{role}: md5", place),),
                effect="the hash is as good as the password: a dump or a backup with it logs in",
                fix=edits(f"SET password_encryption = 'scram-sha-256', then \\password {role}."),
                undo=edits("None: the old hash is not kept."),
                about=role,
            )


def _superusers(facts: Facts) -> Iterator[Found]:
    for role, row, place in _roles(facts):
        if yes(row["superuser"]) and yes(row["can_login"]) and role != "postgres":
            yield Found(
                what=f"role {role} is a superuser",
                evidence=(Fact("rolsuper", f"{role}: {row['superuser']}", place),),
                effect="it passes every check, reads every file of the server and runs programs",
                fix=edits(f"If it is of an application: ALTER ROLE {role} NOSUPERUSER."),
                undo=statements(f'ALTER ROLE "{role}" SUPERUSER'),
                about=role,
            )


def _create_role(facts: Facts) -> Iterator[Found]:
    for role, row, place in _roles(facts):
        if yes(row["create_role"]) and not yes(row["superuser"]) and yes(row["can_login"]):
            yield Found(
                what=f"role {role} has CREATEROLE",
                evidence=(Fact("rolcreaterole", f"{role}: {row['create_role']}", place),),
                effect="before 16 it grants itself every role but superusers, such as"
                " pg_execute_server_program, which is the server's account",
                fix=statements(f'ALTER ROLE "{role}" NOCREATEROLE'),
                undo=statements(f'ALTER ROLE "{role}" CREATEROLE'),
                about=role,
            )


def _bypass(facts: Facts) -> Iterator[Found]:
    for role, row, place in _roles(facts):
        if yes(row["bypass_rls"]) and not yes(row["superuser"]) and yes(row["can_login"]):
            yield Found(
                what=f"role {role} has BYPASSRLS",
                evidence=(Fact("rolbypassrls", f"{role}: {row['bypass_rls']}", place),),
                effect="0 policies of row security hold for it",
                fix=statements(f'ALTER ROLE "{role}" NOBYPASSRLS'),
                undo=statements(f'ALTER ROLE "{role}" BYPASSRLS'),
                about=role,
            )


def _programs(facts: Facts) -> Iterator[Found]:
    supers = {role for role, row, _ in _roles(facts) if yes(row["superuser"])}
    for role, row, place in _roles(facts, "members"):
        if row["member"] not in supers:
            yield Found(
                what=f"{row['member']} is a member of {role}",
                evidence=(Fact("member", f"{row['member']}: {role}", place),),
                effect="files or programs of the server's account lead to superuser",
                fix=statements(f'REVOKE {role} FROM "{row["member"]}"'),
                undo=statements(f'GRANT {role} TO "{row["member"]}"'),
                about=f"{row['member']} {role}",
            )


def _public(facts: Facts) -> Iterator[Found]:
    table = facts.table("public_schemas")
    for row in table.rows:
        if yes(row["public_creates"]):
            schema = str(row["schema"])
            yield Found(
                what=f"everybody may create objects in schema {schema}",
                evidence=(table.fact(row, "public_creates", f"{schema}: CREATE by PUBLIC"),),
                effect="a function or table there of a name that others call without its schema,"
                " runs with their rights (CVE-2018-1058)",
                fix=statements(f'REVOKE CREATE ON SCHEMA "{schema}" FROM PUBLIC'),
                undo=statements(f'GRANT CREATE ON SCHEMA "{schema}" TO PUBLIC'),
                about=schema,
            )


def _definers(facts: Facts) -> Iterator[Found]:
    table = facts.table("definer_functions")
    for row in table.rows:
        name = f"{row['schema']}.{row['function']}"
        yield Found(
            what=f"{name} runs as superuser {row['owner']} with the caller's search_path",
            evidence=(table.fact(row, "owner", name),),
            effect="a caller puts objects of its own in front of those that the function means",
            fix=edits(
                f"ALTER FUNCTION {name} SET search_path = pg_catalog, pg_temp, with the"
                " schemas that it needs."
            ),
            undo=edits(f"ALTER FUNCTION {name} RESET search_path."),
            about=name,
        )


def _untrusted(facts: Facts) -> Iterator[Found]:
    table = facts.table("extensions")
    for row in table.rows:
        if row["name"] in ("plpython3u", "plpython2u", "plpythonu", "plperlu", "pltclu"):
            yield Found(
                what=f"the untrusted language {row['name']} is installed",
                evidence=(table.fact(row, "version", str(row["name"])),),
                effect="its functions do what the server's account may; only superusers write them",
                fix=edits(f"If no function uses it: DROP EXTENSION {row['name']}."),
                undo=statements(f"CREATE EXTENSION {row['name']}"),
                about=str(row["name"]),
            )


def _rule(
    id: str,
    title: str,
    about: str,
    severity: str,
    judge: Any,
    needs: tuple[str, ...],
    page: str,
    applies: str = "postgres",
) -> Rule:
    return Rule(
        id=f"postgres-{id}",
        pack="security",
        title=title,
        about=about,
        severity=severity,
        applies=(applies,),
        sources=("server",),
        needs=needs,
        judge=judge,
        source=_MANUAL + page,
    )


_HBA, _PAGE = ("hba",), "auth-pg-hba-conf.html"
RULES = (
    _rule(
        "hba-trust",
        "A login without any check",
        "Lines of pg_hba.conf with trust.",
        "high",
        _trust,
        _HBA,
        "auth-trust.html",
        "postgres >=10",
    ),
    _rule(
        "hba-clear-password",
        "Passwords in plain text",
        "Lines with `password` that do not demand TLS.",
        "high",
        _clear,
        _HBA,
        "auth-password.html",
        "postgres >=10",
    ),
    _rule(
        "hba-md5",
        "md5 for roles with MD5 hashes",
        "A line with md5 means SCRAM for roles with such hashes: alone it is no defect.",
        "medium",
        _md5,
        (*_HBA, "role_hashes"),
        "auth-password.html",
        "postgres >=10",
    ),
    _rule(
        "hba-ident",
        "ident from other hosts",
        "The answer of a server on the client's host is believed.",
        "medium",
        _ident,
        _HBA,
        "auth-ident.html",
        "postgres >=10",
    ),
    _rule(
        "hba-everybody",
        "All roles, all databases, all addresses",
        "One line of pg_hba.conf for everything.",
        "low",
        _everybody,
        _HBA,
        _PAGE,
        "postgres >=10",
    ),
    _rule(
        "hba-error",
        "An invalid line of pg_hba.conf",
        "The file as it is on disk would not be loaded.",
        "medium",
        _errors,
        _HBA,
        "view-pg-hba-file-rules.html",
        "postgres >=10",
    ),
    _rule(
        "md5-hash",
        "A role with an MD5 hash",
        "Deprecated by 18. Raising password_encryption does not change existing hashes.",
        "medium",
        _old_hash,
        ("role_hashes",),
        "auth-password.html",
        "postgres >=10",
    ),
    _rule(
        "superuser",
        "Further superusers",
        "Roles besides `postgres` that log in as superuser.",
        "low",
        _superusers,
        ("roles",),
        "role-attributes.html",
    ),
    _rule(
        "create-role",
        "CREATEROLE, which was nearly superuser",
        "16 has limited it to roles with ADMIN OPTION.",
        "medium",
        _create_role,
        ("roles",),
        "role-attributes.html",
        "postgres <16",
    ),
    _rule(
        "bypass-rls",
        "A role that row security does not hold for",
        "BYPASSRLS without superuser.",
        "low",
        _bypass,
        ("roles",),
        "ddl-rowsecurity.html",
        "postgres >=9.5",
    ),
    _rule(
        "server-files",
        "Files or programs of the server",
        "Members of pg_execute_server_program, pg_read_server_files or pg_write_server_files.",
        "medium",
        _programs,
        ("members", "roles"),
        "predefined-roles.html",
        "postgres >=11",
    ),
    _rule(
        "public-creates",
        "PUBLIC creates objects in a schema",
        "The default of `public` before 15, and what databases that were upgraded keep.",
        "medium",
        _public,
        ("public_schemas",),
        "ddl-schemas.html",
    ),
    _rule(
        "definer-search-path",
        "A superuser's function with the caller's search_path",
        "SECURITY DEFINER functions of superusers without a search_path of their own.",
        "medium",
        _definers,
        ("definer_functions",),
        "sql-createfunction.html",
    ),
    _rule(
        "untrusted-language",
        "An untrusted language",
        "Procedural languages whose functions are not confined.",
        "low",
        _untrusted,
        ("extensions",),
        "plperl-trusted.html",
    ),
)
