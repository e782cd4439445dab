"""mongod: its users and what they may.

Sources: the MongoDB manual, "Built-In Roles" (superuser roles, internal role), "usersInfo",
"Localhost Exception", "SCRAM".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dbdyno.facts.fact import Fact, Facts, Row
from dbdyno.rules.check.rule import Found, edits, setting, statements
from dbdyno.rules.check.security.mongodb.mongod_access import authorizes, rule

_INTERNAL = "__system@admin"
_SUPER = {"root@admin", "userAdminAnyDatabase@admin", "userAdmin@admin", "dbOwner@admin"}
_ANY = {"readWriteAnyDatabase@admin", "dbAdminAnyDatabase@admin", "restore@admin"}
_BYPASS = "setParameter.enableLocalhostAuthBypass"


def _words(text: Any) -> set[str]:
    return {word for word in str(text or "").split(", ") if word}


def _users(facts: Facts) -> Iterator[tuple[str, set[str], Fact, Row]]:
    """`app@shop`, its roles with those that they inherit, the evidence, and the row."""
    inherited = {}
    if "roles" in facts.tables:
        rows = facts.table("roles").rows
        inherited = {f"{row['role']}@{row['db']}": _words(row["inherited"]) for row in rows}
    users = facts.table("users")
    for row in users.rows:
        named = f"{row['user']}@{row['db']}"
        own = _words(row["roles"])
        whole = own.union(*(inherited.get(role, set()) for role in own))
        yield named, whole, users.fact(row, "roles", f"roles of {named}"), row


def _listed(roles: set[str]) -> str:
    return ", ".join(sorted(roles))


def _revoke(row: Row, roles: set[str]) -> str:
    listed = ", ".join(
        f'{{role: "{role}", db: "{database}"}}'
        for role, _, database in (one.rpartition("@") for one in sorted(roles))
    )
    return f'db.getSiblingDB("{row["db"]}").revokeRolesFromUser("{row["user"]}", [{listed}])'


def _internal(facts: Facts) -> Iterator[Found]:
    for named, roles, fact, row in _users(facts):
        if _INTERNAL in roles:
            yield Found(
                what=f"{named} has the role __system",
                evidence=(fact,),
                effect="it may do anything to any object of the cluster, as its members do",
                fix=statements(_revoke(row, {_INTERNAL})),
                undo=statements(
                    _revoke(row, {_INTERNAL}).replace("revokeRolesFrom", "grantRolesTo")
                ),
                about=named,
            )


def _superusers(facts: Facts) -> Iterator[Found]:
    for named, roles, fact, row in _users(facts):
        held = roles & _SUPER
        if held and _INTERNAL not in roles:
            outside = row["db"] not in ("admin", "$external")
            yield Found(
                what=f"{named} may do everything: {_listed(held)}",
                evidence=(fact,),
                effect="who has its password reads, writes and drops every database, and makes and"
                " unmakes users"
                + (
                    f"; a user of the database {row['db']} looks like that of an application"
                    if outside
                    else ""
                ),
                fix=edits(
                    "Keep such a user for people who administer. Give an application a user of its"
                    " own with readWrite on its database, then revoke:"
                    f" {_revoke(row, held)}"
                ),
                undo=edits("Grant the roles again (grantRolesToUser)."),
                about=named,
                severity="medium" if outside else "",
            )


def _any_database(facts: Facts) -> Iterator[Found]:
    for named, roles, fact, row in _users(facts):
        held = roles & _ANY
        if held and not roles & (_SUPER | {_INTERNAL}):
            yield Found(
                what=f"{named} may change every database: {_listed(held)}",
                evidence=(fact,),
                effect="one application that is broken into loses the data of all",
                fix=edits(
                    "Grant readWrite or dbAdmin on the databases that it needs, then revoke:"
                    f" {_revoke(row, held)}"
                ),
                undo=edits("Grant the roles again (grantRolesToUser)."),
                about=named,
            )


def _sha_1_alone(facts: Facts) -> Iterator[Found]:
    for named, _, _, row in _users(facts):
        if _words(row["mechanisms"]) == {"SCRAM-SHA-1"}:
            yield Found(
                what=f"{named} logs in by SCRAM-SHA-1 alone",
                evidence=(facts.table("users").fact(row, "mechanisms", f"mechanisms of {named}"),),
                effect="its stolen keys, which begin with an MD5, are faster to guess than those of"
                " SCRAM-SHA-256",
                fix=edits("Set its password again: db.updateUser makes keys of both mechanisms."),
                undo=edits("None is needed: clients that know SCRAM-SHA-1 alone still log in."),
                about=named,
            )


def _exception(facts: Facts) -> Iterator[Found]:
    users, roles = facts.table("users"), facts.table("roles")
    bypass = facts.setting(_BYPASS)
    if users.rows or roles.rows or not bypass.on or not authorizes(facts):
        return
    yield Found(
        what="there is no user and no role, and the localhost exception is on",
        evidence=(bypass, Fact("users", 0, users.place)),
        effect="any process of the host makes itself the first user, with every right",
        fix=setting(_BYPASS, "false"),
        undo=setting(_BYPASS, "true"),
        about=_BYPASS,
    )


_rule = partial(rule, needs=("users",), sources=("server",))

RULES = (
    _rule(
        "user-internal-role",
        "A user with the role of members",
        "`__system`, which the manual reserves for the cluster's own members.",
        "high",
        _internal,
        "reference/built-in-roles/",
    ),
    _rule(
        "user-superuser",
        "A user who may do everything",
        "`root`, or a role that may give itself any other: `userAdminAnyDatabase`, `userAdmin` or"
        " `dbOwner` on admin, also by a role of admin. Somebody must administer: of medium severity"
        " if the user is of another database than admin.",
        "low",
        _superusers,
        "reference/built-in-roles/",
    ),
    _rule(
        "user-any-database",
        "A user who may change every database",
        "`readWriteAnyDatabase`, `dbAdminAnyDatabase` or `restore`, of a user who is no superuser.",
        "low",
        _any_database,
        "reference/built-in-roles/",
    ),
    _rule(
        "user-sha-1-alone",
        "A user of SCRAM-SHA-1 alone",
        "Its password was set before 4.0, or for that mechanism only.",
        "low",
        _sha_1_alone,
        "core/security-scram/",
        "mongodb >=4.0",
    ),
    _rule(
        "localhost-exception-open",
        "Anybody on the host can become the first user",
        "Access control is on, no user and no role is there, and enableLocalhostAuthBypass is on.",
        "high",
        _exception,
        "core/localhost-exception/",
        needs=("users", "roles", f"setting.{_BYPASS}"),
    ),
)
